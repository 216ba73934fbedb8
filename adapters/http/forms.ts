/**
 * The routes of public forms, `/api/forms/<name>`: the only ones that write without a credential. A credential is ignored. What a
 * submission may do is decided by the use case.
 */

import * as Effect from "effect/Effect"
import type { FormApp } from "../../core/app/form/form.ts"
import { clientOf } from "../../core/domain/account/client.ts"
import { invalidParameter, notFound } from "../../core/domain/problem.ts"
import type { Log } from "./access-log.ts"
import type { ExtraRoute, ReadBody, Visit } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import { bodyRefusal, decodePercent } from "./request.ts"

/** Largest submission in bytes. */
const maxSubmissionBytes = 256 * 1024

const challengeVerb = ":challenge"

/** The routes of forms below the parent of the resources API. */
export const formRoutes = (
  { formsOf, log, parent }: {
    /** The forms of a tenant; null: requests do not decide the tenant. */
    readonly formsOf: (tenant: string | null) => FormApp
    readonly parent: string
    readonly log?: Log | undefined
  }
): readonly ExtraRoute[] => {
  const prefix = `${parent}/forms`

  const submit = (forms: FormApp, visit: Visit, name: string, read: ReadBody) =>
    Effect.gen(function*() {
      // The form is looked up first, so no body is read for one that does not exist.
      if (!forms.has(name)) return yield* Effect.fail(notFound())
      const refusal = bodyRefusal(visit.request, maxSubmissionBytes)
      if (refusal !== null) return yield* Effect.fail(refusal)
      const body = yield* read(maxSubmissionBytes)
      const ended = yield* forms.submit(name, clientOf(visit.address, null, 0).group, body)
      if (ended === "duplicate") {
        log?.(JSON.stringify({
          level: "warn",
          event: "form-duplicate",
          message:
            "A submission was answered like one that was written, but not written: a record with its values already exists.",
          form: name,
          request: visit.id
        }))
      }
      return { status: 204, headers: {}, body: null }
    })

  return [{
    prefix,
    access: "public",
    handle: (visit, read) => {
      const { method, path, query } = visit
      if (!path.startsWith(`${prefix}/`)) return Effect.fail(notFound())
      const rest = path.slice(prefix.length + 1)
      const asksChallenge = rest.endsWith(challengeVerb)
      const name = decodePercent(asksChallenge ? rest.slice(0, -challengeVerb.length) : rest)
      const forms = formsOf(visit.place?.tenant ?? null)
      if (name === null || !forms.has(name)) return Effect.fail(notFound())
      const allowed = asksChallenge ? "GET, HEAD" : "GET, HEAD, POST"
      if (method !== "GET" && (method !== "POST" || asksChallenge)) return Effect.fail(methodNotAllowed(allowed))
      if (query !== null && query !== "") {
        return Effect.fail(
          invalidParameter(query.split(/[=&]/, 1)[0]!.slice(0, 100), "This route takes no parameters.")
        )
      }
      if (method === "POST") return submit(forms, visit, name, read)
      return asksChallenge ? forms.challenge(name) : forms.show(name)
    }
  }]
}
