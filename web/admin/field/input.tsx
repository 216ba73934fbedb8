/**
 * The input of one field by its kind, for cells and forms alike. It gives values of the wire, exact, or says what is wrong with what was typed; it
 * neither saves nor knows where it stands.
 */

import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react"
import { useMessages } from "../messages/locale.tsx"
import { FileInput } from "./file.tsx"
import type { InputProps } from "./input-props.ts"
import { isQuantity } from "./kind.ts"
import { editText, parseText } from "./parse.ts"
import { plain } from "./plain.ts"
import { RelationInput } from "./relation.tsx"
import { enumText } from "./text.ts"

interface InnerProps extends InputProps {
  readonly t: ReturnType<typeof useMessages>
}

const frame = (compact: boolean): string => compact ? "cell-input" : "input"

const attributes = ({ describedBy, disabled, id, invalid, label }: InputProps) => ({
  id,
  "aria-label": label,
  "aria-describedby": describedBy,
  "aria-invalid": invalid === true ? true : undefined,
  disabled
})

const Choice = (props: InnerProps): ReactNode => {
  const { autoFocus = false, compact = false, field, invalid = false, onChange, t, value } = props
  const values = field.kind === "boolean" ? ["true", "false"] : field.values ?? []
  const words: Readonly<Record<string, string>> = field.kind === "boolean"
    ? { true: t.field.yes, false: t.field.no }
    : {}
  const ref = useRef<HTMLSelectElement>(null)
  useEffect(() => {
    if (!autoFocus) return
    ref.current?.focus()
    // A cell's choice is open at once, where the browser allows it.
    if (compact) {
      try {
        ref.current?.showPicker()
      } catch {
        // Not after this kind of event: the arrow keys open it.
      }
    }
  }, [autoFocus, compact])
  return (
    <div className={frame(compact)} data-invalid={invalid ? "" : undefined}>
      <select
        ref={ref}
        {...attributes(props)}
        value={plain(value)}
        onChange={({ target }) =>
          onChange(
            target.value === ""
              ? { value: field.optional ? null : undefined, problem: field.optional ? null : t.field.required }
              : parseText(field, target.value, t)
          )}
      >
        {(field.optional || plain(value) === "") && (
          <option value="">{field.optional ? t.field.empty : t.field.choose}</option>
        )}
        {values.map((each) => <option key={each} value={each}>{words[each] ?? enumText(each)}</option>)}
      </select>
    </div>
  )
}

/** A moment as a `datetime-local` input has it, with its seconds. */
const localOf = (iso: string): string => {
  const time = Date.parse(iso)
  if (Number.isNaN(time)) return ""
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

const Line = (props: InnerProps): ReactNode => {
  const { autoFocus = false, compact = false, field, invalid = false, onChange, t, typed, value } = props
  const [text, setText] = useState(() => typed ?? editText(field, value))
  const shown = useRef(value)
  const ref = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  useEffect(() => {
    // A value from elsewhere (undo, a merge, another version) takes the place of what is shown; what somebody types does not.
    if (Object.is(shown.current, value)) return
    shown.current = value
    if (value !== undefined) setText(editText(field, value))
  }, [field, value])
  useEffect(() => {
    if (!autoFocus) return
    ref.current?.focus()
    if (typed === undefined) ref.current?.select()
  }, [autoFocus, typed])
  const change = (next: string): void => {
    setText(next)
    const draft = parseText(field, next, t)
    shown.current = draft.value
    onChange(draft)
  }
  const long = !compact && (field.kind === "json" || (field.kind === "text" && (field.max ?? 9_999) > 200))
  const time = field.kind === "timestamp"
  const common = {
    ...attributes(props),
    ref,
    dir: field.kind === "text" ? "auto" : undefined,
    className: field.kind === "json" || field.kind === "uuid" ? "mono" : undefined
  }
  return (
    <div className={frame(compact)} data-invalid={invalid ? "" : undefined}>
      {long
        ? (
          <textarea
            {...common}
            rows={Math.min(12, Math.max(2, text.split("\n").length))}
            value={text}
            onChange={({ target }) => change(target.value)}
          />
        )
        : (
          <input
            {...common}
            type={time ? "datetime-local" : field.kind === "date" ? "date" : "text"}
            step={time ? 1 : undefined}
            inputMode={isQuantity(field) ? "decimal" : undefined}
            autoComplete="off"
            value={time ? localOf(text) : text}
            onChange={({ target }) =>
              change(time && target.value !== "" ? new Date(target.value).toISOString() : target.value)}
          />
        )}
    </div>
  )
}

export const Input = (props: InputProps): ReactNode => {
  const t = useMessages()
  const { field } = props
  if (field.kind === "file") return <FileInput {...props} />
  if (field.relation !== undefined) return <RelationInput {...props} />
  return field.kind === "enum" || field.kind === "boolean" ? <Choice {...props} t={t} /> : <Line {...props} t={t} />
}

/** Enter and Escape in a cell's input; Tab goes on to the next cell. */
export const cellKeys = (
  event: KeyboardEvent,
  { onCancel, onCommit }: {
    readonly onCommit: (then: "stay" | "down" | "next" | "before") => void
    readonly onCancel: () => void
  }
): void => {
  if (event.nativeEvent.isComposing) return
  if (event.key === "Escape") onCancel()
  else if (event.key === "Enter" && !event.shiftKey) onCommit("down")
  else if (event.key === "Tab") onCommit(event.shiftKey ? "before" : "next")
  else return
  event.preventDefault()
  event.stopPropagation()
}
