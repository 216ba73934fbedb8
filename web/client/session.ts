/**
 * Sign-in at the service itself: the routes below `/api/auth`, and the bearer token of a session. In a browser, the session is a cookie that scripts
 * cannot read. Elsewhere this file keeps the cookie in memory, as long as the client exists.
 */

import type { TokenHolder } from "./token.ts"
import type { Answer, Call, CallOptions, FetchFunction, QueryValue } from "./transport.ts"

/** A user in the answers of the sign-in routes. */
export interface SessionUser {
  readonly id: string
  readonly email: string
  readonly name: string
  /** One role or several, comma-separated. */
  readonly role?: string | null
  readonly [member: string]: unknown
}

/** The signed-in user and the session. */
export interface Session {
  readonly user: SessionUser
  readonly session: { readonly id: string; readonly expiresAt: string; readonly [member: string]: unknown }
}

/** The result of a sign-in. `twoFactorRedirect`: send a code next, `post("/two-factor/verify-totp", { code })`. */
export type SignIn =
  | { readonly user: SessionUser; readonly twoFactorRedirect?: never }
  | { readonly twoFactorRedirect: true; readonly user?: never }

/** The sign-in methods of the service. */
export interface SignInMethods {
  readonly providers: ReadonlyArray<{ readonly id: string; readonly name: string }>
  readonly twoFactor: boolean
  readonly passkeys: boolean
  /** Whether users can request a link for a new password: `post("/request-password-reset", { email })`. */
  readonly passwordReset: boolean
  /** Whether admins can invite people: `post("/admin/invite-user", { email, name, role })`. */
  readonly invitations: boolean
}

export interface AuthClient {
  /** Begins a session by email and password. A wrong one is a 401; after too many attempts a 429 says how long to wait. */
  readonly signIn: (
    credentials: { readonly email: string; readonly password: string; readonly rememberMe?: boolean },
    options?: CallOptions
  ) => Promise<SignIn>
  /** Ends the session and drops the token, even if the service cannot be reached. */
  readonly signOut: (options?: CallOptions) => Promise<void>
  /** The signed-in user and the session, or null. */
  readonly session: (options?: CallOptions) => Promise<Session | null>
  /** `needsAdmin`: there is no account yet; the first one is made on the host. */
  readonly status: (options?: CallOptions) => Promise<{ readonly needsAdmin: boolean }>
  readonly methods: (options?: CallOptions) => Promise<SignInMethods>
  /** Any other route below `/api/auth`: `get("/admin/list-users", { limit: 50 })`. */
  readonly get: <T = unknown>(
    path: string,
    query?: { readonly [name: string]: QueryValue },
    options?: CallOptions
  ) => Promise<T>
  /** Any other route below `/api/auth`. The token is renewed afterwards, because the call may have begun, changed or ended a session. */
  readonly post: <T = unknown>(path: string, body?: unknown, options?: CallOptions) => Promise<T>
}

/** Keeps cookies outside of browsers. Browsers keep them themselves and show none to scripts. */
export const withCookies = (fetch: FetchFunction): FetchFunction => {
  const jar = new Map<string, string>()
  return async (url, init) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ")
    const headers = { ...init.headers, ...(cookie === "" ? {} : { cookie }) }
    const response = await fetch(url, { ...init, headers, credentials: "include" })
    for (const text of response.headers.getSetCookie?.() ?? []) {
      const [, name = "", value = ""] = /^([^=;]+)=([^;]*)/.exec(text) ?? []
      if (value === "" || /;\s*max-age=0/i.test(text)) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }
}

export const makeSession = (
  send: <T>(call: Call) => Promise<Answer<T>>,
  tokens: TokenHolder
): AuthClient & { readonly fetchToken: () => Promise<string> } => {
  const call = async <T>(
    method: string,
    path: string,
    rest: Partial<Call>,
    options: CallOptions | undefined
  ): Promise<T> => (await send<T>({ ...rest, method, path, system: true, token: false, signal: options?.signal })).data
  const get: AuthClient["get"] = (path, query, options) => call("GET", path, { query }, options)
  const post: AuthClient["post"] = async (path, body = {}, options) => {
    try {
      return await call("POST", path, { json: body }, options)
    } finally {
      tokens.put(null)
    }
  }
  return {
    get,
    post,
    signIn: (credentials, options) => post<SignIn>("/sign-in/email", credentials, options),
    signOut: async (options) => {
      await post("/sign-out", {}, options)
    },
    session: async (options) => (await get<Session | null>("/get-session", {}, options)) ?? null,
    status: (options) => get("/status", {}, options),
    methods: (options) => get("/providers", {}, options),
    // Without a session this fails with a 401, and so do the waiting calls.
    fetchToken: async () => (await get<{ readonly token: string }>("/token")).token
  }
}
