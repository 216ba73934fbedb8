/**
 * Seals what the auth store keeps with the first secret, so that the accepted ones can go, and says what is sealed with which. Each text is replaced only
 * where it is still as it was read, so it may run while people sign in.
 */

import type { AuthHost } from "./internals.ts"
import { hasLiveKeys, keepSeals } from "./kept-seals.ts"
import { type Cipher, renewPrivateKey } from "./rotation.ts"

/** How many texts are sealed with the first secret, with another accepted one, and with one that is not known. */
export interface SealedCounts {
  readonly first: number
  readonly accepted: number
  readonly none: number
}

/** What the store keeps sealed. `apiKeys`: until when keys are good that accepted secrets have sealed; null: there are none. */
export interface SealedAccounts {
  readonly signingKeys: SealedCounts
  readonly secondFactors: SealedCounts
  readonly apiKeys: string | null
}

/** Rows that are read at once. */
const pageRows = 500

/** Goes through a table's sealed column; with `write` what another accepted secret has sealed is sealed with the first one. */
const resealColumn = async (
  { internals: { store, table } }: AuthHost,
  name: string,
  column: string,
  renew: (sealed: string) => ReturnType<Cipher["renew"]>,
  write: boolean
): Promise<SealedCounts> => {
  const counts = { first: 0, accepted: 0, none: 0 }
  const [there] = await store.query<{ readonly there: boolean }>("select to_regclass($1) is not null as there", [
    table(name)
  ])
  if (there?.there !== true) return counts
  for (let after: string | undefined = ""; after !== undefined;) {
    const rows: ReadonlyArray<{ readonly id: string; readonly sealed: string }> = await store.query(
      `select "id", "${column}" as sealed from ${table(name)} where "id" > $1 order by "id" limit ${pageRows}`,
      [after]
    )
    for (const { id, sealed } of rows) {
      const { by, sealed: renewed } = await renew(sealed)
      const replaced = write && by === "accepted"
        ? await store.query(
          `update ${table(name)} set "${column}" = $3 where "id" = $1 and "${column}" = $2 returning 1`,
          [id, sealed, renewed]
        )
        : []
      counts[replaced.length === 1 ? "first" : by]++
    }
    after = rows.length < pageRows ? undefined : rows.at(-1)?.id
  }
  return counts
}

const sum = (a: SealedCounts, b: SealedCounts): SealedCounts => ({
  first: a.first + b.first,
  accepted: a.accepted + b.accepted,
  none: a.none + b.none
})

/** Counts what is sealed with which secret; with `write` all that an accepted secret opens is sealed with the first one before. */
export const resealAccounts = async (auth: AuthHost, write: boolean): Promise<SealedAccounts> => {
  const { cipher, sealer, store, table } = auth.internals
  const [secrets, codes] = [
    await resealColumn(auth, "twoFactor", "secret", cipher.renew, write),
    await resealColumn(auth, "twoFactor", "backupCodes", cipher.renew, write)
  ]
  if (write) await keepSeals(store, table, sealer.accepted)
  return {
    signingKeys: await resealColumn(auth, "jwks", "privateKey", (sealed) => renewPrivateKey(cipher, sealed), write),
    secondFactors: sum(secrets, codes),
    apiKeys: sealer.accepted.length === 0 ? null : await hasLiveKeys(store, table)
  }
}
