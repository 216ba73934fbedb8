// What a read asks of the database: only columns that the caller may read, and those the answer is made with (key, version, soft delete, sort keys).
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { compileOrThrow, makeService } from "../../composition/create-admin.ts"
import { makeAccessResolver } from "../../core/domain/access/resolve.ts"
import type { PagePlan } from "../../core/domain/read/plan.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { testAuthenticator, testSecret, tokenOf } from "../support/composed.ts"
import { callers, roles, shopConfig } from "../support/shop.ts"
import type { Role } from "../support/shop.ts"

describe("columns of a read", () => {
  const compiled = compileOrThrow(shopConfig())
  const fake = makeFakeRecords()
  const plans: PagePlan[] = []
  const fetch = makeFetch(makeService({
    compiled,
    records: {
      ...fake.service,
      page: (plan) =>
        Effect.suspend(() => {
          plans.push(plan)
          return fake.service.page(plan)
        })
    },
    authenticator: testAuthenticator,
    secret: testSecret,
    publicUrl: "http://service.test"
  }))
  const resolver = makeAccessResolver(compiled.models, compiled.rules, compiled.defaults)

  it.each(Object.keys(roles) as readonly Role[])("are the readable ones for %s", async (role) => {
    for (const model of compiled.models.values()) {
      const access = resolver.resolve({ id: callers[role].id, roles: [role], tenant: "1" }, model.name)
      if (access === null || access.decisions.read.of === "deny") continue
      const used = [...model.key, model.version, model.softDelete].filter((field) => field !== null)
      const allowed = new Set([...access.restricted.fields, ...used])
      const first = access.restricted.fields[0]!.name
      for (const rest of ["", ":seek?position=3", `?fields=${first}`, `/${model.key.map(() => "1").join(",")}`]) {
        plans.length = 0
        const request = new Request(`http://service.test/api/v1/${model.name}${rest}`, {
          headers: { authorization: `Bearer ${tokenOf(callers[role])}` }
        })
        await fetch(request)
        // A rule that asks for the record gets all of it.
        const whole = access.decisions.update.of === "record"
        for (const { shape } of plans) {
          const names = shape.columns.filter((field) => !allowed.has(field)).map(({ name }) => name)
          if (!whole) expect(names, `${model.name}${rest}`).toEqual([])
          if (rest.startsWith("?fields") && !whole && model.version !== null) {
            expect(shape.columns.length).toBeLessThanOrEqual(used.length + 1)
          }
        }
      }
    }
  })
})
