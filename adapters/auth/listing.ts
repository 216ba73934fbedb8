/**
 * The query of a listing of accounts, as better-auth gets it. It refuses what better-auth would answer by an empty list. It reads no account.
 */

import type { ListedAccount } from "../../core/domain/meta/account.ts"
import { type Problem, problem } from "../../core/domain/problem.ts"

/** What accounts can be listed by: their fields that admins see. */
const listedBy: { readonly [name in keyof Required<ListedAccount>]: true } = {
  id: true,
  name: true,
  email: true,
  emailVerified: true,
  image: true,
  role: true,
  banned: true,
  banReason: true,
  banExpires: true,
  createdAt: true,
  updatedAt: true,
  twoFactorEnabled: true
}

/** Most accounts in one answer. */
const listedMax = 500

/** The query of a listing of accounts. */
export interface AccountListing {
  /** As better-auth gets it. */
  readonly search: string
  /** Why it cannot be; null when only the database can tell. */
  readonly refusal: Problem | null
  /** What to answer when the database refused it. */
  readonly failed: Problem
}

/**
 * Reads the query of `/admin/list-users`. better-auth answers an empty list whenever the database refuses one. It repeats a limit only
 * after it read the accounts, so a limit is always given.
 */
export const readListing = (search: string): AccountListing => {
  const query = new URLSearchParams(search)
  const wrong = (parameter: string, message: string): Problem =>
    problem("invalid-parameter", message, { code: "VALIDATION_ERROR", errors: [{ parameter, message }] })
  const refuse = (names: readonly string[], fits: (value: string) => boolean, message: string): Problem | null => {
    const name = names.find((each) => !query.getAll(each).every(fits))
    return name === undefined ? null : wrong(name, message)
  }
  const refusal =
    refuse(["sortBy", "filterField"], (value) => Object.hasOwn(listedBy, value), "Accounts have no such field.")
      ?? refuse(["limit", "offset"], (value) => /^\d{1,9}$/.test(value), "The parameter must be a whole number.")
  if (Number(query.get("limit")) > listedMax) query.set("limit", String(listedMax))
  // What better-auth uses when none is given.
  if (Number(query.get("limit")) === 0) query.set("limit", "100")
  return {
    search: `?${query.toString()}`,
    refusal,
    failed: wrong(
      ["filterValue", "searchValue"].find((name) => query.has(name)) ?? "sortBy",
      "Accounts cannot be listed by this value."
    )
  }
}
