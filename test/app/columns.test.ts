// What a read asks of the database: only columns that the caller may read, and those the answer is made with (key, version, soft delete, sort keys).
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { makeAccessResolver } from "../../core/domain/access/resolve.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import type { PagePlan } from "../../core/domain/read/plan.ts"
import { makeFakeRecords } from "../fakes/records.ts"
import { cellsOf, testAuthenticator, testSecret, tokenOf } from "../support/composed.ts"
import { callers, roles, shop, shopConfig } from "../support/shop.ts"
import type { Role } from "../support/shop.ts"

/** What the record-level rules of the shop ask for. */
const asked = (model: Model, field: Field): boolean =>
  model.name === "orders" && (field.name === "status" || field.name === "owner_id")

describe("columns of a read", () => {
  const compiled = compileOrThrow(shopConfig())
  const fake = makeFakeRecords()
  for (const [resource, rows] of Object.entries(shop().rows)) {
    const model = compiled.models.get(resource)!
    fake.seed(model, rows.map((row) => cellsOf(model, row)))
  }
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
        const ask = () =>
          fetch(
            new Request(`http://service.test/api/v1/${model.name}${rest}`, {
              headers: { authorization: `Bearer ${tokenOf(callers[role])}` }
            })
          )
        // A rule that asks for the record gets all of it at first, and what it asked for from then on.
        await ask()
        plans.length = 0
        await ask()
        for (const { shape } of plans) {
          const names = shape.columns.filter((field) => !allowed.has(field) && !asked(model, field))
          expect(names.map(({ name }) => name), `${model.name}${rest}`).toEqual([])
          if (rest.startsWith("?fields")) {
            const most = used.length + 1 + model.fields.filter((field) => asked(model, field)).length
            expect(shape.columns.length).toBeLessThanOrEqual(most)
          }
        }
      }
    }
  })
})
