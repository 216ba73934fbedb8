/** The input of a cell that is edited. Loaded on first use. */

import { type ReactNode, useRef } from "react"
import { parseField } from "../field/exact.ts"
import { cellKeys, Input } from "../field/input.tsx"
import type { Draft } from "../field/parse.ts"
import type { Column } from "../grid/columns.ts"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import type { CellEditing } from "./edit.tsx"

interface CellEditorProps {
  readonly editing: CellEditing
  readonly resource: Resource
  readonly record: AnyRecord
  readonly column: Column
}

/** The input of a cell that is edited. It saves when it loses the focus. */
export const CellEditor = ({ column, editing, record, resource }: CellEditorProps): ReactNode => {
  const field = resource.fields.get(column.id)!
  const t = useMessages()
  // A first letter, or text that could not be saved before, is the draft already.
  const draft = useRef<Draft | null>(editing.typed === undefined ? null : parseField(field, editing.typed, t))
  const done = useRef(false)
  const commit = (then: "stay" | "down" | "next" | "before"): void => {
    if (done.current) return
    if (draft.current?.problem == null) done.current = true
    editing.commit(record, column.id, draft.current, then)
  }
  return (
    <div
      className="cell-editor"
      onKeyDown={(event) => {
        // An open list of choices handles Enter and Escape itself.
        if (event.defaultPrevented) return
        cellKeys(event, { onCommit: commit, onCancel: () => editing.cancel() })
      }}
      onBlur={(event) => {
        if (event.currentTarget.contains(event.relatedTarget) || event.relatedTarget?.closest(".float") != null) return
        if (draft.current === null) editing.cancel()
        else commit("stay")
      }}
    >
      <Input
        compact
        autoFocus
        resource={resource}
        field={field}
        value={record[column.id]}
        {...(editing.typed === undefined ? {} : { typed: editing.typed })}
        label={column.label}
        invalid={editing.problem !== null}
        onChange={(next) => {
          draft.current = next
          // A choice saves at once, because nothing is left to type.
          const chosen = field.relation !== undefined || field.kind === "enum" || field.kind === "boolean"
          if (chosen && next.problem === null) commit("stay")
        }}
      />
      {editing.problem !== null && <p className="cell-problem" role="alert">{editing.problem}</p>}
    </div>
  )
}
