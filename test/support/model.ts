/**
 * Compiled models for tests of the domain, built by hand: no declaration is read and nothing is checked, so that a test can also make
 * what no declaration may say.
 */

import type { CompiledFieldRules, CompiledRules } from "../../core/domain/access/rules.ts"
import type { Field, Model, Relation } from "../../core/domain/model/model.ts"

export type FieldParts = Partial<Omit<Field, "index">> & { readonly name: string }

export const makeField = (parts: FieldParts, index = 0): Field => ({
  column: parts.name,
  kind: "text",
  bits: 64,
  max: null,
  precision: null,
  scale: null,
  values: null,
  relation: null,
  optional: false,
  readOnly: false,
  filterable: true,
  sortable: true,
  searched: false,
  sensitive: false,
  alias: null,
  default: null,
  system: false,
  ...parts,
  index
})

export interface RuleParts extends Partial<Omit<CompiledRules, "fields">> {
  readonly fields?: { readonly [field: string]: Partial<CompiledFieldRules> }
}

const makeRules = (parts: RuleParts = {}): CompiledRules => ({
  read: null,
  create: null,
  update: null,
  delete: null,
  check: () => null,
  ...parts,
  fields: new Map(
    Object.entries(parts.fields ?? {}).map(([name, rules]) => [name, { read: null, write: null, ...rules }])
  )
})

export interface ModelParts {
  readonly name?: string
  readonly fields: readonly FieldParts[]
  readonly key?: readonly string[]
  /** Columns; a declared field of that column is used where there is one. */
  readonly tenant?: string
  readonly softDelete?: string
  readonly version?: string
  readonly owner?: string
  readonly rules?: RuleParts
  readonly relations?: ReadonlyArray<{ name: string; target: string; many: boolean; from: string; to: string }>
}

/** A model with the rules that a test gave it. */
export interface RuledModel extends Model {
  readonly rules: CompiledRules
}

export const makeModel = (parts: ModelParts): RuledModel => {
  const fields = parts.fields.map(makeField)
  const columns = [...fields]
  const byName = new Map(fields.map((field) => [field.name, field]))
  const system = (column: string | undefined): Field | null => {
    if (column === undefined) return null
    const known = columns.find((field) => field.column === column)
    if (known !== undefined) return known
    const field = makeField({ name: column, system: true, filterable: false, sortable: false }, columns.length)
    columns.push(field)
    return field
  }
  const tenant = system(parts.tenant)
  const softDelete = system(parts.softDelete)
  const version = system(parts.version)
  const relations = new Map<string, Relation>(
    (parts.relations ?? []).map((relation) => [relation.name, { ...relation, from: byName.get(relation.from)! }])
  )
  return {
    name: parts.name ?? "orders",
    schema: null,
    table: parts.name ?? "orders",
    fields,
    columns,
    byName,
    key: (parts.key ?? [fields[0]!.name]).map((name) => byName.get(name)!),
    tenant,
    owner: parts.owner === undefined ? null : byName.get(parts.owner)!,
    softDelete,
    version,
    validate: [],
    rules: makeRules(parts.rules),
    history: null,
    events: [],
    relations
  }
}
