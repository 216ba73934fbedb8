/** Why a cell cannot be changed, in words. Pure. */

import type { Messages } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { columnAt, relationLabel } from "../model/paths.ts"

/** Null: it can be, as far as the caller's meta and the record say. */
export const whyFixed = (resource: Resource, column: string, record: AnyRecord, t: Messages): string | null => {
  const field = resource.fields.get(column)
  const [far] = columnAt(resource, column)?.ways ?? []
  if (far !== undefined) return t.paths.readOnly(relationLabel(resource, far))
  if (field === undefined || keyOf(resource, record) === null || !resource.may.update) return t.list.notWritable
  if (!field.writable.update) return t.list.readOnlyField
  if (record.permissions?.update === false) return t.list.notWritable
  if (record.permissions?.fields?.[field.name] === "read") return t.record.mayNot
  return field.kind === "file" || field.kind === "files" ? t.files.inRecord : null
}
