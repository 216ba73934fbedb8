/**
 * Signing in at the service itself: the routes below `/api/auth`, and the bearer token that a session gives. In a browser the session is a cookie
 * that no script sees. Elsewhere the cookie is kept here, in memory, for as long as the client lives.
 */

import type { Answer, Call, CallOptions, FetchFunction, QueryValue } from "./request.ts"
import type { TokenHolder } from "./token.ts"

/** A user as the sign-in routes tell of them. */
export interface SessionUser {
  readonly id: string
  readonly email: string
  readonly name: string
  /** One role or several, comma-separated. */
  readonly role?: string | null
  readonly [member: string]: unknown
}

/** Who is signed in, and the session. */
export interface Session {
  readonly user: SessionUser
  readonly session: { readonly id: string; readonly expiresAt: string; readonly [member: string]: unknown }
}

/** `twoFactorRedirect`: a code is asked for next, `post("/two-factor/verify-totp", { code })`. */
export type SignIn =
  | { readonly user: SessionUser; readonly twoFactorRedirect?: never }
  | { readonly twoFactorRedirect: true; readonly user?: never }

/** What one may sign in with. */
export interface SignInMethods {
  readonly providers: ReadonlyArray<{ readonly id: string; readonly name: string }>
  readonly twoFactor: boolean
  readonly passkeys: boolean
}

export interface AuthClient {
  /** Begins a session by email and password. A wrong one is a 401; after too many attempts a 429 says how long to wait. */
  readonly signIn: (
    credentials: { readonly email: string; readonly password: string; readonly rememberMe?: boolean },
    options?: CallOptions
  ) => Promise<SignIn>
  /** Ends the session and forgets the token, also when the service cannot be reached. */
  readonly signOut: (options?: CallOptions) => Promise<void>
  /** Who is signed in, or null. */
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
  /** Any other route below `/api/auth`. The token is renewed after it, since it may have begun, changed or ended a session. */
  readonly post: <T = unknown>(path: string, body?: unknown, options?: CallOptions) => Promise<T>
}

/** Cookies outside of browsers, which keep theirs themselves and show none. */
export const withCookies = (fetch: FetchFunction): FetchFunction => {
  const jar = new Map<string, string>()
  return async (url, init) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ")
    const headers = { ...init.headers as { [name: string]: string }, ...(cookie === "" ? {} : { cookie }) }
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
    rest: Partial<Call> | undefined,
    options: CallOptions | undefined
  ): Promise<T> => {
    const { data } = await send<T>({
      ...rest,
      method,
      path,
      system: true,
      token: false,
      signal: options?.signal
    })
    return data
  }
  const get: AuthClient["get"] = (path, query, options) =>
    call("GET", path, query === undefined ? {} : { query }, options)
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
    // Without a session this is the 401 that the waiting calls fail with.
    fetchToken: async () => (await get<{ readonly token: string }>("/token")).token
  }
}
