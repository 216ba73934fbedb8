/** The filter of a list: as chips and as text, with one syntax tree for both. It changes a filter text and does not read rows. */

import * as Result from "effect/Result"
import { ListFilter, Plus, SquarePen, X } from "lucide-react"
import { lazy, type ReactNode, Suspense, useRef, useState } from "react"
import type { FilterError } from "../../../core/domain/filter/read.ts"
import { useTitles } from "../field/titles.ts"
import { useReader } from "../field/value.tsx"
import { useShortcut } from "../ground/keys.ts"
import { Box } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { type Condition, printConditions, readConditions } from "../model/conditions.ts"
import { subjectAt } from "../model/subjects.ts"
import style from "./filter.module.css"
import { wordsOf } from "./words.ts"
import { Marked, Wrong } from "./wrong.tsx"

const ConditionEditor = lazy(() =>
  import("./condition.tsx").then(({ ConditionEditor }) => ({ default: ConditionEditor }))
)
const FieldChoice = lazy(() => import("./field-choice.tsx").then(({ FieldChoice }) => ({ default: FieldChoice })))
const TextEditor = lazy(() => import("./text.tsx").then(({ TextEditor }) => ({ default: TextEditor })))

interface BarProps {
  readonly resource: Resource
  readonly filter: string
  readonly onChange: (filter: string) => void
  /** The errors of the service, if it refused the filter. */
  readonly errors: readonly FilterError[]
}

const Chip = (
  { condition, onChange, resource }: {
    readonly condition: Condition
    readonly resource: Resource
    readonly onChange: (text: string | null) => void
  }
): ReactNode => {
  const reader = useReader()
  const t = useMessages()
  const { simple } = condition
  const subject = simple === null ? undefined : subjectAt(resource, simple.field)
  const target = subject?.resource.related(subject.field.name)
  const titles = useTitles(target?.target, target === undefined ? [] : simple?.values ?? [], target?.targetField)
  const words = wordsOf(condition, resource, reader, titles)
  return (
    <span className={style.chip}>
      <Box
        label={words.label || t.filter.label}
        placement="bottom start"
        boxClass={style.pop}
        content={(close) => (
          <ConditionEditor
            resource={resource}
            start={condition.simple}
            text={condition.text}
            onDone={(text) => {
              close()
              if (text !== null) onChange(text)
            }}
          />
        )}
      >
        {words.label !== "" && <span className="cut">{words.label}</span>}
        {words.operator !== "" && <span className={style.op}>{words.operator}</span>}
        {words.value !== "" && <bdi className={`${style.value} cut`}>{words.value}</bdi>}
      </Box>
      <button
        type="button"
        className={style.remove}
        aria-label={t.filter.remove(words.label || condition.text)}
        onClick={() => onChange(null)}
      >
        <X className="icon" aria-hidden="true" />
      </button>
    </span>
  )
}

const Adder = (
  { onAdd, resource }: { readonly resource: Resource; readonly onAdd: (text: string) => void }
): ReactNode => {
  const t = useMessages()
  const [open, setOpen] = useState(false)
  const [field, setField] = useState<string | null>(null)
  const start = (now: boolean): void => {
    setField(null)
    setOpen(now)
  }
  useShortcut("f", () => start(true))
  useShortcut("/", () => start(true))
  return (
    <Box
      label={t.filter.add}
      placement="bottom start"
      className={style.add}
      boxClass={style.pop}
      open={open}
      onOpenChange={start}
      content={(close) =>
        field === null
          ? (
            <FieldChoice
              resource={resource}
              onChoose={setField}
              onSearch={(text) => {
                close()
                onAdd(text)
              }}
            />
          )
          : (
            <ConditionEditor
              resource={resource}
              start={{ field, is: "is", values: [] }}
              fresh
              text=""
              onDone={(text) => {
                close()
                if (text !== null) onAdd(text)
              }}
            />
          )}
    >
      <Plus className="icon" aria-hidden="true" /> {t.filter.add} <kbd aria-hidden="true">F</kbd>
    </Box>
  )
}

export const FilterBar = ({ errors, filter, onChange, resource }: BarProps): ReactNode => {
  const t = useMessages()
  const [editing, setEditing] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const read = readConditions(filter, resource)
  const conditions = Result.isSuccess(read) ? read.success : null
  const wrong = Result.isFailure(read) ? read.failure : errors
  const put = (at: number, text: string | null): void => {
    const texts = conditions!.map((each) => each.text)
    onChange(printConditions(text === null ? texts.toSpliced(at, 1) : texts.with(at, text)))
  }
  const close = (): void => {
    setEditing(false)
    requestAnimationFrame(() => opener.current?.focus())
  }
  return (
    <section className={style.bar} aria-label={t.filter.label}>
      <div className={style.chips}>
        <ListFilter className={`icon ${style.lead}`} aria-hidden="true" />
        {conditions?.map((condition, at) => (
          <Chip
            key={`${at} ${condition.text}`}
            condition={condition}
            resource={resource}
            onChange={(text) => put(at, text)}
          />
        ))}
        {conditions !== null && (
          <Adder
            resource={resource}
            onAdd={(text) => onChange(printConditions([...conditions.map((each) => each.text), text]))}
          />
        )}
        {filter === "" && (
          <button
            type="button"
            ref={opener}
            className={`${style.add} ${style.wide}`}
            onClick={() => setEditing(true)}
          >
            <SquarePen className="icon" aria-hidden="true" /> {t.filter.edit}
          </button>
        )}
      </div>
      {editing
        ? (
          <Suspense
            fallback={
              <div className={style.text}>
                <code>{filter}</code>
              </div>
            }
          >
            <TextEditor
              resource={resource}
              start={filter}
              onCancel={close}
              onDone={(text) => {
                onChange(text)
                close()
              }}
            />
          </Suspense>
        )
        : filter !== "" && (
          <div className={style.text}>
            <code dir="ltr" className={wrong.length > 0 ? style.flawed : undefined}>
              <Marked text={filter} errors={wrong} />
            </code>
            <button type="button" ref={opener} aria-label={t.filter.edit} onClick={() => setEditing(true)}>
              <SquarePen className="icon" aria-hidden="true" />
            </button>
          </div>
        )}
      {!editing && <Wrong errors={wrong} />}
    </section>
  )
}
