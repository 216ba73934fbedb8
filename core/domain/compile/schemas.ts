/** Reads `schemas`: which names the service's own schemas have. What stands in a database under a name is not its business. */

import { isBag } from "../bag.ts"
import { quoteValue } from "../declare/refusal.ts"
import { defaultSchemas, schemaName, type Schemas } from "../declare/schemas.ts"
import type { Models } from "../model/model.ts"
import { keysOf } from "../value/table.ts"
import { refuseUnknownKeys, type Say } from "./check.ts"

const names = keysOf(defaultSchemas)

/** What no schema of ours may be called, with the reason. */
const problemOf = (name: unknown): string | null => {
  if (typeof name !== "string" || !schemaName.test(name)) return "is no name of a schema."
  if (name.startsWith("pg_")) return "begins like the schemas of PostgreSQL."
  if (name === "public" || name === "information_schema") return "is not for the service alone."
  return null
}

/** The names, with every default filled in. `webhooks`: the name that the extension has found, which has an option of its own for it; null: it is not there. */
export const readSchemas = (raw: unknown, webhooks: string | null, say: Say): Schemas => {
  if (raw === undefined) return webhooks === null ? defaultSchemas : { ...defaultSchemas, webhooks }
  if (!isBag(raw)) {
    say(`schemas is ${quoteValue(raw)}, not an object.`, "Write schemas: { auth: \"admin_auth\" }.")
    return defaultSchemas
  }
  refuseUnknownKeys(raw, names, "schemas", say)
  const read: { -readonly [Name in keyof Schemas]: string } = { ...defaultSchemas }
  for (const name of names) {
    const given = raw[name]
    if (given === undefined) continue
    const problem = problemOf(given)
    if (problem === null && typeof given === "string") read[name] = given
    else {
      say(
        `schemas.${name} is ${quoteValue(given)}, which ${problem}`,
        `Write lower-case letters, digits and _, at most 63, such as "admin_${name}".`
      )
    }
  }
  if (webhooks !== null) read.webhooks = webhooks
  for (const [index, name] of names.entries()) {
    const other = names.slice(0, index).find((each) => read[each] === read[name])
    if (other !== undefined) {
      say(
        `schemas.${other} and schemas.${name} are both ${quoteValue(read[name])}.`,
        `Give each its own, such as ${name}: "admin_${name}".`
      )
    }
    if (read[name] === "history") {
      say(
        `schemas.${name} is "history", where the versions of tracked records stand.`,
        `Write another, such as "admin_${name}".`
      )
    }
  }
  return read
}

/** What the service makes in its schemas and a resource may show. */
const ownTables: { readonly [name in keyof Schemas]: readonly string[] } = {
  auth: ["user", "session", "account", "verification", "jwks", "apiKey", "twoFactor", "passkey"],
  service: [
    "migration",
    "idempotency_key",
    "saved_view",
    "audit",
    "task",
    "task_part",
    "task_refusal",
    "form_attempt",
    "form_challenge",
    "change",
    "dispatcher",
    "watched",
    "recent_change"
  ],
  jobs: [
    "_private_jobs",
    "_private_tasks",
    "migrations",
    "definitions",
    "groups",
    "group_waiting",
    "completed",
    "chores",
    "errors",
    "failed"
  ],
  webhooks: ["subscriptions", "deliveries", "attempts"]
}

/** Refuses another name where the table of a resource stands that is none of ours: the schema is the application's then. */
export const refuseClashes = (schemas: Schemas, models: Models, say: Say): void => {
  for (const name of names) {
    // For a usual name, a migration looks at the schema that exists.
    if (schemas[name] === defaultSchemas[name]) continue
    const clash = [...models.values()].find(({ schema, table }) =>
      schema === schemas[name] && !names.some((each) => schemas[each] === schema && ownTables[each].includes(table))
    )
    if (clash === undefined) continue
    say(
      `schemas.${name} is "${
        schemas[name]
      }", where the table of the resource "${clash.name}" stands: it is not the service's own.`,
      `Name a schema that the application has not, such as "admin_${name}".`
    )
  }
}
