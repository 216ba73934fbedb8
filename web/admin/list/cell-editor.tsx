/** The input of a cell that is edited. Loaded on first use. */

import { type ReactNode, useId, useLayoutEffect, useRef } from "react"
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

/**
 * Why a value was refused. It lies over the page, because rows and the frame of the list cut off what leaves them: below its cell, or above where there is
 * no room.
 */
const CellProblem = ({ id, text }: { readonly id: string; readonly text: string }): ReactNode => {
  const ref = useRef<HTMLParagraphElement>(null)
  useLayoutEffect(() => {
    const box = ref.current!
    const cell = box.parentElement!
    const place = (): void => {
      const at = cell.getBoundingClientRect()
      const { height, width } = box.getBoundingClientRect()
      const start = getComputedStyle(cell).direction === "rtl" ? at.right - width : at.left
      const fits = at.bottom + 3 + height <= innerHeight
      box.style.top = `${fits ? at.bottom + 3 : at.top - height - 3}px`
      box.style.left = `${Math.max(4, Math.min(start, innerWidth - width - 4))}px`
    }
    box.showPopover()
    place()
    addEventListener("scroll", place, { capture: true, passive: true })
    addEventListener("resize", place)
    return () => {
      removeEventListener("scroll", place, { capture: true })
      removeEventListener("resize", place)
    }
  }, [text])
  return <p ref={ref} id={id} popover="manual" className="cell-problem" role="alert">{text}</p>
}

/** The input of a cell that is edited. It saves when it loses the focus. */
export const CellEditor = ({ column, editing, record, resource }: CellEditorProps): ReactNode => {
  const field = resource.fields.get(column.id)!
  const t = useMessages()
  const problemId = useId()
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
        // What floats over the page belongs to React's tree, too.
        if (
          event.defaultPrevented || !(event.target instanceof Node && event.currentTarget.contains(event.target))
        ) return
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
        describedBy={editing.problem === null ? undefined : problemId}
        onChange={(next) => {
          draft.current = next
          // A choice saves at once, because nothing is left to type.
          const chosen = field.relation !== undefined || field.kind === "enum" || field.kind === "boolean"
          if (chosen && next.problem === null) commit("stay")
        }}
      />
      {editing.problem !== null && <CellProblem id={problemId} text={editing.problem} />}
    </div>
  )
}
