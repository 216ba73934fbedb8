// A form is there while a visitor may send it: rules decide that at each request, and not once at the start.
import * as Effect from "effect/Effect"
import { expect, it } from "vitest"
import { accessOf } from "../../../test/support/access.ts"
import { makeModel } from "../../../test/support/model.ts"
import type { Access } from "../../domain/access/access.ts"
import { visitor } from "../../domain/access/caller.ts"
import type { Form } from "../../domain/form/form.ts"
import type { Core } from "../ground/core.ts"
import { type FormParts, makeForms } from "./form.ts"

it("a form that a rule no longer allows, whose tenant is missing, or of no visible resource does not exist", async () => {
  const model = makeModel({ fields: [{ name: "id", readOnly: true }, { name: "name" }] })
  const open = accessOf(model, visitor(null), { roles: null, defaultAccess: "allow" })
  const form = { name: "contact", model, fields: ["name"], title: null } as unknown as Form
  let access: Access | null = open
  const parts: Partial<FormParts> = {
    forms: new Map([["contact", form]]),
    settings: { difficulty: 8, tenant: null },
    resolver: { resolve: () => access },
    seal: { seal: (_: string, text: string) => text } as FormParts["seal"]
  }
  const { challenge, submit } = makeForms({} as Core, parts as FormParts)
  expect((await Effect.runPromise(challenge("contact"))).status).toBe(200)
  const deny = { of: "deny" } as const
  for (
    const gone of [null, { ...open, tenantMissing: true }, { ...open, decisions: { ...open.decisions, create: deny } }]
  ) {
    access = gone
    const refusals = [
      await Effect.runPromise(Effect.flip(challenge("contact"))),
      await Effect.runPromise(Effect.flip(submit("contact", "192.0.2.1", new Uint8Array())))
    ]
    expect(refusals.map(({ slug }) => slug)).toEqual(["not-found", "not-found"])
  }
})
