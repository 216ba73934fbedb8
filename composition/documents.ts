/** The documents about the models: `/api/meta`, `/api/openapi.json` and the version header, cached by role set where that decides them. */

import * as Effect from "effect/Effect"
import { json } from "../core/app/call.ts"
import type { Call } from "../core/app/call.ts"
import type { SystemDocuments } from "../core/app/make-app.ts"
import { metaDocument, metaEtag } from "../core/domain/meta/meta.ts"
import { openapiDocument } from "../core/domain/meta/openapi.ts"
import { metaVersions, modelsVersion } from "../core/domain/meta/version.ts"
import type { Compiled } from "../core/domain/model/compile.ts"
import { invalidParameter } from "../core/domain/problem.ts"
import { isHeld } from "../core/domain/read/etag.ts"
import type { SealService } from "../core/ports/seal.ts"

/** A document that answers If-None-Match; its ETag hashes all of it. */
const answer = (call: Call, seal: SealService, document: unknown) => {
  const text = JSON.stringify(document)
  const etag = metaEtag(text, seal.digest)
  return isHeld(call.header("if-none-match"), etag)
    ? { status: 304, headers: { etag }, body: null }
    : json(200, text, { etag })
}

const refuseParameters = (call: Call) =>
  call.query.length === 0
    ? Effect.void
    : Effect.fail(invalidParameter(call.query[0]![0].slice(0, 100), "There are no parameters here."))

/** `publicUrl` becomes the server of the OpenAPI document; `authPath` null: sign-in is not served here. */
export const makeDocuments = (
  compiled: Compiled,
  seal: SealService,
  publicUrl: string,
  authPath: string | null
): SystemDocuments => {
  const version = modelsVersion(compiled, seal.digest)
  const { auth, models, pages, userMenu, views } = compiled
  const signIn = {
    twoFactor: auth?.twoFactor === true,
    passkeys: auth?.passkeys !== undefined && auth.passkeys !== false
  }
  return {
    metaVersion: metaVersions(version, seal.digest),
    meta: (call) =>
      Effect.map(
        refuseParameters(call),
        () =>
          answer(
            call,
            seal,
            metaDocument({ caller: call.caller, models, views, userMenu, pages, resolve: call.access })
          )
      ),
    openapi: (call) =>
      Effect.map(refuseParameters(call), () =>
        answer(
          call,
          seal,
          openapiDocument({
            models,
            resolve: call.access,
            caller: call.caller,
            basePath: compiled.options.basePath,
            authPath,
            signIn,
            title: "Resource API",
            version: "1",
            serverUrl: publicUrl.replace(/\/$/, "")
          })
        ))
  }
}
