/** Why a cell cannot be changed. Pure. */

import type { Messages } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { columnAt, relationLabel } from "../model/paths.ts"

/**
 * What keeps a cell as it is: it belongs to a related record, it is no field of a record that can be named, the rules of its resource, its field, its
 * record, or those about a field of this record. A file is changed on the page of its record. Null: nothing, as far as the caller's meta and the record say.
 */
export type Fixed = "related" | "nameless" | "resource" | "field" | "record" | "rule" | "file" | null

export const fixedBy = (resource: Resource, column: string, record: AnyRecord): Fixed => {
  const field = resource.fields.get(column)
  if ((columnAt(resource, column)?.ways ?? []).length > 0) return "related"
  if (field === undefined || keyOf(resource, record) === null) return "nameless"
  if (!resource.may.update) return "resource"
  if (!field.writable.update) return "field"
  if (record.permissions?.update === false) return "record"
  if (record.permissions?.fields?.[field.name] === "read") return "rule"
  return field.kind === "file" || field.kind === "files" ? "file" : null
}

/** The reason in words. */
export const fixedText = (fixed: NonNullable<Fixed>, resource: Resource, column: string, t: Messages): string => {
  const [far] = columnAt(resource, column)?.ways ?? []
  if (far !== undefined) return t.paths.readOnly(relationLabel(resource, far))
  return fixed === "field"
    ? t.list.readOnlyField
    : fixed === "rule"
    ? t.record.mayNot
    : fixed === "file"
    ? t.files.inRecord
    : t.list.notWritable
}
