/**
 * Makes the parts that files need from a compiled configuration: storages of providers, keys of tickets and links, the image processor. The only place
 * that knows which adapter a provider is.
 */

import { createHash, randomBytes } from "node:crypto"
import { resolve } from "node:path"
import { makeDetector } from "../adapters/detector/detector.ts"
import { makeSeal } from "../adapters/seal/seal.ts"
import { makeSigner } from "../adapters/seal/signer.ts"
import { makeLocalStorage, overlaps } from "../adapters/storage-local/storage.ts"
import { makeBucketStorage } from "../adapters/storage-s3/storage.ts"
import type { FileProvider, Files } from "../core/app/ground/files.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"
import { Breaker } from "../core/domain/file/breaker.ts"
import { defaultLinkLifetime } from "../core/domain/file/link.ts"
import { defaultRetention, providerVariable } from "../core/domain/file/provider.ts"
import type { Provider } from "../core/domain/file/provider.ts"
import { Quota } from "../core/domain/file/quota.ts"
import type { Secrets } from "../core/domain/secret.ts"
import type { DetectorService } from "../core/ports/detector.ts"
import type { ImagesService } from "../core/ports/images.ts"
import type { SignerService } from "../core/ports/signer.ts"
import type { StorageService } from "../core/ports/storage.ts"

/** The two keys of a bucket. */
export interface KeyPair {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** What the deployment says of files. */
export interface FileSettings {
  /** The project's folder, absolute: relative folders of providers are taken from it. */
  readonly folder: string
  /** The folder of what the service keeps itself, absolute. */
  readonly data: string
  /** The keys of a bucket where the configuration has none. */
  readonly keys: (provider: string) => KeyPair | null
  /** Overrides `files.retention`, in milliseconds; null: it does not. */
  readonly retention: number | null
}

/** Files of a service that no environment says anything about. */
export const usualFileSettings = (): FileSettings => ({
  folder: process.cwd(),
  data: `${process.cwd()}/data`,
  keys: () => null,
  retention: null
})

/** Random names of 130 bits in letters and digits that every file system tells apart. */
const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
export const newId = (): string => Array.from(randomBytes(26), (byte) => alphabet[byte & 31]).join("")

/** The folder of a provider; null for a bucket. The default ones lie in the folder of the service. */
const folderOf = (
  { name, place }: Provider,
  { data, folder }: Pick<FileSettings, "data" | "folder">
): string | null =>
  place.of !== "local"
    ? null
    : place.dir === `data/files/${name}`
    ? resolve(data, "files", name)
    : resolve(folder, place.dir)

/** The keys of a bucket: its own, else those of the deployment. */
const pairOf = ({ name, place }: Provider, settings: FileSettings): KeyPair | null =>
  place.of === "s3" && place.accessKeyId !== null && place.secretAccessKey !== null
    ? { accessKeyId: place.accessKeyId, secretAccessKey: place.secretAccessKey }
    : settings.keys(name)

/** The storage of a provider. Throws nothing: what it lacks shows with its first use, and `refuseFiles` says it before. */
export const storageOf = (provider: Provider, settings: FileSettings): StorageService => {
  const { place } = provider
  if (place.of === "local") {
    return makeLocalStorage({ dir: folderOf(provider, settings)!, public: provider.public })
  }
  const { accessKeyId, secretAccessKey } = pairOf(provider, settings) ?? { accessKeyId: "", secretAccessKey: "" }
  return makeBucketStorage({ ...place, accessKeyId, secretAccessKey })
}

/** What is wrong with providers that the configuration alone does not show: buckets without keys, folders within each other. */
export const refuseFiles = (providers: Iterable<Provider>, settings: FileSettings): readonly Refusal[] => {
  const refusals: Refusal[] = []
  const refuse = (message: string, fix: string): void => {
    refusals.push({ resource: null, field: null, message, fix })
  }
  const folders = new Map<string, string>()
  for (const provider of providers) {
    const { name } = provider
    if (provider.place.of === "s3" && pairOf(provider, settings) === null) {
      const variable = providerVariable(name)
      refuse(
        `The provider "${name}" is a bucket without keys.`,
        `Set ${variable}_ACCESS_KEY_ID and ${variable}_SECRET_ACCESS_KEY, or S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.`
      )
    }
    const folder = folderOf(provider, settings)
    if (folder === null) continue
    for (const [other, taken] of folders) {
      if (overlaps(folder, taken)) {
        refuse(
          `The folders of the providers "${other}" and "${name}" lie within each other.`,
          "Give each a folder of its own."
        )
      }
    }
    folders.set(name, folder)
  }
  return refusals
}

/** What may be given instead. */
export interface FileParts {
  readonly storages?: ReadonlyMap<string, StorageService>
  readonly images?: ImagesService
  readonly detector?: DetectorService
  readonly signer?: SignerService
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** What signatures of links to files are for. */
export const linkPurpose = "file-link"

/** Makes what use cases need; null where no resource has a file field and no provider is declared. */
export const makeFiles = (
  { files, options }: Compiled,
  settings: FileSettings,
  secret: Secrets,
  report: Files["report"],
  parts: FileParts = {}
): Files | null => {
  if (!files.used && files.providers.size === 0) return null
  const { detector = makeDetector(), now = () => Date.now(), signer = makeSigner(secret, linkPurpose) } = parts
  const root = parentPath(options.basePath)
  const providers = new Map<string, FileProvider>()
  for (const provider of files.providers.values()) {
    const { maxBytes, maxFiles, name, place, publicUrl } = provider
    providers.set(name, {
      name,
      storage: parts.storages?.get(name) ?? storageOf(provider, settings),
      public: provider.public,
      publicUrl,
      prefix: place.of === "s3" ? place.prefix : "",
      linkLifetime: provider.linkLifetime ?? defaultLinkLifetime,
      retention: provider.retention ?? settings.retention ?? files.retention ?? defaultRetention(provider.public),
      quota: new Quota({ maxBytes, maxFiles }),
      breaker: new Breaker()
    })
  }
  const seal = makeSeal(secret)
  return {
    root,
    providers,
    signer,
    seal,
    links: { root, provider: (name) => providers.get(name) ?? null, sign: signer.sign, now },
    tickets: { open: seal.open, now },
    images: parts.images ?? (files.imageProcessor as ImagesService | null),
    detector,
    newId,
    hash: () => {
      const hash = createHash("sha256")
      return { update: (chunk) => void hash.update(chunk), digest: () => hash.digest("base64url") }
    },
    now,
    report
  }
}

/** Runs work again and again, one run after the other, until it is closed. Nobody waits for it, and it keeps no process alive. */
export const repeat = (minutes: number, work: () => Promise<unknown>): { readonly close: () => Promise<void> } => {
  let running: Promise<unknown> | null = null
  const timer = setInterval(() => {
    running ??= work().catch(() => {}).finally(() => {
      running = null
    })
  }, minutes * 60_000)
  timer.unref()
  return {
    close: async () => {
      clearInterval(timer)
      await running
    }
  }
}
