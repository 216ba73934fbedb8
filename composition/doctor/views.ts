/**
 * What PostgreSQL knows of a table but not of a view: whether it takes writes, whether its key is unique, and which of its columns may be
 * null. Materialized views and foreign tables are examined in the same way. So are tables that others inherit from, because their key does
 * not cover the inherited rows.
 */

import { type Client, DatabaseError } from "pg"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import { identityOf, type Model } from "../../core/domain/model/model.ts"
import { quotedName, tableName } from "../../core/domain/model/table.ts"
import type { LiveFacts } from "../startup.ts"
import { openWrites } from "./columns.ts"
import type { Finding } from "./finding.ts"

/** How long the rows of one view are read. */
const lookMs = 5_000

/** What `pg_relation_is_updatable` has for each right. */
const rightBits = { update: 4, insert: 8, delete: 16 } as const

/** Views that take no writes although callers may write: every one of them would be a 500. */
export const checkViewWrites = async (client: Client, compiled: Compiled): Promise<readonly Finding[]> => {
  const models = [...compiled.models.values()]
  const { rows } = await client.query<{ bits: number | null }>(
    "select pg_relation_is_updatable(to_regclass(t), true) as bits from unnest($1::text[]) with ordinality as u (t, n) order by n",
    [models.map((model) => tableName(model))]
  )
  const findings: Finding[] = []
  for (const [i, model] of models.entries()) {
    const bits = rows[i]?.bits ?? null
    if (bits === null) continue
    const open = openWrites(model, compiled)
    const changes = open.filter(([operation, right]) => operation !== "create" && (bits & rightBits[right]) !== 0)
    const reason = changes.length === 0 ? null : await lockRefusal(client, model)
    if (reason !== null) {
      const operations = changes.map(([operation]) => operation)
      findings.push({
        level: "error",
        check: "writes",
        resource: model.name,
        field: null,
        message: `Callers may ${operations.join(", ")}, and rows of ${
          tableName(model)
        } cannot be locked for that (${reason}): every such request fails.`,
        fix: `Write access: { ${
          operations.map((operation) => `${operation}: false`).join(", ")
        } } or readOnly: true, or write the view so that select … for update works, triggers or not.`,
        sql: []
      })
    }
    const refused = open.filter(([, right]) => (bits & rightBits[right]) === 0)
    if (refused.length === 0) continue
    const operations = refused.map(([operation]) => operation)
    findings.push({
      level: "error",
      check: "writes",
      resource: model.name,
      field: null,
      message: `Callers may ${operations.join(", ")}, and ${
        tableName(model)
      } is a view that does not take it: every such request fails.`,
      fix: `Write access: { ${
        operations.map((operation) => `${operation}: false`).join(", ")
      } } or readOnly: true, or make it a view with INSTEAD OF triggers.`,
      sql: []
    })
  }
  return findings
}

/**
 * Why PostgreSQL cannot lock rows of it, in its own words. Every change locks its row first. The statement is only planned, so nothing is
 * locked.
 */
const lockRefusal = async (client: Client, model: Model): Promise<string | null> => {
  try {
    await client.query(`explain select 1 from ${tableName(model)} for update`)
    return null
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    // Other problems, such as missing rights, are found elsewhere.
    return error.code === "0A000" ? error.message : null
  }
}

/** Rows that contradict the declaration. Pages would leave them out silently. */
export const checkViewRows = async (
  client: Client,
  compiled: Compiled,
  facts: LiveFacts
): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  for (const model of compiled.models.values()) {
    const table = facts.tables.get(model.name) ?? null
    const readable = table !== null &&
      model.columns.every((field) =>
        table.columns.some(({ name, privileges }) => name === field.column && privileges.select)
      )
    if (readable && (table.heirs.length > 0 || !["table", "partitioned", "partition"].includes(table.kind))) {
      findings.push(...await checkRows(client, model, table.heirs))
    }
  }
  return findings
}

const checkRows = async (client: Client, model: Model, heirs: readonly string[]): Promise<readonly Finding[]> => {
  const what = heirs.length === 0 ? "view" : "table"
  const about = (level: Finding["level"], field: string | null, message: string, fix: string): Finding => ({
    level,
    check: "rows",
    resource: model.name,
    field,
    message,
    fix,
    sql: []
  })
  const required = model.columns.filter((field) => !field.optional)
  const key = identityOf(model).map((field) => quotedName(field.column)).join(", ")
  const nulls = required.map((field) => `coalesce(bool_or(${quotedName(field.column)} is null), false)`)
  try {
    await client.query(`begin read only; set local statement_timeout = ${lookMs}`)
    const { rows } = await client.query<{ twice: boolean; nulls: readonly boolean[] }>(
      `select count(*) > count(distinct (${key})) as twice, array[${nulls.join(", ")}] as nulls from ${
        tableName(model)
      }`
    )
    const row = rows[0]
    return [
      ...(row?.twice === true
        ? [about(
          "error",
          null,
          `Several rows have the same ${model.key.map(({ name }) => name).join(", ")}: pages leave rows out.`,
          heirs.length === 0
            ? "Name a primary key that is unique in the view."
            : `Rows of ${heirs.join(", ")}, which ${
              heirs.length === 1 ? "inherits" : "inherit"
            } from it, are rows of it, too: give them other keys, or declare a view: create view … as select * from only ${
              tableName(model)
            };`
        )]
        : []),
      ...required.filter((_, i) => row?.nulls[i] === true).map((field) =>
        about(
          "error",
          field.name,
          `The ${what} has rows in which the column is null, and the field is not optional: pages in its order leave them out.`,
          model.key.includes(field) ? `Leave these rows out of the ${what}.` : "Add optional()."
        )
      )
    ]
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    // An unpopulated materialized view, a foreign server that does not answer, rights that the view's owner lacks.
    if (error.code !== "57014") {
      return [about(
        "error",
        null,
        `The rows cannot be read: ${error.message}. Every request for them fails.`,
        `See to it that this works as the service's own database role: select * from ${tableName(model)};`
      )]
    }
    return [about(
      "note",
      null,
      `The rows of the ${what} could not be read within ${
        lookMs / 1_000
      } s: whether its key is unique and its fields are never null is not known.`,
      "Add optional() to every field that may be null, and make sure of the key."
    )]
  } finally {
    await client.query("rollback")
  }
}
