/**
 * The input of a list of values: chips to remove, and an input to add with, which takes several lines at once. What is typed and not yet added counts as
 * the last element, so that no save loses it.
 */

import { X } from "lucide-react"
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useEffectEvent,
  useRef,
  useState
} from "react"
import type { MetaField } from "../../client/index.ts"
import { listOf } from "../../client/problem.ts"
import { type Messages, useMessages } from "../messages/locale.tsx"
import { fieldLabel } from "../model/catalogue.ts"
import { isolated } from "../model/plain.ts"
import { parseLines } from "./array-lines.ts"
import style from "./array.module.css"
import { elementOf, elementsOf } from "./array.ts"
import { parseField } from "./exact.ts"
import type { InputProps } from "./input-props.ts"
import { type Draft, editText, parseText } from "./parse.ts"
import { useElementText } from "./value.tsx"

/** What is typed and not added: its value where it has one. */
interface Pending {
  readonly text: string
  readonly value?: unknown
  readonly problem: string | null
}

interface Inner extends InputProps {
  readonly t: Messages
}

const nothing: Pending = { text: "", problem: null }

/** What an input begins with: in a cell that could not be saved, the text of the whole list; else what was typed of one element. */
const beginning = (props: Inner): { readonly list: readonly unknown[]; readonly text?: string } => {
  const { compact = false, typed, value } = props
  const whole = compact && typed !== undefined ? parseText(props.field, typed, props.t).value : undefined
  if (Array.isArray(whole)) return { list: whole }
  return { list: elementsOf(value), ...(typed === undefined ? {} : { text: typed }) }
}

/** The list and what is typed, as a draft of the form. */
const useList = (props: Inner) => {
  const { field, held, onChange, t, value } = props
  const begun = useRef(beginning(props))
  const [list, setList] = useState(begun.current.list)
  const [pending, setPending] = useState<Pending>(nothing)
  // Another input, where a text that is no value has to go.
  const [round, setRound] = useState(0)
  const told = useRef(value)
  const stored = useRef(held)
  const given = useRef(value)
  const tell = (next: readonly unknown[], typing: Pending = nothing): void => {
    setList(next)
    setPending(typing)
    const whole = typing.value === undefined ? next : [...next, typing.value]
    const { max } = field
    const problem = typing.problem ?? (max !== undefined && whole.length > max ? t.field.tooMany(max) : null)
    // A list that was null and has nothing again is what it was.
    const sent = whole.length === 0 && field.optional && held === null ? null : whole
    told.current = sent
    onChange({ value: sent, problem, ...(typing.problem === null ? {} : { text: typing.text }) })
  }
  /** What is typed of an element becomes a part of the draft. */
  const type = ({ problem, text: typed, value: typedValue }: Draft): void => {
    const text = typed ?? editText(elementOf(field), typedValue)
    tell(list, text === "" ? nothing : { text, problem, ...(problem === null ? { value: typedValue } : {}) })
  }
  const begin = useEffectEvent(() => {
    const { text } = begun.current
    if (text !== undefined) type(parseField(elementOf(field), text, t))
  })
  useEffect(() => begin(), [])
  const replace = useEffectEvent(() => {
    // A value from outside (undo, a merge, another version) replaces the list. One that was made here does not, nor the record's own if it is the same, nor
    // one that was given before: a row that is read again has new lists.
    const written = JSON.stringify(value)
    const known = told.current === value ||
      (stored.current === held &&
        (JSON.stringify(told.current) === written || JSON.stringify(given.current) === written))
    given.current = value
    stored.current = held
    if (known) return
    told.current = value
    setList(elementsOf(value))
    setPending(nothing)
    if (pending.problem !== null) setRound((before) => before + 1)
  })
  useEffect(() => replace(), [value])
  return { list, pending, round, tell, type, typed: round === 0 ? begun.current.text : undefined }
}

const isChosen = ({ kind }: MetaField): boolean => kind === "enum" || kind === "boolean"

interface ArrayInputProps extends InputProps {
  /** The input of an element, by its kind. */
  readonly Element: (props: InputProps) => ReactNode
}

export const ArrayInput = ({ Element, ...given }: ArrayInputProps): ReactNode => {
  const t = useMessages()
  const props = { ...given, t }
  const { autoFocus = false, compact = false, describedBy, disabled = false, field, id, invalid = false, label } = props
  const { resource } = props
  const text = useElementText(resource, field)
  const element = elementOf(field)
  const { list, pending, round, tell, type, typed } = useList(props)
  const [said, setSaid] = useState("")
  const box = useRef<HTMLDivElement>(null)
  const name = label ?? fieldLabel(resource, field.name)

  const add = (values: readonly unknown[]): void => {
    setSaid(t.field.added(values.map(text).join(", ")))
    tell([...list, ...values])
  }
  /** Focuses the button of an element, or the input behind the last. */
  const focusAt = (at: number): void => {
    const buttons = box.current?.querySelectorAll<HTMLElement>("li > button")
    ;(buttons?.[at] ?? box.current?.querySelector<HTMLElement>("input, select"))?.focus()
  }
  const remove = (at: number): void => {
    setSaid(t.field.removed(text(list[at])))
    // The last button goes: the focus leaves it before that, so that it does not leave the input.
    if (at === list.length - 1) focusAt(at === 0 ? list.length : at - 1)
    tell(list.toSpliced(at, 1), pending)
  }
  const keys = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing || disabled) return
    const on = event.target
    if (!(on instanceof HTMLElement)) return
    const place = [...box.current?.querySelectorAll("li > button") ?? []].indexOf(on)
    const removes = event.key === "Backspace" || event.key === "Delete"
    if (place >= 0 && removes) remove(place)
    else if (place >= 0 && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const onward = (event.key === "ArrowRight") === (getComputedStyle(on).direction === "ltr")
      focusAt(Math.max(0, place + (onward ? 1 : -1)))
    } else if (place < 0 && event.key === "Enter" && pending.value !== undefined) add([pending.value])
    else if (place < 0 && event.key === "Backspace" && pending.text === "" && list.length > 0) {
      setSaid(t.field.removed(text(list.at(-1))))
      tell(list.slice(0, -1))
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  const paste = (event: ClipboardEvent): void => {
    const pasted = event.clipboardData.getData("text/plain").trim()
    if (disabled || !/[\r\n]/.test(pasted)) return
    event.preventDefault()
    const { problem, value } = parseLines(element, pasted, t)
    if (problem === null) add(listOf(value))
    else tell(list, { ...pending, problem })
  }
  return (
    <div className={compact ? "cell-input" : "input"} data-invalid={invalid ? "" : undefined}>
      <div
        ref={box}
        className={style.box}
        data-compact={compact ? "" : undefined}
        role="group"
        aria-label={name}
        onKeyDown={keys}
        onPaste={paste}
      >
        <ul aria-label={name}>
          {list.map((each, at) => (
            <li key={at}>
              <span className="cut">
                <bdi dir="auto" className={each === null ? "dim" : undefined}>{text(each)}</bdi>
              </span>
              <button
                type="button"
                disabled={disabled}
                aria-label={t.field.remove(isolated(text(each)))}
                onClick={() => remove(at)}
              >
                <X className="icon" aria-hidden="true" />
              </button>
            </li>
          ))}
        </ul>
        <div className={style.add}>
          <Element
            key={round}
            compact
            resource={resource}
            field={element}
            value={pending.value}
            typed={typed}
            autoFocus={autoFocus && round === 0}
            disabled={disabled}
            label={t.field.addTo(isolated(name))}
            {...(id === undefined ? {} : { id })}
            {...(describedBy === undefined ? {} : { describedBy })}
            onChange={(draft) => {
              if (isChosen(element) && draft.problem === null && draft.value != null) add([draft.value])
              else type(draft)
            }}
          />
        </div>
      </div>
      <span className="hush" role="status">{said}</span>
    </div>
  )
}
