/** Accounts as the service's list of accounts answers them: the same type for the server, which names their fields, and for the app, which draws them. */

/** An account in an answer of `/api/auth/admin/list-users`. Instants are texts as JSON has them. */
export interface ListedAccount {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly emailVerified: boolean
  readonly image: string | null
  /** One role or several, comma-separated. */
  readonly role: string | null
  readonly banned: boolean | null
  readonly banReason: string | null
  /** Null: the ban has no end. */
  readonly banExpires: string | null
  readonly createdAt: string
  readonly updatedAt: string
  /** Only where the service has second factors. */
  readonly twoFactorEnabled?: boolean | null
}
