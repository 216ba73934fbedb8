/**
 * Types of the resources that keep versions (`history.ts`), inferred from the tracked ones. The file holds types only: at run time it is empty.
 */

import type { AnyField, FieldBuilder, FieldMap, FieldSpec, RelationWay } from "./field.ts"
import type { FieldName } from "./record.ts"
import type { Resource } from "./resource.ts"

type Own = {
  readonly history_id: FieldBuilder<"integer", string, false, true, true, "filterable" | "sortable">
  readonly history_operation: FieldBuilder<
    "enum",
    "create" | "update" | "delete" | "undelete",
    true,
    true,
    false,
    "filterable"
  >
  readonly history_at: FieldBuilder<"timestamp", string, false, true, true, "filterable" | "sortable">
  readonly history_by: FieldBuilder<"text", string, true, true, false, "filterable">
}

type Fact<Field extends AnyField, Name extends string, Other> = Field["~field"] extends
  { readonly [Each in Name]: infer Found } ? Found : Other

/** A field as versions have it: nobody writes it, and a version may be older than the field. */
interface VersionField<Field extends AnyField, More extends string> {
  readonly _tag: "Field"
  readonly spec: FieldSpec
  readonly "~field": {
    readonly kind: Fact<Field, "kind", unknown>
    readonly value: Field["~field"]["value"]
    readonly optional: true
    readonly readOnly: true
    readonly generated: false
    readonly marks: Fact<Field, "marks", never> | More
    readonly way: Fact<Field, "way", never> extends infer Way extends RelationWay
      ? { readonly target: Way["target"]; readonly as: Way["as"]; readonly inverse: false }
      : never
  }
}

type Sensitive<Field extends AnyField> = "sensitive" extends Fact<Field, "marks", never> ? true : false

type KeptFields<Fields extends FieldMap, KeyField extends string> = {
  readonly [
    Name in FieldName<Fields> as Sensitive<Fields[Name]> extends true ? never : Name
  ]: VersionField<Fields[Name], Name extends KeyField ? "filterable" : never>
}

/** The resource that keeps the versions of `R`: its fields but the sensitive ones, and what versions have besides. */
export type VersionsOf<R extends Resource> = Resource<
  `${R["name"]}_history`,
  KeptFields<R["~fields"], R["~keyField"]> & Own,
  string,
  never,
  never,
  "history_id"
>
