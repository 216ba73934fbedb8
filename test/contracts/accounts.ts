/** The contract of the port to accounts, one suite for every implementation. How accounts are changed is no part of the port: the harness does it. */

import { expect, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { AccountsService } from "../../core/ports/accounts.ts"
import { RecordsError } from "../../core/ports/records.ts"

/** Fields of an account; what is left out stays. */
export interface AccountFields {
  readonly name?: string
  /** Comma-separated. */
  readonly role?: string
  readonly banned?: boolean
  readonly banExpires?: Date | null
}

export interface AccountsHarness {
  /** An instance whose accounts work in the tenant 7. */
  readonly accounts: AccountsService
  /** Another one on the same store. */
  readonly other: AccountsService
  /** Makes an account, or changes it. */
  readonly set: (id: string, fields: AccountFields) => Effect.Effect<void>
  readonly remove: (id: string) => Effect.Effect<void>
  /** The same where the store is away. */
  readonly lost: AccountsService
}

class Harness extends Context.Service<Harness, AccountsHarness>()("test/contracts/accounts/Harness") {}

const hostile = ["", "nobody", "'; drop table x --", "' or true --", "%", "constructor", "__proto__"]

/** Runs the suite. `make` gives a store without accounts. */
export const accountsContract = (name: string, make: Effect.Effect<AccountsHarness, never, Scope.Scope>): void =>
  layer(Layer.effect(Harness, make), { excludeTestServices: true })(`accounts: ${name}`, (it) => {
    const rolesOf = (id: string, tenant: string | null = null) =>
      Effect.flatMap(Harness, ({ accounts }) => accounts.rolesOf(id, tenant))

    it.effect("needs an admin until there is an account, in every instance", () =>
      Effect.gen(function*() {
        const { accounts, other, set } = yield* make
        expect(yield* Effect.all([accounts.needsAdmin, other.needsAdmin])).toEqual([true, true])
        yield* set("first", { role: "admin" })
        for (let round = 0; round < 2; round++) {
          expect(yield* Effect.all([accounts.needsAdmin, other.needsAdmin])).toEqual([false, false])
        }
      }))

    it.effect("gives the roles of an account, each once and in their order", () =>
      Effect.gen(function*() {
        const { set } = yield* Harness
        for (
          const [role, roles] of [
            ["sales", ["sales"]],
            ["sales,finance", ["sales", "finance"]],
            ["finance, sales,finance", ["finance", "sales"]],
            ["", null],
            [" ,", null]
          ] as const
        ) {
          yield* set("roles", { role })
          expect(yield* rolesOf("roles"), role).toEqual(roles)
        }
      }))

    it.effect("gives no roles to whoever is not there, and to nobody by a text that means more than itself", () =>
      Effect.gen(function*() {
        const { set } = yield* Harness
        yield* set("there", { role: "admin" })
        for (const id of [...hostile, "THERE", "there ", "ther_"]) expect(yield* rolesOf(id), id).toBeNull()
      }))

    it.effect("follows every change at once, in every instance", () =>
      Effect.gen(function*() {
        const { accounts, other, remove, set } = yield* Harness
        const both = () => Effect.all([accounts.rolesOf("changing", "7"), other.rolesOf("changing", "7")])
        const later = new Date(Date.now() + 3_600_000)
        const before = new Date(Date.now() - 1_000)
        yield* set("changing", { role: "sales" })
        for (
          const [fields, roles] of [
            [{}, ["sales"]],
            [{ banned: true }, null],
            [{ banned: true, banExpires: later }, null],
            // A ban that has run out is none.
            [{ banned: true, banExpires: before }, ["sales"]],
            [{ banned: false, banExpires: null }, ["sales"]],
            // The end of a ban that was lifted bans nobody.
            [{ banned: false, banExpires: later }, ["sales"]],
            [{ role: "finance" }, ["finance"]]
          ] as const
        ) {
          yield* set("changing", fields)
          expect(yield* both(), JSON.stringify(fields)).toEqual([roles, roles])
        }
        yield* remove("changing")
        expect(yield* both()).toEqual([null, null])
      }))

    it.effect("knows its own tenant alone, and tells nothing of people in another one", () =>
      Effect.gen(function*() {
        const { set } = yield* Harness
        yield* set("here", { role: "sales" })
        yield* set("banned", { banned: true })
        expect(yield* rolesOf("here", "7")).toEqual(["sales"])
        expect(yield* rolesOf("here", null)).toEqual(["sales"])
        expect(yield* rolesOf("banned", "7")).toBeNull()
        for (const tenant of ["8", "07", "7 ", "", "' or true --"]) {
          for (const id of ["here", "banned", "nobody"]) expect(yield* rolesOf(id, tenant), tenant).toBe("elsewhere")
        }
      }))

    it.effect("gives the names that others may read, of those who have one", () =>
      Effect.gen(function*() {
        const { accounts, set } = yield* Harness
        yield* set("ann", { name: "Ann Lee" })
        yield* set("odd", { name: " B\u202eob\n\u200b " })
        yield* set("mail", { name: "carl@example.org" })
        yield* set("none", { name: " " })
        yield* set("gone", { name: "Dora", banned: true })
        const ids = ["ann", "odd", "mail", "none", "gone", "ann", ...hostile]
        expect(yield* accounts.namesOf(ids)).toEqual(new Map([["ann", "Ann Lee"], ["odd", "B ob"], ["gone", "Dora"]]))
        expect(yield* accounts.namesOf([])).toEqual(new Map())
        expect(yield* accounts.namesOf(hostile)).toEqual(new Map())
      }))

    it.effect("fails where the store is away, and says that it is away", () =>
      Effect.gen(function*() {
        const { lost, set } = yield* Harness
        yield* set("known", { name: "Known" })
        const failures = yield* Effect.all([
          Effect.flip(lost.needsAdmin),
          Effect.flip(lost.rolesOf("known", "7")),
          Effect.flip(lost.namesOf(["known"]))
        ])
        for (const failure of failures) {
          expect(failure).toBeInstanceOf(RecordsError)
          expect(failure.reason._tag).toBe("Unavailable")
        }
      }))
  })
