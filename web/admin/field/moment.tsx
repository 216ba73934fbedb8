/**
 * An input of a date or a time in the language of the app: a text that may be typed in any usual way or pasted, changed by the arrow keys, and days to choose
 * from. A value that is not touched stays as it is, to the last digit.
 */

import { CalendarDays } from "lucide-react"
import { type KeyboardEvent, lazy, type ReactNode, useId, useLayoutEffect, useRef, useState } from "react"
import { Box } from "../ground/parts.tsx"
import { useLocale } from "../messages/locale.tsx"
import { plain } from "../model/plain.ts"
import { parseField } from "./exact.ts"
import type { InputProps } from "./input-props.ts"
import style from "./input.module.css"
import { endsOf, type MomentKind, rangeText, today, type Writing, writingOf } from "./moment.ts"
import type { Draft } from "./parse.ts"

const Calendar = lazy(() => import("./calendar.tsx").then(({ Calendar }) => ({ default: Calendar })))

interface MomentProps {
  readonly kind: MomentKind
  /** The value in wire form; empty for none. */
  readonly value: string
  /** A text that is no value, which was typed before. */
  readonly typed?: string | undefined
  /** `value` is null for a text that is none, and empty for no text. */
  readonly onValue: (value: string | null, text: string) => void
  readonly id?: string | undefined
  readonly label?: string | undefined
  readonly describedBy?: string | undefined
  readonly invalid?: boolean
  readonly required?: boolean
  readonly compact?: boolean
  readonly autoFocus?: boolean
  readonly disabled?: boolean
  /** False: another input beside it shows the zone. */
  readonly zoned?: boolean
}

/** The zone that times are in: its short name, and the whole one in a tooltip. */
const Zone = ({ id, value, writing }: { readonly id: string; readonly value: string; readonly writing: Writing }) => (
  <span className={style.zone} id={id} title={Intl.DateTimeFormat().resolvedOptions().timeZone}>
    <bdi>{writing.zone(value)}</bdi>
  </span>
)

/** The input without its frame. */
export const Moment = (props: MomentProps): ReactNode => {
  const { autoFocus = false, compact = false, describedBy, disabled = false, id, invalid = false, kind, label } = props
  const { onValue, required = false, typed, value, zoned = true } = props
  const { format, t } = useLocale()
  const writing = writingOf(format.locale)
  const zoneId = useId()
  const [text, setText] = useState(() => typed ?? writing.text(kind, value))
  const [choosing, setChoosing] = useState(false)
  const ref = useRef<HTMLInputElement>(null)
  /** The value that was there first: a text that says the same is this one. */
  const held = useRef(value)
  const shown = useRef(value)
  const selected = useRef<readonly [start: number, end: number] | null>(null)
  useLayoutEffect(() => {
    // A value from outside (undo, a merge, another version) replaces the text. A value that was typed here does not.
    if (shown.current === value) return
    shown.current = value
    held.current = value
    setText(writing.text(kind, value))
  }, [kind, value, writing])
  useLayoutEffect(() => {
    if (!autoFocus) return
    ref.current?.focus()
    if (typed === undefined) ref.current?.select()
  }, [autoFocus, typed])
  useLayoutEffect(() => {
    if (selected.current !== null) ref.current?.setSelectionRange(...selected.current)
    selected.current = null
  }, [text])
  const put = (next: string, read: string | null): void => {
    setText(next)
    shown.current = read ?? ""
    onValue(read, next)
  }
  const change = (next: string): void => put(next, next.trim() === "" ? "" : writing.read(kind, next, held.current))
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.nativeEvent.isComposing) return
    const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0
    if (by === 0 || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    event.stopPropagation()
    if (event.altKey) return kind === "time" ? undefined : setChoosing(true)
    const stepped = writing.step(kind, text, event.currentTarget.selectionStart ?? 0, by, held.current)
    if (stepped === null) return
    selected.current = [stepped.start, stepped.end]
    put(stepped.text, stepped.value)
  }
  const isZoned = kind === "timestamp" && zoned
  const described = [describedBy, isZoned ? zoneId : undefined].filter((each) => each !== undefined).join(" ")
  return (
    <>
      <input
        ref={ref}
        id={id}
        className={style.moment}
        aria-label={label}
        aria-describedby={described === "" ? undefined : described}
        aria-invalid={invalid ? true : undefined}
        disabled={disabled}
        required={required}
        autoComplete="off"
        spellCheck={false}
        dir="ltr"
        placeholder={writing.pattern(kind, t.field.letters)}
        value={text}
        onChange={({ target }) => change(target.value)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          // A whole date or time takes the place of what is there, wherever the caret is.
          const pasted = event.clipboardData.getData("text").trim()
          const read = writing.read(kind, pasted, held.current)
          if (read === null) return
          event.preventDefault()
          put(writing.text(kind, read), read)
        }}
        onBlur={() => {
          // What was understood is shown in the usual form.
          if (shown.current !== "") setText(writing.text(kind, shown.current))
        }}
      />
      {isZoned && <Zone id={zoneId} value={shown.current} writing={writing} />}
      {kind !== "time" && !disabled && (
        <Box
          className={style.open}
          name={t.field.chooseDay}
          label={t.field.chooseDay}
          tabIndex={compact ? -1 : undefined}
          open={choosing}
          onOpenChange={setChoosing}
          content={(close) => (
            <Calendar
              value={writing.day(kind, shown.current)}
              today={today()}
              onChoose={(day) => {
                close()
                const next = writing.onDay(kind, shown.current, day)
                if (next !== null) put(writing.text(kind, next), next)
              }}
            />
          )}
        >
          <CalendarDays className="icon" aria-hidden="true" />
        </Box>
      )}
    </>
  )
}

const frame = ({ compact = false }: InputProps): string => compact ? "cell-input" : "input"

/** The draft of a text: what the kind makes of an empty one, a value, or what is wrong with it. */
const useDraft = ({ field }: InputProps): (value: string | null, text: string, example: string) => Draft => {
  const { t } = useLocale()
  return (value, text, example) =>
    value === ""
      ? parseField(field, "", t)
      : value === null
      ? { value: undefined, problem: t.field.notLike(example), text }
      : { value, problem: null }
}

const isMoment = (kind: string): kind is MomentKind => kind === "date" || kind === "timestamp" || kind === "time"

/** The input of a field of dates or times. */
export const MomentInput = (props: InputProps): ReactNode => {
  const { field, invalid = false, onChange, value, ...rest } = props
  const { format } = useLocale()
  const draftOf = useDraft(props)
  const kind = isMoment(field.kind) ? field.kind : "date"
  return (
    <div className={frame(props)} data-invalid={invalid ? "" : undefined}>
      <Moment
        {...rest}
        kind={kind}
        value={plain(value)}
        invalid={invalid}
        onValue={(next, text) => onChange(draftOf(next, text, writingOf(format.locale).example(kind)))}
      />
    </div>
  )
}

/** The input of a field of ranges of dates or times: where it begins and before what it ends. Another form of a range is typed as the database writes it. */
export const RangeInput = (props: InputProps & { readonly children: ReactNode }): ReactNode => {
  const { autoFocus = false, children, compact = false, describedBy, disabled = false, field, id, invalid = false } =
    props
  const { label, onChange, value } = props
  const { format, t } = useLocale()
  const draftOf = useDraft(props)
  const kind = field.of === "timestamp" ? "timestamp" : "date"
  const given = plain(value)
  const [ends, setEnds] = useState(() => given === "" ? { open: "[", low: "", high: "", close: ")" } : endsOf(given))
  const shown = useRef(given)
  useLayoutEffect(() => {
    if (shown.current === given) return
    shown.current = given
    setEnds(given === "" ? { open: "[", low: "", high: "", close: ")" } : endsOf(given))
  }, [given])
  if (ends === null) return children
  const put = (name: "low" | "high") => (next: string | null, text: string): void => {
    const whole = endsOf(text.trim())
    if (next === null && whole !== null) {
      // A range as the database writes it, typed or pasted at once.
      const draft = parseField(field, text, t)
      shown.current = plain(draft.value)
      if (draft.problem === null) setEnds(endsOf(shown.current))
      return onChange(draft)
    }
    const changed = { ...ends, [name]: next ?? "" }
    if (next !== null) setEnds(changed)
    const all = changed.low === "" && changed.high === "" ? "" : rangeText(changed)
    const draft = next === null
      ? draftOf(null, text, writingOf(format.locale).example(kind))
      : all === ""
      ? draftOf("", "", "")
      : parseField(field, all, t)
    shown.current = plain(draft.value)
    onChange(draft)
  }
  return (
    <div
      className={`${compact ? "cell-input" : "input"} ${style.range}`}
      role="group"
      aria-label={label}
      data-kind={kind}
      data-invalid={invalid ? "" : undefined}
    >
      <span className={style.end}>
        <Moment
          id={id}
          label={id === undefined ? t.field.from : undefined}
          kind={kind}
          value={ends.low}
          autoFocus={autoFocus}
          compact={compact}
          describedBy={describedBy}
          disabled={disabled}
          invalid={invalid}
          zoned={false}
          onValue={put("low")}
        />
        <span className={style.dash} aria-hidden="true">–</span>
      </span>
      <span className={style.end}>
        <Moment
          label={t.field.before}
          kind={kind}
          value={ends.high}
          compact={compact}
          describedBy={describedBy}
          disabled={disabled}
          invalid={invalid}
          onValue={put("high")}
        />
      </span>
    </div>
  )
}
