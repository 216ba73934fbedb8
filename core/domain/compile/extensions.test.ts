/** Extensions keep what a configuration says, whatever form it has, and refuse nothing less. */

import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { app, type Loose, refusalLines, resource } from "../../../test/support/refusals.ts"
import { type Config, defineConfig } from "../declare/config.ts"
import { f } from "../declare/field.ts"
import { history } from "../declare/history.ts"
import { defineResource } from "../declare/resource.ts"
import { webhooks } from "../declare/webhooks.ts"
import { compileModels } from "./compile.ts"

const extensions: { readonly [name: string]: readonly unknown[] } = {
  webhooks: [webhooks()],
  log: [webhooks({ deliveryLog: true })],
  history: [history({ resources: ["a"] })],
  "webhooks, then history": [webhooks(), history({ resources: ["a"] })],
  "history, then webhooks": [history({ resources: ["a"] }), webhooks()]
}

const view = { label: { singular: "Thing", plural: "Things" }, columns: ["name"] }
const forRole = { ...view, name: "short", roles: ["editor"], columns: ["total"] }
const roles = { editor: ["a.read"] }

/** Each form that a member may have, with the views of `a` that it declares. */
const sound: { readonly [form: string]: Loose } = {
  "no views": {},
  "an object of views": { views: { a: view } },
  "an object with a list of views": { views: { a: [forRole, view] }, roles },
  "a list of views": { views: [{ _tag: "View", resource: "a", declaration: view }] },
  "an empty list": { views: [] },
  "an empty object": { views: {} },
  "roles of the options": { options: { roles } }
}

const broken: { readonly [form: string]: Loose } = {
  "views that are a number": { views: 7 },
  "views of an unknown resource": { views: { b: view } },
  "a list of no views": { views: [view] },
  "resources that are none": { resources: { a: resource("a", {}) } },
  "no resources": { resources: undefined },
  "a resource that is none": { resources: [...app({})["resources"] as readonly unknown[], 7] },
  "roles that are a list": { roles: ["editor"] },
  "options that are a list": { options: [] },
  "subscriptions that are none": { subscriptions: {} },
  "jobs that are none": { jobs: {} },
  "functions that are a list": { functions: [7] }
}

describe.each(Object.keys(extensions))("%s", (name) => {
  const extend = (more: Loose): Loose => app({ ...more, extends: extensions[name] })

  it.each(Object.keys(sound))("keeps %s", (form) => {
    const compiled = (config: Loose) => Result.getOrThrow(compileModels(config as unknown as Config))
    const viewsOf = (config: Loose) => compiled(config).views.filter(({ resource }) => resource === "a")
    const own = viewsOf(app(sound[form]!))
    expect(own.length).toBeGreaterThan(0)
    expect(viewsOf(extend(sound[form]!))).toEqual(own)
  })

  it.each(Object.keys(broken))("refuses %s", (form) => {
    const lines = refusalLines(app(broken[form]!))
    expect(lines.length).toBeGreaterThan(0)
    expect(refusalLines(extend(broken[form]!))).toEqual(expect.arrayContaining([...lines]))
  })
})

it("keeps a view of one's own for a resource that an extension adds", () => {
  const mine = { label: { singular: "Hook", plural: "Hooks" } }
  for (
    const views of [{ webhook_subscriptions: mine }, [{
      _tag: "View",
      resource: "webhook_subscriptions",
      declaration: mine
    }]]
  ) {
    const compiled = Result.getOrThrow(compileModels(app({ views, extends: [webhooks()] }) as unknown as Config))
    const labels = compiled.views.filter(({ resource }) => resource.startsWith("webhook_")).map(({ label }) =>
      label.plural
    )
    expect(labels.toSorted()).toEqual(["Hooks", "Webhook deliveries"])
  }
})

it("leaves search vectors out of versions, and rules of reading them", () => {
  const config = defineConfig({
    resources: [
      defineResource("a", {
        primaryKey: "id",
        fields: {
          id: f.integer(),
          name: f.text(),
          words: f.searchVector(),
          meta: f.json({ paths: { color: f.text().filterable() } })
        },
        access: { fields: { words: { read: ["editor"] }, name: { read: ["editor"] } } }
      })
    ],
    roles: { editor: ["a.read(id,words)"] },
    extends: [history({ resources: ["a"] })]
  })
  const { models } = Result.getOrThrow(compileModels(config as Config))
  const versions = models.get("a_history")!
  expect(models.get("a")!.vectors).toHaveLength(1)
  expect(versions.vectors).toBeUndefined()
  expect(versions.byName.has("words")).toBe(false)
  expect(versions.members!.map(({ name }) => name)).toEqual(["meta.color"])
})
