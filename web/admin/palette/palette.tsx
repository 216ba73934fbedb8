/**
 * The palette: matching records of every resource, actions of the page, saved views, and pages. It searches with few requests at once, and is usable by
 * keyboard alone (WAI-ARIA combobox with a list).
 */

import { type KeyboardEvent, type ReactNode, useDeferredValue, useEffect, useId, useRef, useState } from "react"
import { Dialog, Modal, ModalOverlay } from "react-aria-components"
import { shownKeys } from "../ground/keys.ts"
import { useMessages } from "../messages/locale.tsx"
import { type Entry, useEntries } from "./entries.tsx"
import { type Held, markedOf } from "./mark.ts"
import style from "./palette.module.css"

export const Palette = ({ onClose }: { readonly onClose: () => void }): ReactNode => {
  const t = useMessages()
  const [text, setText] = useState("")
  const [held, setHeld] = useState<Held | null>(null)
  /** Enter was pressed while no entry was marked. It runs the one that is marked next. */
  const [entered, setEntered] = useState(false)
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const typed = text.trim()
  const asked = useDeferredValue(typed)
  const { entries, searching } = useEntries(asked)
  const marked = typed === asked ? markedOf(entries, asked, held, searching) : undefined
  const place = marked === undefined ? -1 : entries.indexOf(marked)

  const hold = (entry: Entry | undefined): void => {
    setHeld(entry === undefined ? null : { asked: typed, id: entry.id })
    setEntered(false)
  }
  const run = (entry: Entry): void => {
    onClose()
    entry.run()
  }
  // Records of other resources may come later and stand before it.
  useEffect(() => {
    if (marked?.found === true) setHeld({ asked, id: marked.id })
  }, [asked, marked?.found, marked?.id])
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" })
  }, [marked?.id])
  useEffect(() => {
    if (entered && marked !== undefined) run(marked)
  })

  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      hold(entries.at((step < 0 ? Math.max(place, 0) - 1 : place + 1) % Math.max(1, entries.length)))
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault()
      if (marked === undefined) setEntered(true)
      else run(marked)
    }
  }

  return (
    <ModalOverlay className="scrim" isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className={`float ${style.palette}`}>
        <Dialog aria-label={t.shell.search} className={style.palette ?? ""}>
          <input
            autoFocus
            className={style.input}
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={marked === undefined ? undefined : `${id}-${place}`}
            aria-label={t.palette.placeholder}
            placeholder={t.palette.placeholder}
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={({ target }) => {
              setText(target.value)
              setEntered(false)
            }}
            onKeyDown={onKeyDown}
          />
          <div ref={list} id={`${id}-list`} role="listbox" aria-label={t.palette.placeholder} className={style.list}>
            {entries.map((entry, index) => (
              <div key={entry.id} role="presentation">
                {entry.group !== entries[index - 1]?.group && <h3 role="presentation">{entry.group}</h3>}
                <div
                  id={`${id}-${index}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={entry === marked}
                  className={style.item}
                  onMouseMove={() => hold(entry)}
                  onClick={() => run(entry)}
                  onKeyDown={() => {}}
                >
                  {entry.icon}
                  <bdi className="cut">{entry.label}</bdi>
                  {entry.more !== undefined && <bdi className="dim cut">{entry.more}</bdi>}
                  <span className={style.keys} aria-hidden="true">
                    {(entry === marked ? shownKeys("Enter") : entry.keys ?? []).map((key) => <kbd key={key}>{key}
                    </kbd>)}
                  </span>
                </div>
              </div>
            ))}
          </div>
          {entries.length === 0 && (
            <p className={style.none} role="status">{searching ? t.palette.searching : t.palette.nothing}</p>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
