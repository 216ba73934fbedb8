/** The store, the engine and the settings that the functions of this adapter share. It decides nothing. */

import type { Provider } from "../../core/domain/account/identity-provider.ts"
import type { RoleList } from "../../core/domain/account/roles.ts"
import type { Told } from "./auth-log.ts"
import type { OwnCookies } from "./cookies.ts"
import type { Store } from "./database.ts"
import type { Engine } from "./engine.ts"
import type { Sealer } from "./key-text.ts"
import type { Links } from "./links.ts"
import type { AccountMailer } from "./mails.ts"
import type { Revocations } from "./revocations.ts"
import type { Cipher } from "./rotation.ts"

/** What the functions of this adapter share. Not for other code. */
export interface AuthInternals {
  readonly store: Store
  readonly table: (name: string) => string
  readonly roles: RoleList
  readonly revocations: Revocations
  readonly engine: () => Promise<Engine>
  readonly providers: readonly Provider[]
  /** The engine for sign-in with a provider; null when that provider cannot be had now. */
  readonly providerEngine: (id: string) => Promise<Engine | null>
  readonly sealer: Sealer
  /** What the store keeps encrypted. */
  readonly cipher: Cipher
  /** Cookies as better-auth can read them, which knows one secret. */
  readonly renewCookies: (cookies: OwnCookies) => Promise<OwnCookies>
  readonly links: Links
  /** Null: no mail is sent about accounts. */
  readonly mailer: AccountMailer | null
  readonly log: Told
  /** Does what a request asks for. `id`: that of the request. */
  readonly inRequest: <A>(id: string | null, work: () => A) => A
  readonly hashOf: (kind: "account" | "client", value: string) => string
  readonly onError: (cause: unknown) => void
  /** The public keys as a JWK set, read from the store. */
  readonly publicKeys: () => Promise<unknown>
}

/** What the functions of the host need of the auth server; `Auth` is one. */
export interface AuthHost {
  readonly internals: AuthInternals
  /** The allowed roles, `admin` first. */
  readonly roles: readonly string[]
  readonly twoFactor: boolean
  readonly passkeys: boolean
}
