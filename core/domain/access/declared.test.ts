import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { compileModels } from "../compile/compile.ts"
import { defineConfig } from "../declare/config.ts"
import { f, relation } from "../declare/field.ts"
import { defineResource } from "../declare/resource.ts"
import { readFilter } from "../filter/read.ts"
import { type FilterTree, goesThrough, relatedOf } from "../filter/tree.ts"
import type { Caller } from "./caller.ts"
import { declaredScope } from "./declared.ts"
import { makeAccessResolver, resolveAccess } from "./resolve.ts"
import type { RuleFunction } from "./rules.ts"
import { where } from "./where.ts"

type Rule = boolean | ReturnType<typeof where> | RuleFunction
type Rules = { readonly [operation: string]: Rule }

/** Projects with members, each of which has a rule that looks at the other. */
const config = (projects: Rules, more: object = {}, members: Rules = {}) =>
  defineConfig({
    resources: [
      defineResource("projects", {
        primaryKey: "id",
        tenant: f.integer().column("tenant_id"),
        fields: { id: f.integer(), name: f.text().searched(), secret: f.text().optional() },
        access: projects as never,
        ...more
      }),
      defineResource("members", {
        primaryKey: "id",
        tenant: f.integer().column("tenant_id"),
        softDelete: "left_at",
        fields: {
          id: f.integer(),
          project_id: relation("projects"),
          user_id: f.text(),
          level: f.enum(["reader", "editor"]),
          left_at: f.timestamp().optional()
        },
        access: { read: where`project.members.user_id = caller.id`, ...members } as never
      })
    ]
  })

const compiled = (...parts: Parameters<typeof config>) => Result.getOrThrow(compileModels(config(...parts)))
const refusals = (...parts: Parameters<typeof config>): readonly string[] => {
  const result = compileModels(config(...parts))
  return Result.isSuccess(result)
    ? []
    : result.failure.map(({ fix, message, resource }) => `${resource}: ${message} → ${fix}`)
}
const ann: Caller = { id: "ann", roles: [], tenant: "1" }
const accessTo = (resource: string, ...parts: Parameters<typeof config>) => {
  const { defaults, models, rules } = compiled(...parts)
  return resolveAccess(models.get(resource)!, rules.get(resource)!, ann, defaults)
}

describe("rules through relations", () => {
  it("are resolved against the declared target: its tenant and soft delete, and none of its rules", () => {
    const { rows } = accessTo("projects", { read: where`has(members, "user_id = caller.id")` })
    const [related, ...others] = relatedOf(rows)
    expect(others).toEqual([])
    const asked = (tree: FilterTree): readonly string[] =>
      tree.op === "and" ? tree.items.flatMap(asked) : tree.op === "compare" || tree.op === "null"
        ? [`${tree.op} ${tree.field.column}`]
        : [tree.op]
    expect(asked(related!.way.rows)).toEqual(["compare tenant_id", "null left_at"])
    expect(related!.item).toMatchObject({ op: "compare", is: "=", value: { of: "caller", value: "id" } })
  })

  it("come to an end where two resources look at each other, and are the same object each time", () => {
    const looking = { read: where`has(members, "user_id = caller.id")` }
    const { defaults, models, rules } = compiled(looking)
    const rows = (resource: string) => resolveAccess(models.get(resource)!, rules.get(resource)!, ann, defaults).rows
    for (const resource of ["projects", "members"]) {
      expect(relatedOf(rows(resource)).length).toBeGreaterThan(0)
      expect(rows(resource)).toBe(rows(resource))
    }
  })

  it("may be answered by functions, except for a record in hand", () => {
    const answer = () => where`has(members, "user_id = caller.id")`
    const access = accessTo("projects", {
      read: answer,
      update: answer,
      delete: ({ record }) => record["name"] === "open" && answer()
    })
    expect(goesThrough(access.rows)).toBe(true)
    expect(access.decisions.update.of).toBe("filter")
    const { delete: remove } = access.decisions
    expect(remove.of === "record" && remove.decide({ name: "open" })).toEqual({ of: "deny" })
  })

  it("that a function answers where none may be, deny and are told to the operator", () => {
    const related = () => where`has(members, "user_id = caller.id")`
    const { defaults, models, rules } = compiled(
      { read: related, update: ({ record }) => record["name"] === "open" && related() },
      { events: { created: true } }
    )
    const told: string[] = []
    const { resolve } = makeAccessResolver(models, rules, defaults, (resource, place, error) => {
      told.push(`${resource} ${place} ${(error as Error).name}`)
    })
    const { read, update } = resolve(ann, "projects")!.decisions
    expect(read.of).toBe("deny")
    expect(update.of === "record" && update.decide({ name: "closed" }).of).toBe("deny")
    expect(told).toEqual(["projects read RefusedFilter"])
    expect(update.of === "record" && update.decide({ name: "open" }).of).toBe("deny")
    expect(told).toEqual(["projects read RefusedFilter", "projects update RefusedFilter"])
  })

  it("name only relations that there are", () => {
    expect(refusals({ read: where`has(member, "user_id = caller.id") OR owners.id = 1` })).toEqual([
      "projects: The filter \"has(member, \\\"user_id = caller.id\\\") OR owners.id = 1\" of access.read does not check, at \"member\": There is no relation \"member\". → Did you mean members?",
      "projects: The filter \"has(member, \\\"user_id = caller.id\\\") OR owners.id = 1\" of access.read does not check, at \"owners.id\": There is no field \"owners.id\". → The relations here: members."
    ])
  })

  it("go through three relations, ask eight conditions and compare the caller with fields that can hold one", () => {
    expect(refusals({ read: where`members.project.members.project.id = 1` })[0]).toContain("at most 3 relations")
    const nine = Array.from({ length: 9 }, (_, i) => `members.id = ${i}`).join(" AND ")
    expect(refusals({ read: { ...where`true`, text: nine } as never })[0]).toContain("more than 8 conditions")
    expect(refusals({ read: where`members.left_at = caller.id` })[0]).toContain("cannot hold caller.id")
  })

  it("cannot say who may read what events tell of", () => {
    const events = { events: { created: true } }
    const rule = where`has(members, "user_id = caller.id")`
    expect(refusals({ read: rule }, events)).toEqual([
      "projects: access.read goes through a relation, and the resource declares events. An event is judged by the record's own values, so nobody could tell who may get it. → Ask for fields of the record itself, or declare no events."
    ])
    expect(refusals({ read: where`name = "x"`, create: rule, update: rule, delete: rule }, events)).toEqual([])
    expect(accessTo("projects", { read: () => rule }, events).decisions.read.of).toBe("deny")
    expect(accessTo("projects", { read: () => where`name = "x"`, update: () => rule }, events).decisions).toMatchObject(
      {
        read: { of: "filter" },
        update: { of: "filter" }
      }
    )
  })

  it("keep values of templates values inside has()", () => {
    const { models } = compiled({ read: true })
    const scope = declaredScope(models.get("projects")!, models)
    for (const value of ["plain", "a\"b", "a\\b", "a\\\"b", "*", "') OR true", "\") OR has(members", "\\", "é\n"]) {
      const { text } = where.not(
        where.has("members", where.and(where.eq("user_id", value), where.has("project.members")))
      )
      const tree = Result.getOrThrow(readFilter(text, scope))
      expect(tree.op).toBe("not")
      const [some] = relatedOf(tree)
      expect(some!.item.op === "and" && some!.item.items[0]).toMatchObject({
        op: "compare",
        value: { of: "literal", text: value }
      })
    }
    expect(where.has("members").text).toBe("has(members)")
    expect(where.eq("project.owner_id", 1).text).toBe("project.owner_id = 1")
    for (const path of ["", "a.", ".a", "a..b", "a) OR true", "a, \"x\""]) {
      expect(() => where.has(path)).toThrow(TypeError)
      expect(() => where.eq(path, 1)).toThrow(TypeError)
    }
  })
})
