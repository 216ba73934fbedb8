/** Types of records, inferred from fields. The file holds types only: at run time it is empty. */

import type { AnyField, FieldMap } from "./field.ts"

/** The value of a field in wire form: `string` for 64-bit integers, decimals and times, `| null` when it is optional. */
export type ValueOf<Field extends AnyField> = Field["~field"]["optional"] extends true ? Field["~field"]["value"] | null
  : Field["~field"]["value"]

/** What a body gives for a field. */
type InputOf<Field extends AnyField> = Field["~field"] extends { readonly input: infer Input }
  ? Field["~field"]["optional"] extends true ? Input | null : Input
  : ValueOf<Field>

/** A record as responses and rules carry it: every declared field. */
export type RecordOf<Fields extends FieldMap> = { readonly [Name in keyof Fields & string]: ValueOf<Fields[Name]> }

/** Names of the declared fields. */
export type FieldName<Fields extends FieldMap> = keyof Fields & string

type Writable<Fields extends FieldMap> = {
  [Name in FieldName<Fields>]: Fields[Name]["~field"]["readOnly"] extends true ? never : Name
}[FieldName<Fields>]

type Required<Fields extends FieldMap> = {
  [Name in Writable<Fields>]: Fields[Name]["~field"]["optional"] extends true ? never
    : Fields[Name]["~field"]["generated"] extends true ? never
    : Name
}[Writable<Fields>]

/**
 * The body of a create: fields that are not read-only; those that are optional or have a default may be left out. `Managed` are the fields that the
 * service sets itself (tenant, soft delete, version), `Owner` the one that it may fill in.
 */
export type CreateOf<Fields extends FieldMap, Managed extends string = never, Owner extends string = never> =
  & { readonly [Name in Exclude<Required<Fields>, Managed | Owner>]: InputOf<Fields[Name]> }
  & { readonly [Name in Exclude<Writable<Fields>, Exclude<Required<Fields>, Owner> | Managed>]?: InputOf<Fields[Name]> }

/** The body of an update: any of the fields that are not read-only. */
export type UpdateOf<Fields extends FieldMap, Managed extends string = never> = {
  readonly [Name in Exclude<Writable<Fields>, Managed>]?: InputOf<Fields[Name]>
}
