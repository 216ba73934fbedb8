/** The choice of what a condition is about: a field of the records, a field of related records, or their number. Loaded on use. */

import { ArrowLeft, ChevronRight, Search } from "lucide-react"
import { type FormEvent, type KeyboardEvent, type ReactNode, useRef, useState } from "react"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { textOfSimple } from "../model/conditions.ts"
import { endOf, fieldAt, type Path, pathLabels, pathsFrom, relationLabel, waysOf } from "../model/paths.ts"
import { isolated, short } from "../model/plain.ts"
import { subjectAt } from "../model/subjects.ts"
import style from "./filter.module.css"

/** How many relations away a field is offered. The filter as text goes further. */
const mostWays = 2
const mostFound = 50

interface FieldChoiceProps {
  readonly resource: Resource
  readonly onChoose: (field: string) => void
  readonly onSearch: (text: string) => void
}

const prefix = (at: readonly string[]): string => at.map((name) => `${name}.`).join("")

/** The subjects that can be chosen at a place: without a text its own, with one also those further away whose names have all of its words. */
const subjectsAt = (resource: Resource, at: readonly string[], text: string): readonly Path[] => {
  const here = endOf(resource, at)?.resource
  if (here === undefined) return []
  const before = prefix(at)
  const own = here.model.fields.flatMap(({ name }) => fieldAt(resource, before + name) ?? [])
  const counted = at.length === 1 && fieldAt(resource, `${before}${here.model.fields[0]?.name}`)?.many === true
    ? subjectAt(resource, `count(${at[0]})`)
    : undefined
  const near = [...(counted === undefined ? [] : [counted]), ...own].filter(({ field }) => field.filterable)
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "")
  if (words.length === 0) return near
  const far = pathsFrom(here, mostWays - at.length).flatMap((path) =>
    path.field.filterable ? fieldAt(resource, before + path.text) ?? [] : []
  )
  return [...near, ...far].filter((path) => {
    const name = `${pathLabels(resource, path).join(" ")} ${path.text}`.toLowerCase()
    return words.every((word) => name.includes(word))
  }).slice(0, mostFound)
}

export const FieldChoice = ({ onChoose, onSearch, resource }: FieldChoiceProps): ReactNode => {
  const t = useMessages()
  const [text, setText] = useState("")
  /** The relations that were followed. */
  const [at, setAt] = useState<readonly string[]>([])
  const input = useRef<HTMLInputElement>(null)
  const here = endOf(resource, at)?.resource ?? resource
  const searchable = at.length === 0 && resource.model.fields.some(({ searched }) => searched)
  const subjects = subjectsAt(resource, at, text)
  // A way back to where one came from says nothing new.
  const ways = text.trim() !== "" || at.length === mostWays
    ? []
    : waysOf(here).filter(({ target }) =>
      target.model.fields.some(({ filterable }) => filterable) &&
      (at.length === 0 || (target !== resource && target !== here))
    )
  const search = searchable && text.trim() !== ""
    ? textOfSimple({ field: "", is: "search", values: [text.trim()] }, resource)
    : null
  const label = searchable ? t.filter.search : t.filter.findField
  const through = at.map((_, index) => {
    const from = endOf(resource, at.slice(0, index))!.resource
    return relationLabel(from, from.model.relations.find(({ name }) => name === at[index])!)
  })
  const name = (path: Path): string =>
    path.text.startsWith("count(")
      ? t.paths.number
      : pathLabels(resource, path).slice(at.length).reduce((before, label) => t.paths.through(before, label))

  const follow = (next: readonly string[]): void => {
    setAt(next)
    setText("")
    input.current?.focus()
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const [first] = subjects
    const begins = first !== undefined && [name(first), ...pathLabels(resource, first).slice(-1)]
      .some((each) => each.toLowerCase().startsWith(text.toLowerCase()))
    if (search !== null && !begins) onSearch(search)
    else if (first !== undefined) onChoose(first.text)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Backspace" || text !== "" || at.length === 0) return
    event.preventDefault()
    follow(at.slice(0, -1))
  }
  return (
    <form onSubmit={submit}>
      <div className="input">
        <Search className="icon" aria-hidden="true" />
        <input
          ref={input}
          autoFocus
          aria-label={label}
          placeholder={label}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      {at.length > 0 && (
        <button type="button" className={style.option} onClick={() => follow(at.slice(0, -1))}>
          <ArrowLeft className="icon" data-flips="" aria-hidden="true" />
          <span className="hush">{t.paths.back}</span>
          <b className="cut">{through.reduce((before, label) => t.paths.through(before, label))}</b>
        </button>
      )}
      <div className={style.options}>
        {search !== null && (
          <button type="button" className={style.option} onClick={() => onSearch(search)}>
            {t.filter.searchFor(isolated(short(text.trim(), 100)))}
          </button>
        )}
        {subjects.map((path) => (
          <button
            key={path.text}
            type="button"
            className={style.option}
            onClick={() => onChoose(path.text)}
          >
            {name(path)}
          </button>
        ))}
        {ways.map(({ relation }) => (
          <button
            key={relation.name}
            type="button"
            className={`${style.option} ${style.way}`}
            aria-label={t.paths.fieldsOf(relationLabel(here, relation))}
            onClick={() => follow([...at, relation.name])}
          >
            <span className="grow cut">{relationLabel(here, relation)}</span>
            <ChevronRight className="icon" data-flips="" aria-hidden="true" />
          </button>
        ))}
      </div>
    </form>
  )
}
