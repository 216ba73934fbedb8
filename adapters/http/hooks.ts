/**
 * The routes of hooks, `POST /api/hooks/{name}`: other systems send there what happened to them. A credential is ignored; the signature decides, in the use
 * case. No browser's page may call them.
 */

import * as Effect from "effect/Effect"
import type { HookApp } from "../../core/app/hook/hook.ts"
import { clientOf } from "../../core/domain/account/client.ts"
import { largestBody } from "../../core/domain/hook/declaration.ts"
import { invalidParameter, notFound } from "../../core/domain/problem.ts"
import type { ExtraRoute, Visit } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import { announcedTooLarge, codingRefusal, decodePercent } from "./request.ts"

const noBody = new Uint8Array(0)

const announced = ({ request }: Visit): number | null => {
  if (!request.hasBody) return 0
  const length = request.headers.get("content-length")
  return length !== null && /^\d{1,10}$/.test(length) ? Number(length) : null
}

/** The routes of hooks below the parent of the resources API. */
export const hookRoutes = (hooks: HookApp, parent: string): readonly ExtraRoute[] => {
  const prefix = `${parent}/hooks`
  return [{
    prefix,
    access: "public",
    crossOrigin: false,
    handle: (visit, read) => {
      const { method, path, query, request } = visit
      const name = path.startsWith(`${prefix}/`) ? decodePercent(path.slice(prefix.length + 1)) : null
      if (name === null || !hooks.has(name)) return Effect.fail(notFound())
      if (method !== "POST") return Effect.fail(methodNotAllowed("POST"))
      if (query !== null && query !== "") {
        return Effect.fail(
          invalidParameter(query.split(/[=&]/, 1)[0]!.slice(0, 100), "This route takes no parameters.")
        )
      }
      const refusal = codingRefusal(request) ?? announcedTooLarge(request, largestBody)
      if (refusal !== null) return Effect.fail(refusal)
      const length = announced(visit)
      return hooks.receive(name, {
        client: clientOf(visit.address, null, 0).group,
        header: (wanted) => request.headers.get(wanted),
        headers: request.headers.entries(),
        tenant: visit.place?.tenant ?? null,
        length,
        // No more than room is kept for.
        body: request.hasBody ? read(length ?? largestBody) : Effect.succeed(noBody)
      })
    }
  }]
}
