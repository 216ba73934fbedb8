/** What the use cases stand on, from the ports. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Audit } from "../../core/ports/audit.ts"
import { Detector } from "../../core/ports/detector.ts"
import { Images } from "../../core/ports/images.ts"
import { Records } from "../../core/ports/records.ts"
import { Replicas } from "../../core/ports/replicas.ts"
import { Seal } from "../../core/ports/seal.ts"
import { Signer } from "../../core/ports/signer.ts"
import { Storage } from "../../core/ports/storage.ts"
import { Bell } from "../bell.ts"
import { Deployment } from "../deployment.ts"
import { makeFiles, usualFileSettings } from "../files.ts"
import { fileReport, type Foundation, foundationOn } from "../foundation.ts"
import { filesSecretOf } from "./storage.ts"

/** The foundation of the use cases, without the record checks, which need it themselves. */
export class Ground extends Context.Service<Ground, Foundation>()("resource-admin/Ground") {}

/** What the use cases stand on. */
export class Uses extends Context.Service<Uses, Foundation>()("resource-admin/Uses") {}

export const ground = Layer.effect(
  Ground,
  Effect.gen(function*() {
    const told = yield* Deployment
    const { changed } = yield* Bell
    const { audit: kept, compiled, files, fileSettings = usualFileSettings(), log, namesOf } = told
    const audit = kept ?? (yield* Audit)
    const images = yield* Effect.serviceOption(Images)
    const replicas = yield* Effect.serviceOption(Replicas)
    return foundationOn({
      audit,
      compiled,
      records: yield* Records,
      replicas: Option.getOrUndefined(replicas),
      seal: yield* Seal,
      namesOf,
      log,
      changed,
      files: makeFiles(compiled, fileSettings, filesSecretOf(told), fileReport(log), {
        storages: yield* Storage,
        detector: yield* Detector,
        signer: yield* Signer,
        ...(Option.isNone(images) ? {} : { images: images.value }),
        ...(files?.now === undefined ? {} : { now: files.now })
      })
    })
  })
)
