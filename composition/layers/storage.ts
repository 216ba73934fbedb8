/** The ports about files: storages of the configured providers, types, pixels, and signatures of links. */

import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeDetector } from "../../adapters/detector/detector.ts"
import { makeSigner } from "../../adapters/seal/signer.ts"
import type { Secrets } from "../../core/domain/secret.ts"
import { Detector } from "../../core/ports/detector.ts"
import { Images, type ImagesService } from "../../core/ports/images.ts"
import { Signer } from "../../core/ports/signer.ts"
import { Storage } from "../../core/ports/storage.ts"
import { Deployment, type DeploymentSettings } from "../deployment.ts"
import { linkPurpose, storageOf, usualFileSettings } from "../files.ts"

const storages = Layer.effect(
  Storage,
  Effect.gen(function*() {
    const { compiled, files, fileSettings = usualFileSettings() } = yield* Deployment
    return new Map([...compiled.files.providers].map(([name, provider]) => [
      name,
      files?.storages?.get(name) ?? storageOf(provider, fileSettings)
    ]))
  })
)

/** Only where the configuration names a processor. */
const images: Layer.Layer<never, never, Deployment> = Layer.unwrap(Effect.map(Deployment, ({ compiled, files }) => {
  const service = files?.images ?? (compiled.files.imageProcessor as ImagesService | null)
  return service === null ? Layer.empty : Layer.succeed(Images, service)
}))

/** The secret behind tickets and links of files. */
export const filesSecretOf = ({ compiled, filesSecret, secret }: DeploymentSettings): Secrets =>
  filesSecret ?? compiled.files.secret ?? secret

/** Storages and what files need besides. */
export const storage = Layer.mergeAll(
  storages,
  images,
  Layer.sync(Detector, makeDetector),
  Layer.effect(Signer, Effect.map(Deployment, (told) => makeSigner(filesSecretOf(told), linkPurpose)))
)
