// Runs the contract of the accounts port on the fake, and on the auth store in PostgreSQL.
import * as Effect from "effect/Effect"
import { accountsOf } from "../../adapters/auth/accounts.ts"
import { openStore } from "../auth/store.ts"
import { makeFakeAccounts } from "../fakes/accounts.ts"
import { accountsContract } from "./accounts.ts"

accountsContract(
  "in memory",
  Effect.sync(() => {
    const [fake, lost] = [makeFakeAccounts(7), makeFakeAccounts(7)]
    lost.lose(true)
    return {
      accounts: fake.service,
      other: fake.service,
      set: (id, fields) => Effect.sync(() => fake.set(id, fields)),
      remove: (id) => Effect.sync(() => fake.remove(id)),
      lost: lost.service
    }
  })
)

/** The columns of an account by its fields. */
const columns = ["name", "role", "banned", "banExpires"] as const

accountsContract(
  "PostgreSQL, two instances",
  Effect.acquireRelease(
    Effect.promise(() => openStore()),
    (store) => Effect.promise(() => store[Symbol.asyncDispose]())
  ).pipe(Effect.map((store) => {
    const away = {
      connect: () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })),
      end: () => Promise.resolve()
    }
    const run = (text: string, values: readonly unknown[]) =>
      Effect.asVoid(Effect.promise(() => store.pool.query(text, [...values])))
    return {
      accounts: accountsOf(store.instance(), 7),
      other: accountsOf(store.instance(), "7"),
      set: (id, fields) => {
        const given = columns.filter((column) => fields[column] !== undefined)
        const change = given.map((column, index) => `"${column}" = $${index + 2}`).join(", ")
        return Effect.andThen(
          run(
            `insert into auth."user" ("id", "name", "email", "emailVerified", "role") values ($1, '', $1 || '@example.org', false, 'user')`
              + ` on conflict do nothing`,
            [id]
          ),
          given.length === 0
            ? Effect.void
            : run(`update auth."user" set ${change} where "id" = $1`, [id, ...given.map((column) => fields[column])])
        )
      },
      remove: (id) => run(`delete from auth."user" where "id" = $1`, [id]),
      lost: accountsOf(store.instance({ database: away }), 7)
    }
  }))
)
