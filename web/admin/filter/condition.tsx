/** Editors of one condition: its field, its operator and its values. It offers the values of the list (facets). Loaded on use. */

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import * as Result from "effect/Result"
import { Search } from "lucide-react"
import { type FormEvent, type ReactNode, useId, useState } from "react"
import { elementOf } from "../field/array.ts"
import { Moment } from "../field/moment.tsx"
import { useTitles } from "../field/titles.ts"
import { useReader, Value } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { useMessages } from "../messages/locale.tsx"
import { keyOf, keyPartsOf, type Resource, titleNeeds, titleOf } from "../model/catalogue.ts"
import { type AnyPage, resourceClient } from "../model/client.ts"
import { checkSimple, type Operator, operatorsOf, type Simple, textOfSimple } from "../model/conditions.ts"
import type { Path } from "../model/paths.ts"
import { plain } from "../model/plain.ts"
import { subjectAt } from "../model/subjects.ts"
import style from "./filter.module.css"
import { operatorWord, spanText, subjectLabel } from "./words.ts"

interface EditorProps {
  readonly resource: Resource
  /** The condition to edit. Null: it can be edited as text only. */
  readonly start: Simple | null
  readonly text: string
  /** True for a new condition: it begins with the field's default operator. */
  readonly fresh?: boolean
  /** Called with the new text, or with null if the editor was closed without a change. */
  readonly onDone: (text: string | null) => void
}

const isChosen = (is: Operator): boolean => is === "oneOf" || is === "noneOf"

/** The operator that the choice shows. `is` and `oneOf` are one entry, with one value or several. */
const shownOperator = (is: Operator, offered: readonly Operator[]): Operator =>
  offered.includes(is)
    ? is
    : is === "is" && offered.includes("oneOf")
    ? "oneOf"
    : is === "isNot" && offered.includes("noneOf")
    ? "noneOf"
    : offered[0]!

export const ConditionEditor = ({ fresh = false, onDone, resource, start, text }: EditorProps): ReactNode => {
  const t = useMessages()
  const id = useId()
  const subject = start === null || start.is === "search" ? undefined : subjectAt(resource, start.field)
  const field = subject?.field
  const offered = field === undefined ? [] : operatorsOf(field)
  const [is, setIs] = useState<Operator>(
    start === null
      ? "search"
      : start.is === "search"
      ? "search"
      : fresh
      ? offered[0]!
      : shownOperator(start.is, offered)
  )
  const [values, setValues] = useState<readonly string[]>(start?.values ?? [])
  const [whole, setWhole] = useState(text)
  const [problem, setProblem] = useState<string | null>(null)

  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (start === null) return onDone(whole)
    const checked = checkSimple({ ...start, is, values }, resource)
    if (checked === null) return setProblem(t.field.required)
    if (Result.isFailure(checked)) return setProblem(checked.failure)
    onDone(checked.success)
  }
  const setValue = (value: string): void => {
    setProblem(null)
    setValues(value === "" ? [] : [value])
  }
  const one = values[0] ?? ""
  const kind = field === undefined ? undefined : elementOf(field).kind

  return (
    <form onSubmit={submit}>
      {subject !== undefined && (
        <>
          <label className="hush" htmlFor={`${id}-is`}>{t.filter.operator}</label>
          <select
            id={`${id}-is`}
            value={is}
            onChange={({ target }) => {
              const next = target.value as Operator
              setProblem(null)
              if ((is === "inLast") !== (next === "inLast")) setValues([])
              setIs(next)
            }}
          >
            {offered.map((each) => (
              <option key={each} value={each}>
                {`${subjectLabel(resource, subject, t)} ${operatorWord(each, subject.field, t)}`}
              </option>
            ))}
          </select>
        </>
      )}
      {start === null
        ? <ValueInput label={t.filter.text} value={whole} onChange={setWhole} mono />
        : is === "search"
        ? <ValueInput label={t.filter.search} value={one} onChange={setValue} />
        : is === "empty" || is === "notEmpty"
        ? null
        : is === "inLast"
        ? <Spans value={one} onChange={setValue} />
        : isChosen(is) && subject !== undefined
        ? <Choices resource={resource} subject={subject} values={values} onChange={setValues} />
        : kind === "date" || kind === "timestamp" || kind === "time"
        ? (
          <div className="input">
            <Moment
              autoFocus
              kind={kind}
              label={t.filter.value}
              value={one}
              onValue={(value, text) => setValue(value ?? text)}
            />
          </div>
        )
        : (
          <ValueInput
            label={t.filter.value}
            value={one}
            numeric={kind === "integer" || kind === "decimal" || kind === "float"}
            onChange={setValue}
          />
        )}
      {problem !== null && <p className="hint" data-bad="" role="alert">{problem}</p>}
      <button className="btn primary">{t.filter.apply}</button>
    </form>
  )
}

interface ValueInputProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly numeric?: boolean
  readonly mono?: boolean
}

const ValueInput = (
  { label, mono = false, numeric = false, onChange, value }: ValueInputProps
): ReactNode => (
  <div className="input">
    <input
      autoFocus
      aria-label={label}
      inputMode={numeric ? "decimal" : undefined}
      className={mono ? "mono" : undefined}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  </div>
)

const spans = ["24h", "7d", "30d", "90d", "365d"]

const Spans = (
  { onChange, value }: { readonly value: string; readonly onChange: (value: string) => void }
): ReactNode => {
  const t = useMessages()
  return (
    <div className={style.presets} role="group" aria-label={t.filter.inLast}>
      {[...new Set([...spans, ...(value === "" ? [] : [value])])].map((span) => (
        <button
          key={span}
          type="button"
          className={style.preset}
          aria-pressed={value === span}
          onClick={() => onChange(span)}
        >
          {spanText(span, t)}
        </button>
      ))}
    </div>
  )
}

interface ChoicesProps {
  readonly resource: Resource
  readonly subject: Path
  readonly values: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

/** A choice of values, most frequent first. For a relation: records, found by their title. */
const Choices = ({ onChange, resource, subject, values }: ChoicesProps): ReactNode => {
  const { resource: owner } = subject
  const field = elementOf(subject.field)
  const t = useMessages()
  const reader = useReader()
  const { catalogue } = useApp()
  const [text, setText] = useState("")
  // Records are not counted by the values of several related ones: those values are counted themselves, and say only what there is.
  const [from, by] = subject.many ? [owner, field.name] as const : [resource, subject.text] as const
  const facets = useQuery({
    queryKey: ["facets", from.name, by, "all"],
    queryFn: ({ signal }) =>
      resourceClient(from.name).facets({
        field: by,
        limit: field.relation === undefined ? 500 : 20
      }, { signal })
  })
  const target = field.relation === undefined ? undefined : catalogue.resources.get(field.relation)
  const matches = useRelated(target, text)
  const titles = useTitles(target, [...values, ...(facets.data?.facets ?? []).map(({ value }) => plain(value))])
  const counts = new Map((facets.data?.facets ?? []).map(({ count, value }) => [plain(value), count]))
  const offered = new Set([
    ...values,
    ...(text !== "" && target !== undefined ? matches.keys() : []),
    ...counts.keys(),
    ...(field.values ?? []),
    ...(field.kind === "boolean" ? ["true", "false"] : [])
  ])
  const choices = [...offered].filter((value) => {
    if (value === "") return false
    const label = labelFor(value)
    return text === "" || label.toLowerCase().includes(text.toLowerCase()) || matches.has(value)
  }).slice(0, 100)

  function labelFor(value: string): string {
    return target === undefined ? value : matches.get(value) ?? titles.get(value) ?? `#${value}`
  }

  const toggle = (value: string): void =>
    onChange(values.includes(value) ? values.filter((each) => each !== value) : [...values, value])

  return (
    <>
      {(offered.size > 8 || target !== undefined) && (
        <div className="input">
          <Search className="icon" aria-hidden="true" />
          <input
            autoFocus
            aria-label={t.filter.value}
            placeholder={target === undefined ? t.filter.value : t.field.searchAt(target.view.label.plural)}
            value={text}
            onChange={({ target: input }) => setText(input.value)}
          />
        </div>
      )}
      <div className={style.options} role="group" aria-label={subjectLabel(resource, subject, t)}>
        {choices.map((value) => (
          <label key={value} className={style.option}>
            <input type="checkbox" checked={values.includes(value)} onChange={() => toggle(value)} />
            {target === undefined
              ? (
                <Value
                  resource={owner}
                  field={field}
                  value={field.kind === "boolean" ? value === "true" : value}
                  linked={false}
                />
              )
              : <bdi className="cut">{labelFor(value)}</bdi>}
            {!subject.many && counts.has(value) && <small>{reader.format.count(counts.get(value)!)}</small>}
          </label>
        ))}
        {choices.length === 0 && <p className="hint">{facets.isPending ? t.shell.loading : t.field.nothingFound}</p>}
      </div>
    </>
  )
}

/** Records of a resource that match a text: the value of the foreign key, and the title. */
const useRelated = (target: Resource | undefined, text: string): ReadonlyMap<string, string> => {
  const { data } = useQuery<AnyPage>({
    queryKey: ["related", target?.name, text],
    enabled: target !== undefined && text.trim() !== "" && target.model.fields.some(({ searched }) => searched),
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      resourceClient(target!.name).list({
        filter: textOfSimple({ field: "", is: "search", values: [text.trim()] }, target!),
        page_size: 20,
        ...titleNeeds(target!)
      }, { signal })
  })
  return new Map(
    data?.items.flatMap((record) => {
      const key = keyOf(target!, record)
      return key === null ? [] : [[keyPartsOf(key).join(","), titleOf(target!, record)] as const]
    })
  )
}
