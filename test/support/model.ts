/**
 * Compiled models for tests of the domain, built by hand: no declaration is read and nothing is checked, so that a test can also make
 * what no declaration may say.
 */

import type { CompiledFieldRules, CompiledRules } from "../../core/domain/access/rules.ts"
import type { Field, FieldBase, Model, Relation } from "../../core/domain/model/model.ts"
import { usualBytes } from "../../core/domain/value/binary.ts"
import type { ElementShape, Kind, RangeElement, Shape } from "../../core/domain/value/kind.ts"

/** The bounds of every kind side by side, as rows of tables give them. */
interface ShapeParts {
  readonly kind?: Kind | undefined
  readonly bits?: 16 | 32 | 64 | undefined
  readonly max?: number | null | undefined
  readonly precision?: number | null | undefined
  readonly scale?: number | null | undefined
  readonly values?: readonly string[] | undefined
  readonly of?: ElementShape | RangeElement | undefined
  readonly nulls?: boolean | undefined
  readonly ordered?: true | undefined
  readonly typed?: true | undefined
  /** Of ranges, and of native fields. */
  readonly type?: string | undefined
}

export type FieldParts = Partial<Omit<FieldBase, "index">> & ShapeParts & { readonly name: string }

/** The bounds of a kind. */
export const makeShape = (
  {
    kind = "text",
    bits = 64,
    max = null,
    precision = null,
    scale = null,
    values = [],
    of = { kind: "text", max: null },
    nulls = false,
    ordered,
    typed,
    type = "integer"
  }: ShapeParts
): Shape => {
  switch (kind) {
    case "integer":
      return { kind, bits }
    case "text":
      return { kind, max }
    case "decimal":
      return { kind, precision, scale }
    case "enum":
      return { kind, values, ...(ordered === undefined ? {} : { ordered }), ...(typed === undefined ? {} : { typed }) }
    case "list":
      return { kind, of: typeof of === "string" ? { kind: "text", max: null } : of, max, nulls }
    case "bytes":
      return { kind, max: max ?? usualBytes }
    case "money":
      return { kind, scale: scale ?? 2 }
    case "range":
      return { kind, of: typeof of === "string" ? of : type as RangeElement }
    case "native":
      return { kind, type }
    default:
      return { kind }
  }
}

export const makeField = (
  { bits, kind, max, ordered, typed, precision, scale, type, values, of, nulls, ...parts }: FieldParts,
  index = 0
): Field => ({
  column: parts.name,
  relation: null,
  optional: false,
  readOnly: false,
  filterable: true,
  sortable: true,
  searched: false,
  unique: false,
  sensitive: false,
  alias: null,
  default: null,
  stamped: false,
  system: false,
  label: null,
  help: null,
  multiline: null,
  file: null,
  ...parts,
  index,
  ...makeShape({ bits, kind, max, ordered, typed, precision, scale, type, values, of, nulls })
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
    description: null,
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
    captured: false,
    relations
  }
}
