/** The routes of files beside the resources: downloads for whoever has the address, cleanup for admins. They pass on and decide nothing of files. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { FileReply, FileRequest } from "../../core/app/file/download.ts"
import { json } from "../../core/app/ground/call.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { accessDenied, invalidParameter, notFound } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import type { ExtraRoute, Visit } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import { decodePercent, readQuery } from "./request.ts"
import type { EdgeAnswer } from "./request.ts"

/** What the routes run. */
export interface FileRoutes {
  /** Path of the system endpoints: `/api`. */
  readonly parent: string
  readonly download: (request: FileRequest) => Effect.Effect<FileReply, Problem>
  /** Whether files stand before the paths of tenants: an address has the folder of its tenant, and a link is signed with it. */
  readonly anywhere?: boolean
  /** Whether the cleanup is the operator's alone: it deletes files of all tenants. */
  readonly operatorCleans?: boolean
  readonly cleanup: Effect.Effect<{ readonly deleted: number; readonly kept: number }, Problem>
}

const answer = ({ headers, status, stream }: FileReply): EdgeAnswer =>
  stream === null ? { status, headers, body: null } : { status, headers, body: null, stream }

/** Provider and path of an address; null for what no link of ours has. An encoded slash would be another path than it looks. */
const placeOf = (rest: string): { readonly provider: string; readonly path: string } | null => {
  const [, provider, raw] = /^\/([a-z][a-z0-9_-]{0,31})\/(.+)$/.exec(rest) ?? []
  if (provider === undefined || raw === undefined || /%2f/i.test(raw)) return null
  const path = decodePercent(raw)
  return path === null ? null : { provider, path }
}

/** Public addresses may be asked for by pages of other origins; the routes are `/api/files/…` and `/api/files:cleanup`. */
export const fileRoutes = ({
  anywhere = false,
  cleanup,
  download,
  operatorCleans = false,
  parent
}: FileRoutes): readonly ExtraRoute[] => {
  const prefix = `${parent}/files`
  const get = (visit: Visit): Effect.Effect<EdgeAnswer, Problem> => {
    if (visit.path === prefix) return Effect.fail(notFound())
    if (visit.method !== "GET") return Effect.fail(methodNotAllowed("GET, HEAD"))
    const place = placeOf(visit.path.slice(prefix.length))
    if (place === null) return Effect.fail(notFound())
    const query = readQuery(visit.query)
    if (Result.isFailure(query)) return Effect.fail(query.failure)
    const { headers } = visit.request
    const request = {
      ...place,
      query: query.success,
      header: (name: string) => headers.get(name),
      headOnly: visit.request.method === "HEAD",
      tenant: visit.place?.tenant ?? null
    }
    return Effect.map(download(request), answer)
  }
  const clean = (visit: Visit, caller: Caller): Effect.Effect<EdgeAnswer, Problem> => {
    if (visit.path !== `${prefix}:cleanup`) return Effect.fail(notFound())
    if (visit.method !== "POST") return Effect.fail(methodNotAllowed("POST"))
    if (!caller.roles.includes("admin")) return Effect.fail(accessDenied())
    if (visit.query !== null && visit.query !== "") {
      return Effect.fail(invalidParameter("query", "This route takes no parameters."))
    }
    return Effect.map(cleanup, ({ deleted, kept }) => json(200, JSON.stringify({ deleted, kept })))
  }
  return [
    { prefix, access: "public", handle: get, ...(anywhere ? { anywhere } : {}) },
    {
      prefix: `${prefix}:cleanup`,
      access: "caller",
      handle: operatorCleans ? () => Effect.fail(notFound()) : clean
    }
  ]
}
