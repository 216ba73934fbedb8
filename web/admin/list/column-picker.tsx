/** Chooses the columns of a list, their order, and which are pinned. Works by mouse and keyboard: Alt with an arrow key moves a column. */

import { ChevronRight, GripVertical, Pin, PinOff, Search } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useState } from "react"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import {
  columnAt,
  fieldAt,
  type Path,
  pathLabels,
  pathsFrom,
  type PathWay,
  relationLabel,
  waysOf
} from "../model/paths.ts"
import style from "./list.module.css"
import type { Choice } from "./state.ts"

interface PickerProps {
  readonly resource: Resource
  readonly choices: readonly Choice[]
  readonly onChoices: (choices: readonly Choice[] | null) => void
}

/** How many relations away a column is offered. */
const mostWays = 2
const mostFound = 50

const toOne = ({ relation }: PathWay): boolean => !relation.many

interface OfferProps {
  readonly label: string
  readonly onChoose: () => void
}

/** A column that is not shown. */
const Offer = ({ label, onChoose }: OfferProps): ReactNode => (
  <li>
    <span className={style.grip} />
    <label>
      <input type="checkbox" checked={false} onChange={onChoose} />
      <span className="cut">{label}</span>
    </label>
  </li>
)

interface FarProps {
  readonly resource: Resource
  /** The relations before, and the one whose fields are offered. */
  readonly before: readonly string[]
  readonly from: Resource
  readonly way: PathWay
  readonly label: string
  readonly isShown: (text: string) => boolean
  readonly name: (path: Path) => string
  readonly onChoose: (text: string) => void
}

/** The fields of the record that a relation leads to. They are listed once somebody wants them. */
const FarFields = (props: FarProps): ReactNode => {
  const { before, from, isShown, label, name, onChoose, resource, way } = props
  const t = useMessages()
  const [open, setOpen] = useState(false)
  const at = [...before, way.relation.name]
  const fields = way.target.model.fields.map((field) => [...at, field.name].join("."))
  // A way back to where one came from says nothing new.
  const ways = at.length === mostWays
    ? []
    : waysOf(way.target).filter((next) => toOne(next) && next.target !== from && next.target !== way.target)
  return (
    <>
      <li>
        <button
          type="button"
          className={style.far}
          aria-expanded={open}
          aria-label={t.paths.fieldsOf(label)}
          onClick={() => setOpen(!open)}
        >
          <ChevronRight className="icon" data-flips="" aria-hidden="true" />
          <span className="cut">{label}</span>
        </button>
      </li>
      {open &&
        fields.filter((text) => !isShown(text)).map((text) => (
          <Offer
            key={text}
            label={name(fieldAt(resource, text)!)}
            onChoose={() => onChoose(text)}
          />
        ))}
      {open && ways.map((next) => (
        <FarFields
          {...props}
          key={next.relation.name}
          before={at}
          from={way.target}
          way={next}
          label={t.paths.through(label, relationLabel(way.target, next.relation))}
        />
      ))}
    </>
  )
}

const moveChoice = (choices: readonly Choice[], from: number, to: number): readonly Choice[] => {
  const moved = choices[from]
  if (moved === undefined || to < 0 || to >= choices.length) return choices
  return choices.toSpliced(from, 1).toSpliced(to, 0, moved)
}

export const ColumnPicker = ({ choices, onChoices, resource }: PickerProps): ReactNode => {
  const t = useMessages()
  const w = useMessages().columns
  const [text, setText] = useState("")
  const [dragged, setDragged] = useState<number | null>(null)
  const [over, setOver] = useState<number | null>(null)
  const nameOf = (path: Path): string =>
    pathLabels(resource, path).reduce((before, label) => t.paths.through(before, label))
  const labelAt = (name: string): string => nameOf(columnAt(resource, name)!)
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "")
  const fits = (name: string): boolean => {
    const names = `${labelAt(name)} ${name}`.toLowerCase()
    return words.every((word) => names.includes(word))
  }
  const isShown = (name: string): boolean => choices.some(({ field }) => field === name)
  const others = resource.model.fields.filter(({ name }) => !isShown(name))
  const ways = waysOf(resource).filter(toOne)
  // While somebody searches, columns further away are found by their names; else they are below their relations.
  const matches = words.length === 0
    ? []
    : pathsFrom(resource, mostWays, ({ many }) => !many).filter((path) => !isShown(path.text) && fits(path.text))
      .slice(0, mostFound)
  const choose = (field: string): void => onChoices([...choices, { field, pinned: false, width: null }])

  const onKeyDown = (event: KeyboardEvent, at: number): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step === 0 || !event.altKey) return
    event.preventDefault()
    onChoices(moveChoice(choices, at, at + step))
  }

  return (
    <div className={style.picker}>
      <header>
        <div className="input">
          <Search className="icon" aria-hidden="true" />
          <input
            autoFocus
            aria-label={t.list.findColumn}
            placeholder={t.list.findColumn}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </div>
      </header>
      <ul>
        {choices.map((choice, at) =>
          fits(choice.field) && (
            <li
              key={choice.field}
              draggable
              data-over={over === at && dragged !== at ? "" : undefined}
              onDragStart={() => setDragged(at)}
              onDragOver={(event) => {
                event.preventDefault()
                setOver(at)
              }}
              onDrop={() => dragged !== null && onChoices(moveChoice(choices, dragged, at))}
              onDragEnd={() => {
                setDragged(null)
                setOver(null)
              }}
            >
              <span className={style.grip} aria-hidden="true">
                <GripVertical className="icon" />
              </span>
              <label>
                <input
                  type="checkbox"
                  checked
                  disabled={choices.length === 1}
                  onKeyDown={(event) => onKeyDown(event, at)}
                  onChange={() => onChoices(choices.toSpliced(at, 1))}
                />
                <span className="cut">{labelAt(choice.field)}</span>
              </label>
              <button
                type="button"
                className={style.grip}
                aria-pressed={choice.pinned}
                aria-label={`${choice.pinned ? w.unpin : w.pin}: ${labelAt(choice.field)}`}
                onClick={() => onChoices(choices.with(at, { ...choice, pinned: !choice.pinned }))}
              >
                {choice.pinned ? <PinOff className="icon" /> : <Pin className="icon" />}
              </button>
            </li>
          )
        )}
        {others.map(({ name }) =>
          fits(name) && <Offer key={name} label={labelAt(name)} onChoose={() => choose(name)} />
        )}
        {matches.map((path) => <Offer key={path.text} label={nameOf(path)} onChoose={() => choose(path.text)} />)}
        {words.length === 0 && ways.map((way) => (
          <FarFields
            key={way.relation.name}
            resource={resource}
            before={[]}
            from={resource}
            way={way}
            label={relationLabel(resource, way.relation)}
            isShown={isShown}
            name={nameOf}
            onChoose={choose}
          />
        ))}
      </ul>
      <footer>
        <button
          type="button"
          className="btn quiet"
          onClick={() =>
            onChoices([...choices, ...others.map(({ name }) => ({ field: name, pinned: false, width: null }))])}
        >
          {t.list.showAll}
        </button>
        <button type="button" className="btn quiet" onClick={() => onChoices(null)}>{t.list.resetColumns}</button>
      </footer>
    </div>
  )
}
