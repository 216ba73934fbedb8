/**
 * What the tests of sign-in share: a database with the auth store in it, auth servers on it (several are several instances), and a
 * client that speaks to one of them. It holds no expectation.
 */

import { Pool } from "pg"
import { vi } from "vitest"
import { type Auth, type AuthOptions, createAuth } from "../../adapters/auth/auth.ts"
import type { Authenticator, Identity } from "../../adapters/auth/authenticator.ts"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { holdClock } from "../support/clock.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { divideHashing } from "./hashing.ts"

divideHashing(16)

export const authUrl = "http://localhost:5173"
export const password = "correct horse battery"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The body as JSON, or null. */
  readonly body: { readonly [name: string]: unknown } | null
  readonly text: string
}

export interface Store extends AsyncDisposable {
  readonly database: TestDatabase
  readonly pool: Pool
  /** One more instance on the same database, with a pool of its own. */
  readonly instance: (options?: Partial<AuthOptions>) => Auth
}

export const secret = "a secret of at least thirty-two characters"

/** A database with the migrated store. Sign-in is not limited unless an instance says so. */
export const openStore = async (schema = authMigrationSql({ schema: "auth" })): Promise<Store> => {
  const database = await openDatabase(schema)
  const pools: Pool[] = []
  const open = (): Pool => {
    const pool = new Pool({ connectionString: database.url, max: 8 })
    // A connection that a test ends on purpose.
    pool.on("error", () => {})
    pools.push(pool)
    return pool
  }
  const pool = open()
  return {
    database,
    pool,
    instance: (options = {}) =>
      createAuth({
        database: open(),
        secret,
        url: authUrl,
        signInPerMinute: 1_000,
        onError: (cause) => {
          throw cause
        },
        ...options
      }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(pools.map((each) => each.end()))
      await database.drop()
    }
  }
}

export interface Ask {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly cookie?: string | undefined
}

/** Sends one request to the auth routes, as a program does: no Origin, JSON. */
export const ask = async (
  auth: Auth,
  method: string,
  path: string,
  { body, cookie, headers }: Ask = {}
): Promise<Answer> => {
  const response = await auth.handler(
    new Request(`${authUrl}${auth.basePath}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(cookie === undefined ? {} : { cookie }),
        ...headers
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
  )
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === "" ? null : JSON.parse(text) as Answer["body"]
  }
}

export const signIn = (auth: Auth, email: string, word = password, headers: Readonly<Record<string, string>> = {}) =>
  ask(auth, "POST", "/sign-in/email", { body: { email, password: word }, headers })

/** The cookies an answer sets, as a browser would send them back. */
export const cookiesOf = (answer: Answer): string =>
  answer.headers.getSetCookie().map((cookie) => cookie.split(";", 1)[0]).join("; ")

/** Signs in and gives the session cookie; fails when sign-in does. */
export const sessionOf = async (auth: Auth, email: string, word = password): Promise<string> => {
  const answer = await signIn(auth, email, word)
  if (answer.status !== 200) throw new Error(`sign-in of ${email}: ${answer.status} ${answer.text}`)
  return cookiesOf(answer)
}

export const tokenOf = async (auth: Auth, cookie: string): Promise<string> =>
  String((await ask(auth, "GET", "/token", { cookie })).body?.["token"])

export const bearer = (token: string) => ({
  method: "GET",
  url: `${authUrl}/api/v1/orders`,
  headers: new Headers({ authorization: `Bearer ${token}` })
})

/** The identity, or the name of the refusal. */
export const identify = async (authenticator: Authenticator, token: string): Promise<Identity | string> => {
  try {
    return await authenticator(bearer(token))
  } catch (cause) {
    return cause instanceof Error ? cause.name : String(cause)
  }
}

/**
 * Milliseconds of the instances' own clock until something holds that is asked for all the time, as busy clients do; Infinity when it never does. Only
 * this moves their clock, and it waits for what they read from the database meanwhile: how fast the machine is does not come into it.
 */
export const passesUntil = async (auths: readonly Auth[], holds: () => Promise<boolean>): Promise<number> => {
  using clock = holdClock()
  const queries = auths.map(({ internals }) => vi.spyOn(internals.store, "query"))
  try {
    for (; clock.passed() < 4_000; clock.go(50)) {
      if (await holds()) return clock.passed()
      await Promise.allSettled(queries.flatMap(({ mock }) => mock.results.map(({ value }) => value as unknown)))
    }
    return Number.POSITIVE_INFINITY
  } finally {
    for (const each of queries) each.mockRestore()
  }
}

/** The code of the refusal, or "done". */
export const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
    return "done"
  } catch (cause) {
    if (typeof cause === "object" && cause !== null && "code" in cause) return String(cause.code)
    throw cause
  }
}
