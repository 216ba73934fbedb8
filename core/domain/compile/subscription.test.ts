import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { where } from "../access/where.ts"
import { defineConfig } from "../declare/config.ts"
import { f } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { subscription } from "../event/subscription.ts"
import { defineFunction } from "../function/declaration.ts"
import { compileModels } from "./compile.ts"

const id = f.integer().bits(64).readOnly().dbDefault()
const orders = defineResource("orders", {
  primaryKey: "id",
  tenant: "tenant",
  fields: { id, tenant: f.text(), status: f.enum(["draft", "paid"]) },
  events: { created: true, big: { on: ["create"] } }
})
const notes = defineResource("notes", { primaryKey: "id", fields: { id, text: f.text() }, events: { updated: true } })
const quiet = defineResource("quiet", { primaryKey: "id", fields: { id } })

const url = "https://hooks.example.com/x"
const run = (): void => {}

const compile = (...subscriptions: readonly unknown[]) =>
  compileModels({
    ...defineConfig({
      resources: [orders, notes, quiet],
      functions: { take: defineFunction({ roles: ["sales"], run }), open: defineFunction({ roles: true, run }) },
      roles: { sales: ["orders.read"] }
    }),
    subscriptions: subscriptions as never
  })

const refusals = (...subscriptions: readonly unknown[]): readonly string[] =>
  Result.match(compile(...subscriptions), {
    onFailure: (all) => all.map(({ fix, message }) => `${message} → ${fix}`),
    onSuccess: () => []
  })

const one = (options: { readonly [option: string]: unknown }): readonly string[] =>
  refusals(subscription("s", { events: ["orders.created"], url, ...options } as never))

describe("subscriptions that hold", () => {
  it.each<[string, unknown]>([
    ["a URL", subscription("a", { events: ["orders.created"], url })],
    ["every event of a resource", subscription("a", { events: ["orders.*", "notes.updated"], url })],
    ["all events", subscription("a", { events: ["*"], url: "http://localhost:3000/hook" })],
    ["code", subscription("a-b_1", { events: ["*"], run })],
    ["a function", subscription("a", { events: ["*"], function: "open" })],
    ["a function of a role", subscription("a", { events: ["*"], function: "take", as: { roles: ["sales"] } })],
    ["an empty URL that is not enabled", subscription("a", { events: ["*"], url: "", enabled: false })],
    ["a condition", subscription("a", { events: ["orders.*"], when: where`status = "paid"`, url, tenant: 1 })]
  ])("%s", (_, each) => {
    expect(refusals(each)).toEqual([])
  })

  it("know what they take", () => {
    const compiled = Result.getOrThrow(
      compile(
        subscription("a", {
          events: ["orders.big", "notes.*"],
          when: "id > 5",
          url,
          payload: "thin",
          headers: { "X-A": "1" }
        })
      )
    )
    expect(compiled.subscriptions[0]).toMatchObject({
      id: "a",
      thin: true,
      ordered: false,
      enabled: true,
      tenant: null,
      headers: { "x-a": "1" },
      reader: { of: "service" },
      target: { of: "url", url, anyAddress: true }
    })
    expect([...compiled.subscriptions[0]!.events]).toEqual([["orders", new Set(["big"])], ["notes", null]])
    expect([...compiled.subscriptions[0]!.when.keys()]).toEqual(["orders", "notes"])
  })
})

describe("subscriptions that cannot be", () => {
  it.each<[string, { readonly [option: string]: unknown }, string]>([
    [
      "an event that no resource declares",
      { events: ["orders.updated"] },
      "No resource declares the event \"orders.updated\""
    ],
    ["a resource without events", { events: ["quiet.*"] }, "No resource declares the event \"quiet.*\""],
    ["a resource that is not there", { events: ["order.created"] }, "Did you mean \"orders.created\"?"],
    ["no events", { events: [] }, "events is []"],
    ["a condition on a field that is not there", { when: "total > 1" }, "when, for orders does not check"],
    ["a condition through a relation", { when: "has(lines)" }, "No condition can go through relations here."],
    [
      "a condition that fits one resource only",
      { events: ["*"], when: "status = \"paid\"" },
      "when, for notes does not check"
    ],
    ["an empty URL", { url: "" }, "It is enabled, and its url is empty."],
    ["an address that is none", { url: "hooks.example.com" }, "not an http(s) URL"],
    ["a URL of another sort", { url: "ftp://example.com" }, "not an http(s) URL"],
    ["a URL with a password", { url: "https://a:b@example.com/" }, "url has a name or password"],
    ["two targets", { run }, "It has url and run."],
    ["no target", { url: undefined }, "It has no target."],
    ["a function that is not there", { url: undefined, function: "tak" }, "Did you mean \"take\"?"],
    ["a function that may not be called", { url: undefined, function: "take" }, "without roles, which may not call it"],
    ["a role that is not declared", { as: { roles: ["sale"] } }, "Did you mean \"sales\"?"],
    ["no roles", { as: { roles: [] } }, "as is {\"roles\":[]}"],
    ["a tenant of a resource without one", { events: ["notes.updated"], tenant: 1 }, "\"notes\" has none"],
    ["a secret that is none", { secret: "hush" }, "secret cannot be used"],
    ["a header of the service", { headers: { "Webhook-Id": "1" } }, "which the service sets itself"],
    ["a header that cannot be sent", { headers: { "x-a": "a\r\nb" } }, "has a value that cannot be sent"],
    [
      "a secret for code",
      { url: undefined, run, secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
      "secret stands beside run"
    ],
    ["an option that is not there", { evnts: [] }, "There is no property evnts."],
    ["a payload that is none", { payload: "tiny" }, "payload is \"tiny\""]
  ])("%s", (_, options, text) => {
    const refused = one(options)
    expect(
      refused.some((line) => line.startsWith("The subscription \"s\": ") && line.includes(text)),
      refused.join("\n")
    ).toBe(true)
  })

  it("without a proper name, or twice", () => {
    expect(refusals(subscription("a b", { events: ["*"], url }))).toHaveLength(1)
    expect(refusals("x", null)).toHaveLength(2)
    expect(refusals(subscription("a", { events: ["*"], url }), subscription("a", { events: ["*"], url })))
      .toEqual(["The subscription \"a\": There are two of this name. → Rename one of them."])
  })

  it("never say a secret", () => {
    expect(one({ secret: "whsec_hush", url: "https://me:hush@example.com/" }).join()).not.toContain("hush")
  })
})
