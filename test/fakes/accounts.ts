/** The port to accounts in memory: the same contract, in one process. */

import * as Effect from "effect/Effect"
import { isHome, rolesNow } from "../../core/domain/account/authority.ts"
import { shownName } from "../../core/domain/account/name.ts"
import type { AccountsService } from "../../core/ports/accounts.ts"
import { RecordsError } from "../../core/ports/records.ts"

/** An account as the fake keeps it. */
export interface FakeAccount {
  readonly name: string
  /** Comma-separated. */
  readonly role: string
  readonly banned: boolean
  /** When a ban ends; null: never. */
  readonly banExpires: Date | null
}

export interface FakeAccounts {
  readonly service: AccountsService
  /** Makes an account, or changes one. */
  readonly set: (id: string, account: Partial<FakeAccount>) => void
  readonly remove: (id: string) => void
  /** From now on, or no longer, the store is away. */
  readonly lose: (away: boolean) => void
}

const fresh: FakeAccount = { name: "", role: "user", banned: false, banExpires: null }

/** `home`: the tenant that the accounts work in. */
export const makeFakeAccounts = (home?: string | number): FakeAccounts => {
  const accounts = new Map<string, FakeAccount>()
  let lost = false
  const asked = <A>(answer: () => A): Effect.Effect<A, RecordsError> =>
    Effect.suspend(() =>
      lost ? Effect.fail(new RecordsError({ reason: { _tag: "Unavailable" } })) : Effect.sync(answer)
    )
  const isBarred = ({ banned, banExpires }: FakeAccount): boolean =>
    banned && (banExpires === null || banExpires.getTime() > Date.now())
  return {
    set: (id, account) => void accounts.set(id, { ...fresh, ...accounts.get(id), ...account }),
    remove: (id) => void accounts.delete(id),
    lose: (away) => {
      lost = away
    },
    service: {
      namesOf: (ids) =>
        asked(() =>
          new Map(ids.flatMap((id) => {
            const account = accounts.get(id)
            const shown = account === undefined ? null : shownName(account.name)
            return shown === null ? [] : [[id, shown] as const]
          }))
        ),
      rolesOf: (id, tenant) =>
        isHome(home, tenant)
          ? asked(() => {
            const account = accounts.get(id)
            return account === undefined ? null : rolesNow({ role: account.role, barred: isBarred(account) })
          })
          : Effect.succeed("elsewhere"),
      needsAdmin: asked(() => accounts.size === 0)
    }
  }
}
