/**
 * The interactive reference at `/api/docs` (docs/reference/openapi.md), served by the service itself: the sign-in page, and Swagger UI's files for
 * callers with a token. A browser cannot send a token when it navigates, so without one it gets the form as the body of the 401. It knows
 * nothing of the API.
 */

import * as Effect from "effect/Effect"
import { createHash, randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { parentPath } from "../../core/domain/declare/config.ts"
import { notFound } from "../../core/domain/problem.ts"
import type { Problem } from "../../core/domain/problem.ts"
import { isHeld } from "../../core/domain/read/etag.ts"
import { codingFor, takesHtml } from "./accept.ts"
import type { Coding } from "./accept.ts"
import { encode } from "./coding.ts"
import { docsPage, docsPolicy } from "./docs-page.ts"
import type { DocsSignIn } from "./docs-page.ts"
import type { ExtraRoute, Visit } from "./handle.ts"
import { methodNotAllowed } from "./problem.ts"
import type { EdgeAnswer } from "./request.ts"

export interface DocsOptions {
  /** Path of the resources, for example `/api/v1`; the docs are at its parent's `docs`. */
  readonly basePath: string
  /** `password` where the sign-in routes are served beside the docs; else people paste a token. */
  readonly signIn: DocsSignIn
}

/** What is served of Swagger UI, with its media type. */
const files: { readonly [name: string]: string } = {
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui-bundle.js.LICENSE.txt": "text/plain; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8"
}

interface Stored {
  readonly etag: string
  readonly bytes: Uint8Array
}

/** Remembers the result of a step by name. Failures are not kept, so the next call tries again. */
const remembered = <A>(make: (name: string) => Promise<A>): (name: string) => Promise<A> => {
  const results = new Map<string, Promise<A>>()
  return (name) => {
    let made = results.get(name)
    if (made === undefined) {
      results.set(name, made = make(name))
      made.catch(() => results.delete(name))
    }
    return made
  }
}

/**
 * Where a file is: beside this module after a build, or in its package when the sources run. People who install the service do not install
 * that package, which would run a script that sends statistics.
 */
const placeOf = (name: string): string => {
  const shipped = fileURLToPath(new URL(`swagger-ui/${name}`, import.meta.url))
  return existsSync(shipped) ? shipped : createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`)
}

/** A file in one coding, read and encoded once. */
const makeStore = (): (name: string, coding: Coding) => Promise<Stored> => {
  const whole = remembered((name) => readFile(placeOf(name)))
  const stored = remembered(async (key): Promise<Stored> => {
    const [name = "", coding = "identity"] = key.split(" ")
    const bytes = await whole(name)
    const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 22)
    return { etag: `"${hash}-${coding}"`, bytes: await encode(bytes, coding as Coding) }
  })
  return (name, coding) => stored(`${name} ${coding}`)
}

const onlyGet = (visit: Visit): Effect.Effect<void, Problem> =>
  visit.method === "GET" ? Effect.void : Effect.fail(methodNotAllowed("GET, HEAD"))

/** The routes of the docs, for `EdgeOptions.extraRoutes`. Nothing is read before the first request. */
export const docsRoutes = ({ basePath, signIn }: DocsOptions): readonly ExtraRoute[] => {
  const parent = parentPath(basePath)
  const prefix = `${parent}/docs`
  const load = makeStore()

  const page = (cut: string, status: number, headers: { readonly [name: string]: string }): EdgeAnswer => {
    const nonce = randomBytes(16).toString("base64")
    return {
      status,
      headers: {
        ...headers,
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": docsPolicy(nonce),
        "vary": "Accept"
      },
      body: docsPage({ parent: cut + parent, signIn, nonce })
    }
  }

  const isPage = (path: string): boolean => path === prefix || path === `${prefix}/`

  const file = (name: string, type: string): ExtraRoute => ({
    prefix: `${prefix}/${name}`,
    access: "caller",
    handle: (visit) =>
      Effect.gen(function*() {
        if (visit.path !== `${prefix}/${name}`) return yield* Effect.fail(notFound())
        yield* onlyGet(visit)
        const coding = codingFor(visit.request.headers.get("accept-encoding"))
        const { bytes, etag } = yield* Effect.promise(() => load(name, coding))
        const headers = { etag, vary: "Accept-Encoding" }
        const held = visit.request.headers.get("if-none-match")
        if (isHeld(held, etag)) return { status: 304, headers, body: null }
        return {
          status: 200,
          headers: {
            ...headers,
            "content-type": type,
            ...(coding === "identity" ? {} : { "content-encoding": coding })
          },
          body: bytes
        }
      })
  })

  return [
    ...Object.entries(files).map(([name, type]) => file(name, type)),
    {
      prefix,
      access: "caller",
      handle: (visit) =>
        isPage(visit.path)
          ? Effect.map(onlyGet(visit), () => page(visit.place?.cut ?? "", 200, {}))
          : Effect.fail(notFound()),
      refused: (visit, refusal) => {
        const form = refusal.slug === "unauthenticated" && visit.method === "GET" && isPage(visit.path) &&
          takesHtml(visit.request.headers.get("accept"))
        return form ? Effect.succeed(page(visit.place?.cut ?? "", 401, refusal.headers)) : Effect.fail(refusal)
      }
    }
  ]
}
