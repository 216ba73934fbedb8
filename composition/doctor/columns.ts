/**
 * Columns that make some writes fail although the service starts: bounds, values and required columns that the declaration does not know,
 * and rights that the database role lacks. Pure: models and facts in, findings out.
 */

import type { Operation } from "../../core/domain/access/rules.ts"
import type { TableFacts } from "../../core/domain/compile/catalogue.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import { checkedValues } from "../../core/domain/compile/constraint.ts"
import type { Model } from "../../core/domain/model/model.ts"
import { quotedName, tableName } from "../../core/domain/model/table.ts"
import type { Finding } from "./finding.ts"

/** Whether any caller may ever do this, as far as that can be known without one. */
const isOpen = (model: Model, operation: Operation, { defaults, roles, rules }: Compiled): boolean => {
  const rule = rules.get(model.name)?.[operation] ?? null
  if (rule !== null) return rule.of !== "constant" || rule.allow
  if (roles !== null) {
    const given = [...roles.values()].flat().some((capability) =>
      (capability.resource === "*" || capability.resource === model.name) &&
      (capability.operation === "*" || capability.operation === operation)
    )
    if (given) return true
  }
  return defaults.defaultAccess === null ? roles === null : defaults.defaultAccess === "allow"
}

/** The writes that some caller may do, each with the right that the database must give for it. */
export const openWrites = (
  model: Model,
  compiled: Compiled
): ReadonlyArray<readonly [operation: Operation, right: "insert" | "update" | "delete"]> =>
  ([
    ["create", "insert"],
    ["update", "update"],
    ["delete", model.softDelete === null ? "delete" : "update"]
  ] as const).filter(([operation]) => isOpen(model, operation, compiled))

/** Whether somebody may read every row, whoever they are: no filter and no function decides it, and not every capability ends in `.own`. */
const isReadWhole = (model: Model, compiled: Compiled): boolean => {
  const rule = compiled.rules.get(model.name)?.read ?? null
  if (rule !== null) return rule.of === "roles" || (rule.of === "constant" && rule.allow)
  const { roles } = compiled
  const whole = roles && new Map([...roles].map(([role, given]) => [role, given.filter(({ own }) => !own)]))
  return isOpen(model, "read", { ...compiled, roles: whole })
}

const isWritable = (table: TableFacts): boolean => table.kind !== "materialized view"

/** Takes a finding about the table in hand. */
type Say = (finding: Omit<Finding, "resource">) => void

/** Values that the declaration and the column do not agree on. */
const checkValues = (model: Model, table: TableFacts, say: Say): void => {
  for (const field of model.fields) {
    const column = table.columns.find((each) => each.name === field.column)
    if (column === undefined || field.readOnly) continue
    // A relation has the bounds of the key it points at, and no others can be declared.
    const bounded = field.kind === "text" && field.relation === null
    if (bounded && column.maxLength !== null && (field.max === null || field.max > column.maxLength)) {
      say({
        level: "warning",
        check: "bounds",
        field: field.name,
        message: `The column holds ${column.maxLength} characters, and the field allows ${
          field.max ?? "any number"
        }: longer texts are refused late.`,
        fix: `Add max(${column.maxLength}).`,
        sql: []
      })
    }
    if (field.kind === "enum" && column.values === null) {
      const more = (checkedValues(table, column) ?? []).filter((value) => !field.values.includes(value))
      if (more.length > 0) {
        say({
          level: "warning",
          check: "enum",
          field: field.name,
          message: `A check constraint also allows ${
            more.map((value) => JSON.stringify(value)).join(", ")
          }: filters cannot name it.`,
          fix: "Add it to the values of the enum.",
          sql: []
        })
      }
    }
  }
}

/** Relations into records of tenants, from rows that callers of every tenant see. */
const checkTenants = (model: Model, compiled: Compiled, say: Say): void => {
  if (model.tenant !== null || !isReadWhole(model, compiled)) return
  for (const field of model.fields) {
    const target = field.relation === null ? undefined : compiled.models.get(field.relation)
    if (target === undefined || target.tenant === null) continue
    say({
      level: "warning",
      check: "tenant",
      field: field.name,
      message:
        `It points at records of ${target.name}, which belong to tenants, and callers of every tenant see all rows of ${model.name}.`,
      fix: "Give the table a tenant column and declare tenant, or narrow access.read.",
      sql: []
    })
  }
}

/** Columns that keep every create from succeeding. */
const checkRequired = (model: Model, table: TableFacts, compiled: Compiled, say: Say): void => {
  if (!isOpen(model, "create", compiled) || !isWritable(table) || table.kind === "view") return
  const declared = new Set(model.columns.map((field) => field.column))
  for (const column of table.columns) {
    if (
      declared.has(column.name) || column.nullable || column.default !== null || column.identity !== null ||
      column.generated
    ) continue
    if (table.fillsRows === true) {
      say({
        level: "warning",
        check: "required",
        field: null,
        message:
          `The column "${column.name}" is required and no field gives it a value. A trigger that runs before an insert may.`,
        fix: "If none does, declare the column or give it a default. If one does, nothing is wrong.",
        sql: []
      })
      continue
    }
    say({
      level: "error",
      check: "required",
      field: null,
      message: `The column "${column.name}" is required and no field gives it a value: every create fails.`,
      fix: "Declare it, write access: { create: false }, or give it a default:",
      sql: [`alter table ${tableName(model)} alter column ${quotedName(column.name)} set default …;`]
    })
  }
}

/** Rights that the database role `user` lacks for what callers may do. */
const checkRights = (model: Model, table: TableFacts, compiled: Compiled, user: string, say: Say): void => {
  const name = tableName(model)
  const tracked = [...compiled.models.values()].find(({ history }) => history === model.name)
  if (tracked !== undefined && !table.privileges.insert) {
    say({
      level: "error",
      check: "rights",
      field: null,
      message: `Every write to ${tracked.name} keeps a version here, and the database role ${user} may not insert.`,
      fix: null,
      sql: [`grant insert on ${name} to ${quotedName(user)};`]
    })
  }
  const missing = new Set(
    openWrites(model, compiled).map(([, right]) => right).filter((right) =>
      isWritable(table) && !table.privileges[right]
    )
  )
  if (missing.size > 0) {
    const rights = [...missing].join(", ")
    say({
      level: "error",
      check: "rights",
      field: null,
      message: `Callers may write it, and the database role ${user} may not ${rights}.`,
      fix: null,
      sql: [`grant ${rights} on ${name} to ${quotedName(user)};`]
    })
  }
  const unsure = missing.has("update")
    ? []
    : model.fields.filter((field) =>
      !field.readOnly && isOpen(model, "update", compiled) &&
      table.columns.some((column) => column.name === field.column && !column.privileges.update)
    )
  if (unsure.length > 0 && table.kind !== "view" && isWritable(table)) {
    const columns = unsure.map((field) => quotedName(field.column)).join(", ")
    say({
      level: "warning",
      check: "rights",
      field: null,
      message: `The database role ${user} may not update ${unsure.map((field) => field.name).join(", ")}.`,
      fix: "Add readOnly(), or run:",
      sql: [`grant update (${columns}) on ${name} to ${quotedName(user)};`]
    })
  }
}

/** Findings about the columns and rights of one table. `user` is the role that the service connects as. */
export const checkColumns = (model: Model, table: TableFacts, compiled: Compiled, user: string): readonly Finding[] => {
  const findings: Finding[] = []
  const say: Say = (finding) => void findings.push({ ...finding, resource: model.name })
  checkValues(model, table, say)
  checkTenants(model, compiled, say)
  checkRequired(model, table, compiled, say)
  checkRights(model, table, compiled, user, say)
  if (table.rowSecurity) {
    say({
      level: "note",
      check: "row-security",
      field: null,
      message: "Row level security is on: the service shows what its own database role sees, whoever asks.",
      fix: "Make sure that its policies mean that role.",
      sql: []
    })
  }
  return findings
}
