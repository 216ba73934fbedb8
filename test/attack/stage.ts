/**
 * The place of the attack tests: a composed service over fake records, with accounts in embedded PostgreSQL, and a client that may send
 * anything. It remembers every secret that passed and every line that was logged, so that a test can search one for the other.
 */

import * as Effect from "effect/Effect"
import { decodeJwt } from "jose"
import { randomUUID } from "node:crypto"
import type { AuthEvent } from "../../adapters/auth/auth-log.ts"
import type { Auth, AuthOptions } from "../../adapters/auth/auth.ts"
import type { Authenticator } from "../../adapters/auth/authenticator.ts"
import { builtInAuthenticator, type BuiltInOptions } from "../../adapters/auth/built-in.ts"
import { authMigrationSql } from "../../adapters/auth/migration.ts"
import { createUser } from "../../adapters/auth/users.ts"
import { type Fetch, makeFetch } from "../../adapters/http/fetch.ts"
import type { Edge } from "../../adapters/http/handle.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { authUrl, openStore, password, secret, type Store } from "../auth/store.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { testSecret } from "../support/composed.ts"

export { authUrl, password }

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  owner: "owner",
  fields: { id: f.integer().readOnly().dbDefault(), owner: f.text().optional(), text: f.text().optional() }
})

/** One API: `admin` may do everything, `reader` reads, `writer` reads and writes their own, `user` may do nothing. */
const config = (trustedProxies: number) =>
  defineConfig({
    resources: [notes],
    options: {
      roles: defineRoles({
        admin: ["*"],
        reader: ["notes.read"],
        writer: ["notes.read.own", "notes.create.own"],
        user: []
      }),
      trustedProxies,
      cors: { origins: ["https://panel.example.org"] }
    }
  })

export interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly cookie?: string | undefined
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string | undefined
  /** The peer of the connection. */
  readonly from?: string
}

export interface Got {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: { readonly [name: string]: unknown }
  /** What a browser would send back. */
  readonly cookie: string
}

/** One running instance of the service. */
export interface Instance {
  readonly edge: Edge
  /** Undefined for an API that keeps no accounts. */
  readonly auth: Auth
  readonly ask: (method: string, path: string, sent?: Sent) => Promise<Got>
  /** The status of a read with this credential. */
  readonly read: (token: string) => Promise<number>
  /** Signs in by password, as a program does. */
  readonly signIn: (email: string, word?: string, sent?: Sent) => Promise<Got>
}

export interface Stage extends AsyncDisposable {
  readonly store: Store
  readonly instance: (options?: Partial<AuthOptions>, trustedProxies?: number) => Instance
  /** An API elsewhere: it verifies tokens by the given settings and has no accounts. */
  readonly apart: (options: BuiltInOptions) => Pick<Instance, "ask" | "read">
  /** An account made on the host; gives its address. */
  readonly account: (auth: Auth, name: string, role?: string) => Promise<string>
  readonly events: readonly AuthEvent[]
  /** Everything that was logged. */
  readonly log: () => string
  /** Marks a text as a secret, if it is long enough to be one. */
  readonly keep: (text: unknown) => void
  /** How many secrets were seen, and those that stand in the log. */
  readonly leaks: () => { readonly seen: number; readonly found: readonly string[] }
}

const parsed = (text: string): Got["body"] => {
  try {
    return JSON.parse(text) as Got["body"]
  } catch {
    return {}
  }
}

const secretMembers = new Set([
  "token",
  "password",
  "newPassword",
  "currentPassword",
  "code",
  "totpURI",
  "backupCodes",
  "text"
])

export const openStage = async (migration = authMigrationSql({ schema: "auth", twoFactor: true })): Promise<Stage> => {
  const store = await openStore(migration)
  const lines: string[] = []
  const events: AuthEvent[] = []
  const secrets = new Set<string>([secret, testSecret])
  const keep = (text: unknown): void => {
    if (Array.isArray(text)) text.forEach(keep)
    else if (typeof text === "string" && text.length >= 6) secrets.add(text)
  }
  const keepIn = (body: unknown): void => {
    if (typeof body !== "object" || body === null) return
    for (const [name, value] of Object.entries(body)) {
      if (secretMembers.has(name)) keep(value)
      else keepIn(value)
    }
  }
  const keepCookies = (text: string): void => {
    for (const pair of text.split(/;\s*/)) {
      const value = pair.slice(pair.indexOf("=") + 1)
      keep(value)
      keep(decodeURIComponent(value))
      keep(decodeURIComponent(value).split(".", 1)[0])
    }
  }

  const askOf =
    (fetch: Fetch): Instance["ask"] =>
    async (method, path, { body, cookie, from = "192.0.2.1", headers, token } = {}) => {
      if (token !== undefined) keep(token)
      if (cookie !== undefined) keepCookies(cookie)
      keepIn(body)
      const response = await fetch(
        new Request(path.startsWith("http") ? path : `${authUrl}${path}`, {
          method,
          headers: {
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...(cookie === undefined ? {} : { cookie }),
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...headers
          },
          ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
        }),
        { address: from }
      )
      const text = await response.text()
      const got: Got = {
        status: response.status,
        headers: response.headers,
        text,
        body: parsed(text),
        cookie: response.headers.getSetCookie().map((each) => each.split(";", 1)[0] ?? "").filter((each) =>
          !each.endsWith("=")
        )
          .join("; ")
      }
      keepCookies(got.cookie)
      keepIn(got.body)
      return got
    }

  const serve = (
    authenticator: Authenticator,
    auth: Auth | null,
    trustedProxies: number
  ): Pick<Instance, "ask" | "edge"> => {
    const edge = makeService({
      // Whether the admin app has been built here must not matter.
      webFolder: "no-admin-app",
      compiled: compileOrThrow(config(trustedProxies)),
      records: makeFakeRecords().service,
      authenticator,
      secret: testSecret,
      publicUrl: authUrl,
      log: (line) => void lines.push(line),
      ...(auth === null ? {} : {
        auth,
        authStatus: Effect.promise(async () => ({ needsAdmin: await auth.needsAdmin() }))
      })
    })
    return { edge, ask: askOf(makeFetch(edge)) }
  }
  const reading = (ask: Instance["ask"]): Instance["read"] => async (token) =>
    (await ask("GET", "/api/v1/notes", { token })).status

  return {
    store,
    events,
    keep,
    instance: (options, trustedProxies = 0) => {
      const auth = store.instance({
        roles: ["reader", "writer", "user"],
        defaultRole: "user",
        twoFactor: true,
        log: (entry) => {
          events.push(entry)
          lines.push(JSON.stringify(entry))
        },
        ...options
      })
      const { ask, edge } = serve(builtInAuthenticator({ auth }), auth, trustedProxies)
      return {
        auth,
        edge,
        ask,
        read: reading(ask),
        signIn: (email, word = password, sent = {}) =>
          ask("POST", "/api/auth/sign-in/email", { ...sent, body: { email, password: word } })
      }
    },
    apart: (options) => {
      const { ask } = serve(builtInAuthenticator(options), null, 0)
      return { ask, read: reading(ask) }
    },
    account: async (auth, name, role) => {
      const email = `${name}@example.org`
      const { rows } = await store.pool.query<{ id: string }>(
        `insert into auth."user" ("id", "name", "email", "emailVerified", "role", "banned")`
          + ` select $1, $2, $3, false, $4, false where exists (select 1 from auth."account") returning "id"`,
        [randomUUID(), name, email, role ?? auth.defaultRole]
      )
      const [user] = rows
      // The first is made by the front door. The others get its password without hashing it again: that takes a tenth of a second.
      if (user === undefined) await createUser(auth, { email, password, ...(role === undefined ? {} : { role }) })
      else {
        await store.pool.query(
          `insert into auth."account" ("id", "accountId", "providerId", "userId", "password", "updatedAt")`
            + ` select $1, $1, 'credential', $1, "password", now() from auth."account" where "password" is not null`
            + ` order by "createdAt" limit 1`,
          [user.id]
        )
      }
      return email
    },
    log: () => lines.join("\n"),
    leaks: () => {
      const text = lines.join("\n")
      return { seen: secrets.size, found: [...secrets].filter((each) => text.includes(each)) }
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]()
  }
}

/** The id of the user in a token of ours. */
export const subjectOf = (token: string): string => decodeJwt(token).sub ?? ""
