/**
 * The extension `history`. It rewrites a configuration so that every change of chosen resources is kept as a version, readable as a
 * resource of its own. That resource has the fields, tenant, owner and read rules of the tracked one, so the same access code hides the
 * same fields and rows. It keeps nothing itself; the write pipeline does.
 */

import { type Bag, isBag, isTextList } from "../bag.ts"
import { changedColumn } from "../model/model.ts"
import type { ConfigExtension } from "./config.ts"
import { blankField, type FieldSpec } from "./field.ts"
import { didYouMean, quoteValue, type Report } from "./refusal.ts"
import { parseCapability } from "./roles.ts"

/**
 * Where a declaration says which resource keeps its versions. A symbol, so that nobody writes it by hand; all copies of the package share
 * it.
 */
export const historyOf = Symbol.for("resource-admin/history")

/**
 * Where a declaration of versions keeps columns without a field, so that rules can ask for them: `softDelete` and `version`, as the tracked
 * resource declares them.
 */
export const keptColumns = Symbol.for("resource-admin/kept-columns")

/** What a version says besides the record: its number, what happened, when, and who did it. */
const versionFields = ["history_id", "history_operation", "history_at", "history_by"] as const

const field = (spec: Partial<FieldSpec>): unknown => ({
  _tag: "Field",
  spec: { ...blankField, readOnly: true, filterable: true, ...spec }
})

const ownFields = (): Bag => ({
  history_id: field({ kind: "integer", bits: 64, dbDefault: true, sortable: true }),
  history_operation: field({ kind: "enum", values: ["create", "update", "delete", "undelete"], optional: true }),
  history_at: field({ kind: "timestamp", dbDefault: true, sortable: true }),
  history_by: field({ kind: "text", optional: true })
})

/** Whether a declaration is a field of a builder, whose parts the compiler judges later. */
const isField = (declared: unknown): declared is { readonly spec: FieldSpec } =>
  isBag(declared) && declared["_tag"] === "Field" && isBag(declared["spec"])

const specOf = (declared: unknown): FieldSpec | null => isField(declared) ? declared.spec : null

/**
 * The fields of the tracked resource, none of them writable. Sensitive ones are left out: their values never enter a history. So are search vectors: the
 * words of a version are not kept. The key is filterable, because the versions of one record are found by it.
 */
const trackedFields = (fields: Bag, { primaryKey: key, tenant }: Bag): Bag => {
  const tracked: { [name: string]: unknown } = {}
  for (const [name, declared] of Object.entries(fields)) {
    const spec = specOf(declared)
    if (spec === null) tracked[name] = declared
    else if (!spec.sensitive && spec.kind !== "searchVector") {
      // A version may be older than the field.
      tracked[name] = {
        _tag: "Field",
        spec: {
          ...spec,
          readOnly: true,
          optional: name !== tenant,
          default: null,
          dbDefault: false,
          stamped: false,
          unique: false,
          inverse: false,
          filterable: spec.filterable || name === key || (isTextList(key) && key.includes(name))
        }
      }
    }
  }
  return tracked
}

/** `softDelete` and `version` of a tracked resource where no field shows them. */
const bareColumns = ({ fields, softDelete, version }: Bag): Bag => {
  const isField = (raw: unknown): boolean => typeof raw === "string" && isBag(fields) && raw in fields
  return Object.fromEntries(Object.entries({ softDelete, version }).filter(([, raw]) => !isField(raw)))
}

/** The tenant of versions. When its field is sensitive, the column is kept without a field, as records belong to a tenant all the same. */
const tenantOf = ({ fields, tenant }: Bag): unknown => {
  const spec = typeof tenant === "string" && isBag(fields) ? specOf(fields[tenant]) : null
  return spec?.sensitive === true ? { _tag: "Field", spec: { ...spec, column: spec.column ?? tenant } } : tenant
}

/** The tracked resource's rules of reading; nobody writes versions. */
const accessOf = (access: unknown, fields: Bag): Bag => {
  const rules = isBag(access) ? access : {}
  const fieldRules: { [name: string]: Bag } = {}
  for (const [name, rule] of Object.entries(isBag(rules["fields"]) ? rules["fields"] : {})) {
    if (name in fields && isBag(rule) && rule["read"] !== undefined) fieldRules[name] = { read: rule["read"] }
  }
  return {
    ...(rules["read"] === undefined ? {} : { read: rules["read"] }),
    create: false,
    update: false,
    delete: false,
    fields: fieldRules
  }
}

/** Longest name of a table in PostgreSQL, in bytes. */
const longestName = 63

const tablePattern = /^(?:(?:"((?:[^"]|"")+)"|([^".]+))\.)?(?:"((?:[^"]|"")+)"|([^".]+))$/

/**
 * The table of versions. It has the name of the tracked one, with the schema in front unless that is `public`. So tables of the same name
 * in two schemas, perhaps of two services, never share their versions.
 */
const tableOf = (name: string, table: unknown): string => {
  const text = typeof table === "string" ? table : name
  const [, quotedSchema, plainSchema, quotedTable, plainTable] = tablePattern.exec(text) ?? []
  const schema = quotedSchema?.replaceAll("\"\"", "\"") ?? plainSchema
  const last = quotedTable?.replaceAll("\"\"", "\"") ?? plainTable ?? text
  const full = schema === undefined || schema === "public" ? last : `${schema}_${last}`
  // PostgreSQL would cut a longer name, perhaps to that of another table.
  const named = new TextEncoder().encode(full).length > longestName ? last : full
  return `history."${named.replaceAll("\"", "\"\"")}"`
}

/** What versions have of a tracked resource. */
interface Tracked {
  readonly name: string
  readonly fields: Bag
  readonly owned: boolean
}

/**
 * Gives a role that may read the tracked resource the same right for its versions. Capabilities for all resources cover versions anyway,
 * but their lists of fields do not name the fields that only versions have.
 */
const withCapabilities = (roles: unknown, tracked: ReadonlyMap<string, Tracked>): unknown =>
  !isBag(roles) ? roles : Object.fromEntries(
    Object.entries(roles).map(([role, texts]) => {
      if (!isTextList(texts)) return [role, texts]
      const more = texts.flatMap((text) => {
        const parts = parseCapability(text)
        if (parts === null || !["*", "read"].includes(parts.operation)) return []
        const { fields: listed, own, resource } = parts
        const reached = resource === "*"
          ? [...tracked.values()].filter(({ fields, owned }) =>
            (owned || !own) && listed?.some((name) => name in fields) === true
          )
          : [tracked.get(resource) ?? []].flat()
        return reached.map(({ fields, name }) => {
          const list = listed === null
            ? ""
            : `(${[...listed.filter((each) => each in fields), ...versionFields].join(",")})`
          return `${name}.read${own ? ".own" : ""}${list}`
        })
      })
      return [role, [...texts, ...more]]
    })
  )

interface DeclaredResource extends Bag {
  readonly name: string
  readonly declaration: Bag
}

const isDeclared = (resource: unknown): resource is DeclaredResource =>
  isBag(resource) && typeof resource["name"] === "string" && isBag(resource["declaration"])

const historyNames = (raw: unknown, report: Report): readonly string[] => {
  const names = isBag(raw) ? raw["resources"] : undefined
  if (isTextList(names) && names.length > 0) return names
  report(null, null, `history() got ${quoteValue(raw)}.`, "Write history({ resources: [\"orders\"] }).")
  return []
}

/**
 * Keeps every change of the resources: who made it, when, what it was, and the record as it then stood. The versions of `orders` are the read-only
 * resource `orders_history`; `POST /orders/17:restore` with `{ "version": "…" }` writes one back. Tables are made by `service migration`.
 *
 * @example
 * defineConfig({ resources: [orders, customers], extends: [history({ resources: ["orders"] })] })
 */
export const history = <const Name extends string>(
  options: { readonly resources: readonly Name[] }
): ConfigExtension<Name> => ({
  _tag: "ConfigExtension",
  name: "history",
  apply: (config, report) => {
    // Resources that are no list are refused as they are.
    if (!Array.isArray(config["resources"])) return config
    const resources: readonly unknown[] = config["resources"]
    const declared = new Map(resources.filter(isDeclared).map((each) => [each.name, each]))
    const tracked = new Map<string, Tracked & { readonly ruled: boolean }>()
    const added: Bag[] = []
    const tables = new Map<string, { readonly name: string; readonly table: unknown }>()
    for (const name of new Set(historyNames(options, report))) {
      const resource = declared.get(name)
      if (resource === undefined) {
        report(null, null, `history() names "${name}", which is no resource.`, didYouMean(name, declared.keys()))
        continue
      }
      const { declaration } = resource
      const fields = isBag(declaration["fields"]) ? trackedFields(declaration["fields"], declaration) : {}
      const taken = [...versionFields, changedColumn].find((each) => each in fields)
      if (taken !== undefined) {
        report(name, taken, "The field has the name of one that every version has.", "Rename the field.")
        continue
      }
      const table = tableOf(name, declaration["table"])
      const own = declaration["table"] ?? name
      const other = tables.get(table)
      if (other !== undefined && other.table !== own) {
        report(
          name,
          null,
          `Its versions would be kept in ${table}, as those of "${other.name}" are, which has another table.`,
          "Track one of them only, or rename one of the tables."
        )
        continue
      }
      tables.set(table, { name, table: own })
      const access = accessOf(declaration["access"], fields)
      const owner = declaration["owner"]
      const owned = typeof owner === "string" && owner in fields
      tracked.set(name, { name: `${name}_history`, fields, owned, ruled: "read" in access })
      added.push({
        _tag: "Resource",
        name: `${name}_history`,
        declaration: {
          table,
          primaryKey: "history_id",
          fields: { ...ownFields(), ...fields },
          ...(declaration["tenant"] === undefined ? {} : { tenant: tenantOf(declaration) }),
          ...(owned ? { owner } : {}),
          access,
          [keptColumns]: {
            ...bareColumns(declaration),
            changed: field({ kind: "text", optional: true, column: changedColumn })
          }
        }
      })
    }
    // An explicit rule takes the place of capabilities.
    const granted = new Map([...tracked].filter(([, { ruled }]) => !ruled))
    const inOptions = config["options"]
    return {
      ...config,
      resources: [
        ...resources.map((each) => {
          const versions = isDeclared(each) ? tracked.get(each.name) : undefined
          return isDeclared(each) && versions !== undefined
            ? { ...each, declaration: { ...each.declaration, [historyOf]: versions.name } }
            : each
        }),
        ...added
      ],
      ...(config["roles"] === undefined ? {} : { roles: withCapabilities(config["roles"], granted) }),
      ...(isBag(inOptions) && inOptions["roles"] !== undefined
        ? { options: { ...inOptions, roles: withCapabilities(inOptions["roles"], granted) } }
        : {})
    }
  }
})
