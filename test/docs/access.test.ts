/** The guide to access is true: its examples compile, and what it says about them is what the code decides. */

import * as Result from "effect/Result"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeAccessResolver, resolveAccess } from "../../core/domain/access/resolve.ts"
import { operations, type Where } from "../../core/domain/access/rules.ts"
import { type Compiled, compileModels } from "../../core/domain/compile/compile.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import { evaluate } from "../../core/domain/filter/evaluate.ts"
import { readFilter } from "../../core/domain/filter/read.ts"
import { relatedOf, type Way } from "../../core/domain/filter/tree.ts"
import { createExample } from "../../core/domain/meta/openapi-schema.ts"
import type { Field } from "../../core/domain/model/model.ts"
import { readCreate } from "../../core/domain/write/body.ts"
import { makeField } from "../support/model.ts"
import { examplesOf } from "./blocks.ts"

const root = new URL("../../", import.meta.url)
const guide = readFileSync(new URL("docs/guides/access.md", root), "utf8")
const blocks = examplesOf("docs/guides/access.md", "ts").map(({ text }) => text)
const at = (path: string): string => JSON.stringify(pathToFileURL(fileURLToPath(new URL(path, root))).href)

let folder = ""
const modules: { readonly [name: string]: unknown }[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "access-guide-"))
  // The domain's part of the package's entry, so that this runs without an adapter.
  const entry = join(folder, "entry.ts")
  writeFileSync(
    entry,
    `export { f, relation } from ${at("core/domain/declare/field.ts")}
export { defineResource } from ${at("core/domain/declare/resource.ts")}
export { defineConfig } from ${at("core/domain/declare/config.ts")}
export { defineRoles } from ${at("core/domain/declare/roles.ts")}
export { where } from ${at("core/domain/access/where.ts")}
`
  )
  for (const [i, code] of blocks.entries()) {
    const file = join(folder, `block-${i}.ts`)
    writeFileSync(file, code.replaceAll("\"resource-admin\"", JSON.stringify(pathToFileURL(entry).href)))
    modules.push(await import(pathToFileURL(file).href) as { readonly [name: string]: unknown })
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const compiled = (i: number): Compiled => {
  const result = compileModels(modules[i]!["default"] as Config)
  if (Result.isFailure(result)) throw new Error(JSON.stringify(result.failure, null, 2))
  return result.success
}

/** Rows of the table that follows a line with the text, without the head. */
const table = (after: string): string[][] => {
  const lines = guide.slice(guide.indexOf(after)).split("\n")
  const start = lines.findIndex((line) => line.startsWith("|")) + 2
  const rows: string[][] = []
  for (const line of lines.slice(start)) {
    if (!line.startsWith("|")) break
    rows.push(line.split("|").slice(1, -1).map((cell) => cell.trim()))
  }
  return rows
}

describe("the guide to access", () => {
  it("has examples that compile", () => {
    expect(blocks).toHaveLength(4)
    expect([...compiled(0).models.keys()]).toEqual(["orders", "customers"])
    expect([...compiled(1).models.keys()]).toEqual(["tickets"])
    expect([...compiled(3).models.keys()]).toEqual(["projects", "members", "tasks"])
  })

  it("says of the roles what is decided", () => {
    const { defaults, models, rules } = compiled(0)
    const rows = table("With the configuration above")
    expect(rows).toHaveLength(5)
    for (const [role = "", read, create, update, remove, readable = ""] of rows) {
      const access = resolveAccess(models.get("orders")!, rules.get("orders")!, {
        id: "u1",
        roles: [role],
        tenant: null
      }, defaults)
      const words = operations.map((operation) => {
        const decision = access.decisions[operation]
        if (decision.of === "filter") return operation === "delete" ? "some" : "own"
        return { allow: "all", deny: "none", record: "record" }[decision.of]
      })
      expect([role, ...words], role).toEqual([role, read, create, update, remove])
      expect(access.restricted.fields.map((field) => field.name).join(", "), role).toBe(readable)
      if (create !== "none") expect(Result.isSuccess(readCreate(access, createExample(access))), role).toBe(true)
    }
  })

  it("says of the rules what is decided", () => {
    const { defaults, models, rules } = compiled(1)
    const { resolve } = makeAccessResolver(models, rules, defaults)
    const access = (...roles: readonly string[]) => resolve({ id: "u1", roles, tenant: "t" }, "tickets")!
    expect(access("lead").decisions.read.of).toBe("allow")
    expect(access("agent").decisions.read.of).toBe("filter")
    expect(access("agent").decisions.create.of).toBe("allow")
    expect(access("other").decisions.create.of).toBe("deny")
    const ticket = { id: "1", assignee: null, team: "a", state: "closed", locked: true }
    for (const [role, decided] of [["lead", "allow"], ["agent", "deny"]] as const) {
      const { update } = access(role).decisions
      expect(update.of === "record" && update.decide(ticket).of).toBe(decided)
    }
    expect(access("lead").decisions.delete.of).toBe("filter")
    expect(access("lead").fieldWritable.get("team")!(ticket)).toBe(false)
    expect(access("lead").fieldWritable.get("team")!({ ...ticket, state: "open" })).toBe(true)
  })

  it("says of defaults what is decided", () => {
    const { models, roles } = compiled(1)
    const { customers } = { customers: compiled(0).models.get("customers")! }
    expect(roles).toBeNull()
    expect(models.size).toBe(1)
    const rows = table("`defaultAccess` overrides that")
    expect(rows).toHaveLength(4)
    for (const [declared = "", defaults = "", answer = ""] of rows) {
      for (const withRoles of declared === "any" ? [true, false] : [declared === "yes"]) {
        for (const defaultAccess of ["allow", "deny", null] as const) {
          if (!defaults.includes(defaultAccess ?? "not given")) continue
          const decide = (role: string) =>
            resolveAccess(customers, compiled(0).rules.get("customers")!, { id: "u1", roles: [role], tenant: null }, {
              roles: withRoles ? compiled(0).roles : null,
              defaultAccess
            }).decisions.update.of
          expect(decide("nobody")).toBe(answer === "allowed" ? "allow" : "deny")
          expect(decide("sales")).toBe(answer === "denied" ? "deny" : "allow")
        }
      }
    }
  })

  it("shows members what they are members of", () => {
    const { defaults, models, rules } = compiled(3)
    const caller = { id: "ann", roles: [], tenant: "1" }
    const { resolve } = makeAccessResolver(models, rules, defaults)
    const [of] = relatedOf(resolve(caller, "projects")!.rows)
    const members = of!.way.model
    const cell = (values: { readonly [column: string]: string }) => (field: Field) => values[field.column] ?? null
    const stored = [["1", "ann", "1"], ["2", "bob", "1"], ["2", "ann", "2"]] as const
    const related = (way: Way, value: string) =>
      way.model !== members ?
        [] :
        stored.flatMap(([project_id, user_id, tenant_id]) =>
          project_id === value ? [cell({ project_id, user_id, tenant_id, level: "reader" })] : []
        )
    const sees = (id: string) =>
      evaluate(
        resolve(caller, "projects")!.rows,
        cell({ id, owner_id: "olga", tenant_id: "1" }),
        { caller, now: 0n, params: [] },
        related
      )
    expect(["1", "2", "3"].map(sees)).toEqual([true, false, false])
  })

  it("has filters that check", () => {
    const names = new Map(["region", "owner_id"].map((name, i) => [name, makeField({ name, optional: true }, i)]))
    for (const name of ["inRegions", "built", "mine"]) {
      const { text } = modules[2]![name] as Where
      expect(Result.isSuccess(readFilter(text, { names, searched: [], caller: true })), text).toBe(true)
    }
  })
})
