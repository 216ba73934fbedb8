/** `storeFile`: files that scripts and imports store outside of any request, and the values that they write into columns for them. */

import * as Effect from "effect/Effect"
import { heldAmount } from "../core/app/file/room.ts"
import { isBag } from "../core/domain/bag.ts"
import type { Config } from "../core/domain/declare/config.ts"
import { defaultProvider, providerVariable, readProvider, readProviderAddress } from "../core/domain/file/provider.ts"
import type { Provider } from "../core/domain/file/provider.ts"
import { isLimited, Quota } from "../core/domain/file/quota.ts"
import { printBytes } from "../core/domain/file/size.ts"
import { typeOfExtension } from "../core/domain/file/type.ts"
import { extensionOf, isProviderName, isStoredPath } from "../core/domain/file/uri.ts"
import type { StorageService } from "../core/ports/storage.ts"
import { readSettings } from "./environment.ts"
import type { Settings } from "./environment.ts"
import { storageOf } from "./files.ts"

/** What a script stores with `storeFile`. */
export interface StoreFileOptions {
  /** Name of the provider: as the environment says, else the configuration, else `private` or `public` in the folder of the service. */
  readonly provider: string
  /** `<tenant or _>/<name>.<extension>`; variants stand at `variantPath(path, name, extension)`. */
  readonly path: string
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
  /** Variables of the environment; a relative folder is taken from the working directory. */
  readonly env: { readonly [name: string]: string | undefined }
  /** The configuration, where it declares the provider. */
  readonly config?: Pick<Config, "files">
}

const providerOf = (name: string, config: Pick<Config, "files">, settings: Settings): Provider => {
  const variable = providerVariable(name)
  const said: string[] = []
  const say = (message: string, fix: string): void => void said.push(`${message} ${fix}`)
  const address = settings.files.addresses[variable]
  const declared: unknown = isBag(config.files?.providers) && Object.hasOwn(config.files.providers, name)
    ? config.files.providers[name]
    : undefined
  const provider = address !== undefined
    ? readProviderAddress(name, address, variable, say)
    : declared !== undefined
    ? readProvider(name, declared, say)
    : name === "private" || name === "public"
    ? defaultProvider(name, "data")
    : null
  if (provider !== null) return provider
  throw new Error(
    said.join(" ") || `The provider "${name}" is not configured: pass the configuration as config, or set ${variable}.`
  )
}

/** What providers with limits hold, counted once by a script that stores many files. */
const quotas = new Map<string, Quota>()

const quotaOf = async ({ maxBytes, maxFiles, place }: Provider, storage: StorageService): Promise<Quota> => {
  const key = JSON.stringify([place, maxBytes, maxFiles])
  const quota = quotas.get(key) ?? new Quota({ maxBytes, maxFiles })
  quotas.set(key, quota)
  if (quota.isStale(Date.now())) {
    quota.begin()
    quota.count(await Effect.runPromise(heldAmount({ storage })), Date.now())
  }
  return quota
}

/**
 * Stores a file outside of any request, for scripts and imports (docs/guides/files.md#providers). Gives the value to write into the column.
 * Throws for a path or provider that cannot be, where a file is there already, where the provider's limits are passed, and when the storage fails.
 *
 * @example
 * const value = await storeFile({ provider: "private", path: "_/manual.pdf", body: bytes, env: process.env })
 */
export const storeFile = async (
  { body, config = {}, env, path, provider: name }: StoreFileOptions
): Promise<string> => {
  if (!isProviderName(name)) throw new Error(`"${name}" is not a provider's name.`)
  if (!isStoredPath(path)) throw new Error(`"${path}" is not a path of a file: write <tenant or _>/<name>.<extension>.`)
  const folder = process.cwd()
  const { settings } = readSettings(env, folder)
  const provider = providerOf(name, config, settings)
  const storage = storageOf(provider, { folder, data: settings.data, keys: settings.files.keys, retention: null })
  // Links are kept by caches for up to a year, so another file needs another path.
  if (await Effect.runPromise(storage.head(path)) !== null) {
    throw new Error(`There is a file at "${name}:${path}" already. Store another one at another path.`)
  }
  const quota = isLimited(provider) ? await quotaOf(provider, storage) : null
  const refuse = (): never => {
    const most = [
      ...provider.maxBytes === null ? [] : [printBytes(provider.maxBytes)],
      ...provider.maxFiles === null ? [] : [`${provider.maxFiles} files`]
    ]
    throw new Error(`There is no room for the file: the provider "${name}" holds at most ${most.join(" and ")}.`)
  }
  const whole = body instanceof Uint8Array ? body.length : null
  if (quota?.fits({ bytes: whole ?? 0, files: 1 }) === false) refuse()
  async function* metered(): AsyncGenerator<Uint8Array> {
    let bytes = 0
    for await (const chunk of body instanceof Uint8Array ? [body] : body) {
      bytes += chunk.length
      if (quota?.fits({ bytes, files: 1 }) === false) refuse()
      yield chunk
    }
  }
  const size = await Effect.runPromise(
    storage.put(path, metered(), { type: typeOfExtension(extensionOf(path)), size: whole })
  )
  quota?.add({ bytes: size, files: 1 })
  return `${name}:${path}`
}
