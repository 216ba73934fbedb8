/** Chooses the columns of a list, their order, and which are pinned. Works by mouse and keyboard: Alt with an arrow key moves a column. */

import { GripVertical, Pin, PinOff, Search } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useState } from "react"
import { useMessages } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import style from "./list.module.css"
import type { Choice } from "./state.ts"

interface PickerProps {
  readonly resource: Resource
  readonly choices: readonly Choice[]
  readonly onChoices: (choices: readonly Choice[] | null) => void
}

export const moveChoice = (choices: readonly Choice[], from: number, to: number): readonly Choice[] => {
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
  const fits = (name: string): boolean =>
    text === "" || fieldLabel(resource, name).toLowerCase().includes(text.toLowerCase()) ||
    name.includes(text.toLowerCase())
  const others = resource.model.fields.filter(({ name }) => !choices.some(({ field }) => field === name))

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
                <span className="cut">{fieldLabel(resource, choice.field)}</span>
              </label>
              <button
                type="button"
                className={style.grip}
                aria-pressed={choice.pinned}
                aria-label={`${choice.pinned ? w.unpin : w.pin}: ${fieldLabel(resource, choice.field)}`}
                onClick={() => onChoices(choices.with(at, { ...choice, pinned: !choice.pinned }))}
              >
                {choice.pinned ? <PinOff className="icon" /> : <Pin className="icon" />}
              </button>
            </li>
          )
        )}
        {others.map(({ name }) =>
          fits(name) && (
            <li key={name}>
              <span className={style.grip} />
              <label>
                <input
                  type="checkbox"
                  checked={false}
                  onChange={() => onChoices([...choices, { field: name, pinned: false, width: null }])}
                />
                <span className="cut">{fieldLabel(resource, name)}</span>
              </label>
            </li>
          )
        )}
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
