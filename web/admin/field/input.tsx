/**
 * The input of one field by its kind, for cells and forms. It reports exact values in wire form, or what is wrong with the typed text. It saves
 * nothing and does not know where it is used.
 */

import { type KeyboardEvent, lazy, type ReactNode, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react"
import { config } from "../config.ts"
import { useMessages } from "../messages/locale.tsx"
import { plain, short } from "../model/plain.ts"
import { exampleOf, parseField } from "./exact.ts"
import { FileInput } from "./file-input.tsx"
import { FilesInput } from "./files.tsx"
import type { InputProps } from "./input-props.ts"
import style from "./input.module.css"
import { isExact, isLong, isQuantity, isState, toneOf } from "./kind.ts"
import { MomentInput, RangeInput } from "./moment.tsx"
import { editText } from "./parse.ts"
import { enumText } from "./text.ts"

const loadRelation = () => import("./relation.tsx")
const RelationInput = lazy(() => loadRelation().then(({ RelationInput }) => ({ default: RelationInput })))

const loadCodes = () => import("./codes.tsx")
const CodeInput = lazy(() => loadCodes().then(({ CodeInput }) => ({ default: CodeInput })))

const loadArray = () => import("./array.tsx")
const ArrayInput = lazy(() => loadArray().then(({ ArrayInput }) => ({ default: ArrayInput })))

const PluginInput = lazy(() => import("./plugin.tsx").then(({ PluginInput }) => ({ default: PluginInput })))

/** Loads the inputs of relations, codes and lists in advance, so that they open at once, also without a connection. */
export const prepareInputs = (): void =>
  void Promise.all([loadRelation(), loadCodes(), loadArray()]).catch(() => undefined)

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

/** Whether the page draws the lists of choices, not the system. */
const drawsLists = CSS.supports("appearance", "base-select") && CSS.supports("selector(:open)")

const Choice = (props: InnerProps): ReactNode => {
  const { autoFocus = false, compact = false, field, invalid = false, onChange, t, value } = props
  const choices = field.kind === "boolean" ? ["true", "false"] : field.values ?? []
  const now = plain(value)
  // A value that is not among the allowed ones is still what the record has.
  const values = now === "" || choices.includes(now) ? choices : [now, ...choices]
  const word = (each: string): string =>
    field.kind === "boolean" ? (each === "true" ? t.field.yes : t.field.no) : short(enumText(each), 200)
  const ref = useRef<HTMLSelectElement>(null)
  useEffect(() => {
    if (!autoFocus) return
    ref.current?.focus()
    // The choices of a cell open at once, if the browser allows it.
    if (compact) {
      try {
        ref.current?.showPicker()
      } catch {
        // Without a user gesture the browser refuses this. The arrow keys open the list then.
      }
    }
  }, [autoFocus, compact])
  const tone = (each: string): string | undefined => isState(field) && each !== "" ? toneOf(each) : undefined
  return (
    <div
      className={`${frame(compact)} ${style.choice}`}
      data-invalid={invalid ? "" : undefined}
      data-tone={tone(now)}
    >
      <select
        ref={ref}
        {...attributes(props)}
        value={now}
        // An open list handles Enter and Escape itself, where the page draws it.
        onKeyDown={(event) => {
          if (drawsLists && event.currentTarget.matches(":open")) event.stopPropagation()
        }}
        onChange={({ target }) =>
          onChange(
            target.value === ""
              ? { value: field.optional ? null : undefined, problem: field.optional ? null : t.field.required }
              : parseField(field, target.value, t)
          )}
      >
        {(field.optional || now === "") && <option value="">{field.optional ? t.field.empty : t.field.choose}</option>}
        {values.map((each) => <option key={each} value={each} data-tone={tone(each)}>{word(each)}</option>)}
      </select>
    </div>
  )
}

const Line = (props: InnerProps): ReactNode => {
  const { autoFocus = false, compact = false, field, invalid = false, onChange, t, typed, value } = props
  const [text, setText] = useState(() => typed ?? editText(field, value))
  const latest = useRef(value)
  const ref = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  // At once: a letter that is typed next belongs to the new text.
  useLayoutEffect(() => {
    // A value from outside (undo, a merge, another version) replaces the text. A value that was typed here does not.
    if (Object.is(latest.current, value)) return
    latest.current = value
    setText(editText(field, value))
  }, [field, value])
  // At once, too: later it would select the first letter that was typed, and the second would take its place.
  useLayoutEffect(() => {
    if (!autoFocus) return
    ref.current?.focus()
    if (typed === undefined) ref.current?.select()
  }, [autoFocus, typed])
  const change = (next: string): void => {
    setText(next)
    const draft = parseField(field, next, t)
    latest.current = draft.value
    onChange(draft)
  }
  // A single line would lose the line breaks of a value that has some.
  const long = !compact &&
    (isLong(field) || ((field.kind === "text" || field.kind === "native") && text.includes("\n")))
  const common = {
    ...attributes(props),
    ref,
    // Numbers and exact texts are read from the left in every language: `-5` and `2001:db8::1` would stand in another order.
    dir: field.kind === "text" ? "auto" : "ltr",
    placeholder: exampleOf(field),
    className: field.kind === "text" ? undefined : isExact(field) ? `mono ${style.exact}` : style.exact
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
            type="text"
            inputMode={isQuantity(field) ? "decimal" : undefined}
            autoComplete="off"
            value={text}
            onChange={({ target }) => change(target.value)}
          />
        )}
    </div>
  )
}

/** The input of a field: the plugin component that the view names, else the input of its kind. */
export const Input = (props: InputProps): ReactNode => {
  const name = config.plugins === undefined ? undefined : props.resource.view.inputs?.[props.field.name]
  if (name === undefined) return <Plain {...props} />
  const fallback = <Plain {...props} />
  return (
    <Suspense fallback={fallback}>
      <PluginInput name={name} of={props} fallback={fallback} />
    </Suspense>
  )
}

const Plain = (props: InputProps): ReactNode => {
  const t = useMessages()
  const { field } = props
  if (field.kind === "file") return <FileInput {...props} />
  if (field.kind === "files") return <FilesInput {...props} />
  if (field.kind === "array") {
    return (
      <Suspense fallback={<div className={frame(props.compact ?? false)} aria-busy="true" />}>
        <ArrayInput {...props} Element={Plain} />
      </Suspense>
    )
  }
  if (field.relation !== undefined) {
    return (
      <Suspense fallback={<div className={frame(props.compact ?? false)} aria-busy="true" />}>
        <RelationInput {...props} />
      </Suspense>
    )
  }
  switch (field.kind) {
    case "enum":
    case "boolean":
      return <Choice {...props} t={t} />
    case "date":
    case "timestamp":
    case "time":
      return <MomentInput {...props} />
    case "range": {
      const line = <Line {...props} t={t} />
      return field.of === "date" || field.of === "timestamp" ? <RangeInput {...props}>{line}</RangeInput> : line
    }
    case "country":
    case "currency":
      return (
        <Suspense fallback={<div className={frame(props.compact ?? false)} aria-busy="true" />}>
          <CodeInput {...props} />
        </Suspense>
      )
    default:
      return <Line {...props} t={t} />
  }
}

/** Handles Enter, Escape and Tab in a cell's input. Tab moves to the next cell. */
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
