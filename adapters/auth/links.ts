/**
 * Links that let somebody set the password of an account: made for a mail, good for one hour and one use. The store keeps a hash of each. A ban, another
 * mail address, a new password or a revocation ends them, by triggers of the store.
 */

import { createHash, randomBytes } from "node:crypto"
import { linkSeconds, linksMax } from "../../core/domain/account/mails.ts"
import type { Queries, Store } from "./database.ts"
import { endHeld } from "./ending.ts"
import { barred } from "./migration.ts"

/** Why a link was mailed. */
export type LinkKind = "reset" | "invitation"

/** A link that was made, and whom to send it to. */
export interface MadeLink {
  /** The secret part of the link. The store has only its hash. */
  readonly token: string
  readonly email: string
}

/** An account whose password was set by a link. */
export interface SetPassword {
  readonly user: string
  readonly kind: LinkKind
}

export interface Links {
  /** Null: there is no such account that may sign in, or it has as many links as it may. */
  readonly make: (kind: LinkKind, user: string) => Promise<MadeLink | null>
  /** Takes back a link that could not be sent. */
  readonly drop: (token: string) => Promise<void>
  /** How many links of an account are good now. */
  readonly count: (user: string) => Promise<number>
  /** Whether a link is good. It costs less than setting a password with it. */
  readonly isGood: (token: string) => Promise<boolean>
  /** Notes that an account waits for its owner, who gets a link. A password, another address, a ban or the account's end take the note away. */
  readonly await: (user: string) => Promise<void>
  /** Those of some accounts that wait for their owners. Who signs in with a provider meanwhile is none of them. */
  readonly awaited: (users: readonly string[]) => Promise<readonly string[]>
  /** Sets the password, ends sessions, tokens and all links of the account. Null: the link is not good; of several uses at once one counts. */
  readonly use: (token: string, hashed: string, newId: () => string) => Promise<SetPassword | null>
}

const tokenForm = /^[A-Za-z0-9_-]{43}$/

const kinds: readonly LinkKind[] = ["reset", "invitation"]

/** The note of an account that waits for its owner. It begins as links do, so the triggers that end links take it away, too. */
const waiting = "link-awaited"

/** The texts that stand for a token in the store, one for each kind. */
const identifiersOf = (token: string): readonly string[] => {
  const hash = createHash("sha256").update(token).digest("base64url")
  return kinds.map((kind) => `link-${kind}-${hash}`)
}

/**
 * Stores a password, also the first one of an account. Sessions, tokens, waiting sign-ins, trusted devices and links end. Rows are locked in the order of
 * better-auth: first the password's, then the user's. False: there is no such account any more.
 */
export const storePassword = async (
  { query }: Queries,
  table: (name: string) => string,
  user: string,
  hashed: string,
  newId: () => string
): Promise<boolean> => {
  const replaced = await query(
    `update ${table("account")} set "password" = $2, "updatedAt" = now()`
      + ` where "userId" = $1 and "providerId" = 'credential' returning "id"`,
    [user, hashed]
  )
  if (replaced.length > 0) return true
  // The trigger sees only passwords that change, so its work is done here.
  if (!await endHeld({ query }, table, "password", user)) return false
  await query(
    `insert into ${table("account")} ("id", "accountId", "providerId", "userId", "password", "createdAt", "updatedAt")`
      + ` values ($1, $2, 'credential', $2, $3, now(), now())`,
    [newId(), user, hashed]
  )
  return true
}

export const makeLinks = (store: Store, table: (name: string) => string): Links => {
  const [users, verification] = [table("user"), table("verification")]
  const goodOf = `"value" = $1 and "identifier" like 'link-%' and "identifier" <> '${waiting}'`
    + ` and "expiresAt" > now()`
  return {
    make: async (kind, user) => {
      const token = randomBytes(32).toString("base64url")
      // The lock waits for a ban or another address that is under way: the link then is not made, or is ended by it.
      const [made] = await store.query<{ readonly email: string }>(
        `with u as (select "id", "email" from ${users} u where "id" = $1 and not ${barred("u")} for share),`
          + ` made as (insert into ${verification} ("id", "identifier", "value", "expiresAt")`
          + ` select $2, $3, u."id", now() + interval '${linkSeconds} seconds' from u`
          + ` where (select count(*) from ${verification} where ${goodOf}) < ${linksMax} returning 1)`
          + ` select u."email" from u, made`,
        [user, crypto.randomUUID(), identifiersOf(token)[kinds.indexOf(kind)]]
      )
      return made === undefined ? null : { token, email: made.email }
    },
    drop: async (token) => {
      await store.query(`delete from ${verification} where "identifier" = any($1)`, [identifiersOf(token)])
    },
    count: async (user) => {
      const [row] = await store.query<{ readonly count: number }>(
        `select count(*)::int as count from ${verification} where ${goodOf}`,
        [user]
      )
      return row?.count ?? 0
    },
    isGood: async (token) =>
      tokenForm.test(token)
      && (await store.query(`select 1 from ${verification} where "identifier" = any($1) and "expiresAt" > now()`, [
          identifiersOf(token)
        ])).length > 0,
    await: async (user) => {
      // Longer than any account waits: what has expired is swept away.
      await store.query(
        `insert into ${verification} ("id", "identifier", "value", "expiresAt") values ($1, $2, $3, now() + interval '100 years')`,
        [crypto.randomUUID(), waiting, user]
      )
    },
    awaited: async (users) => {
      const found = await store.query<{ readonly value: string }>(
        `select distinct v."value" from ${verification} v where v."identifier" = $1 and v."value" = any($2)`
          + ` and not exists (select 1 from ${
            table("account")
          } a where a."userId" = v."value" and a."providerId" <> 'credential')`,
        [waiting, users]
      )
      return found.map(({ value }) => value)
    },
    use: (token, hashed, newId) =>
      store.transaction(async ({ query }) => {
        const identifiers = identifiersOf(token)
        const [link] = await query<{ readonly identifier: string; readonly value: string }>(
          `select "identifier", "value" from ${verification} where "identifier" = any($1) and "expiresAt" > now()`,
          [identifiers]
        )
        if (link === undefined) return null
        const { identifier, value: user } = link
        // Locked in the order in which every change of an account locks: password, account, links.
        await query(
          `select 1 from ${table("account")} where "userId" = $1 and "providerId" = 'credential' for update`,
          [user]
        )
        const [row] = await query(`select 1 from ${users} u where "id" = $1 and not ${barred("u")} for update`, [
          user
        ])
        const used = await query(`delete from ${verification} where "identifier" = any($1) returning 1`, [identifiers])
        if (row === undefined || used.length === 0) return null
        if (!await storePassword({ query }, table, user, hashed, newId)) return null
        // The mail reached its reader.
        await query(`update ${users} set "emailVerified" = true, "updatedAt" = now() where "id" = $1`, [user])
        return { user, kind: kinds.find((kind) => identifier.startsWith(`link-${kind}-`)) ?? "reset" }
      })
  }
}
