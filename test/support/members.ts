/** Models with declared paths into JSON, for tests. */

import type { Field, Model } from "../../core/domain/model/model.ts"
import { pathNames } from "../../core/domain/model/path.ts"
import { type FieldParts, makeField } from "./model.ts"

/** The model with paths into fields of it: `whole` has the JSON, and the name is that of the path. */
export const withPaths = <M extends Model>(
  model: M,
  paths: ReadonlyArray<FieldParts & { readonly whole: string; readonly storage?: "jsonb" | "json" }>
): M => ({
  ...model,
  members: paths.map(({ storage = "jsonb", whole, ...parts }, i): Field => {
    const of = model.byName.get(whole)!
    return {
      ...makeField({ ...parts, column: of.column, optional: true }, model.columns.length + i),
      name: `${whole}.${parts.name}`,
      member: { of, path: pathNames(parts.name)!, storage }
    }
  })
})
