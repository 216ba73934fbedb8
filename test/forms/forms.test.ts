/** Public forms over HTTP, on the example shop's form `contact`: what a form asks for, sending it, and everything that is refused. */

import { Validator } from "@seriousme/openapi-schema-validator"
import { createHash } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { solver } from "../../web/client/solve.ts"
import { admin, startShop } from "../docs/shop.ts"
import type { Answer, TestService } from "../support/composed.ts"

let service: TestService
beforeAll(async () => {
  service = await startShop("")
})
afterAll(() => service.close())

const values = { name: "Eva", email: "eva@example.org", message: "Do you still have the lamp?" }

const challenge = async (form = "contact") => {
  const { json, status } = await service.get(null, `/api/forms/${form}:challenge`)
  expect(status).toBe(200)
  return json as unknown as { readonly challenge: string; readonly difficulty: number; readonly expires: string }
}

const solve = async (form = "contact") => {
  const given = await challenge(form)
  return { challenge: given.challenge, solution: solver(given.challenge, given.difficulty)(2 ** 31)! }
}

const submit = async (
  body: unknown,
  headers: { readonly [name: string]: string } = {}
): Promise<Answer> => service.call(null, "POST", "/api/forms/contact", { body, headers })

describe("a form", () => {
  it("says what it asks for, and nothing else of its resource", async () => {
    const { json, status } = await service.get(null, "/api/forms/contact")
    expect(status).toBe(200)
    expect(json).toMatchObject({
      name: "contact",
      title: "Write to us",
      fields: ["name", "email", "topic", "message"],
      thanks: "Thank you. We answer within two days.",
      resource: { name: "messages", primaryKey: [], relations: [], version: null },
      view: { label: { singular: "Message" }, columns: [], filters: [], nav: null }
    })
    const fields = json["resource"]!["fields"] as unknown as ReadonlyArray<{ readonly name: string }>
    expect(fields.map(({ name }) => name)).toEqual(["name", "email", "topic", "message"])
    expect(fields[2]).toMatchObject({ default: { value: "other" }, values: ["order", "product", "other"] })
    expect(JSON.stringify(json)).not.toMatch(/done|received_at|updated_at|tenant_id/)
  })

  it("exists under its name only", async () => {
    for (
      const path of [
        "/api/forms/nothing",
        "/api/forms/nothing:challenge",
        "/api/forms",
        "/api/forms/",
        "/api/forms/contact/x"
      ]
    ) {
      expect((await service.get(null, path)).status, path).toBe(404)
    }
    const wrong = await service.call(null, "PATCH", "/api/forms/contact")
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"])
    expect((await service.get(null, "/api/forms/contact?x=1")).status).toBe(400)
  })

  it("is sent once its challenge is solved, by nobody, into the configured tenant", async () => {
    const proof = await solve()
    expect(proof.challenge).toMatch(/^[\w-]{40,200}$/)
    const digest = createHash("sha256").update(`${proof.challenge}.${proof.solution}`).digest()
    expect(digest[0]).toBe(0)
    const sent = await submit({ values, proof })
    expect([sent.status, sent.text]).toEqual([204, ""])
    const { json } = await service.get(admin, "/api/v1/messages?order_by=id desc&page_size=1")
    expect(json["items"]![0]).toMatchObject({ ...values, topic: "other", done: false })
  })

  it("tells of all fields that it refuses, and uses up the challenge", async () => {
    const proof = await solve()
    const refused = await submit({ values: { name: "", email: "nobody", done: true, topic: "x" }, proof })
    expect(refused.status).toBe(400)
    expect(refused.json["type"]).toBe("urn:service:problem:invalid-record")
    const errors = refused.json["errors"] as unknown as ReadonlyArray<{ readonly field: string; readonly code: string }>
    expect(errors.map(({ code, field }) => [field, code])).toEqual([
      ["done", "unknown"],
      ["topic", "enum"],
      ["message", "required"]
    ])
    const again = await submit({ values, proof })
    expect([again.status, again.json["type"]]).toEqual([400, "urn:service:problem:bot-check-failed"])
  })

  it("takes at most 256 KiB of JSON", async () => {
    const proof = { challenge: "x", solution: "1" }
    expect((await submit({ values: { ...values, message: "x".repeat(300_000) }, proof })).status).toBe(413)
    expect((await submit("{")).status).toBe(400)
    expect((await submit("x=1", { "content-type": "application/x-www-form-urlencoded" })).status).toBe(415)
    expect((await submit({ values, proof, more: 1 })).status).toBe(400)
  })
})

it("stands in the OpenAPI document of every caller, open, and with what a visitor may send alone", async () => {
  for (const caller of [admin, { id: "x", roles: ["viewer"], tenant: "1" }]) {
    const { json } = await service.get(caller, "/api/openapi.json")
    expect(await new Validator().validate(structuredClone(json) as never)).toEqual({ valid: true })
    const post = json["paths"]!["/api/forms/contact"]!["post"]!
    expect(post["security"]).toEqual([])
    const body =
      post["requestBody"]!["content"]!["application/json"]!["schema"]!["properties"]!["values"] as unknown as {
        readonly properties: object
        readonly required: readonly string[]
      }
    expect(Object.keys(body.properties)).toEqual(["name", "email", "topic", "message"])
    expect(body.required).toEqual(["name", "email", "message"])
    expect(json["paths"]!["/api/forms/contact:challenge"]!["get"]!["security"]).toEqual([])
  }
})

it("opens nothing else to visitors", async () => {
  for (const path of ["/api/v1/messages", "/api/v1/messages/1", "/api/meta", "/api/openapi.json"]) {
    expect((await service.get(null, path)).status, path).toBe(401)
  }
  // A credential that claims the role is one without it.
  const posing = { id: "eve", roles: ["anonymous"], tenant: "1" }
  expect((await service.call(posing, "POST", "/api/v1/messages", { body: values })).status).toBe(404)
  const { json } = await service.get(posing, "/api/meta")
  expect(json["user"]).toMatchObject({ roles: [] })
})
