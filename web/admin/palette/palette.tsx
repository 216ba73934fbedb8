/**
 * The palette: matching records of every resource, actions of the page, saved views, and pages. It searches with few requests at once, and is usable by
 * keyboard alone (WAI-ARIA combobox with a list).
 */

import { type KeyboardEvent, type ReactNode, useDeferredValue, useEffect, useId, useRef, useState } from "react"
import { Dialog, Modal, ModalOverlay } from "react-aria-components"
import { shownKeys } from "../ground/keys.ts"
import { useMessages } from "../messages/locale.tsx"
import { type Entry, useEntries } from "./entries.tsx"
import style from "./palette.module.css"

export const Palette = ({ onClose }: { readonly onClose: () => void }): ReactNode => {
  const t = useMessages()
  const [text, setText] = useState("")
  /** The id of the chosen entry. */
  const [held, setHeld] = useState<string | null>(null)
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const asked = useDeferredValue(text.trim())
  const { busy, entries } = useEntries(asked)
  const earlier = entries.find((entry) => entry.id === held)
  const chosen = earlier ?? entries[0]
  const place = chosen === undefined ? 0 : entries.indexOf(chosen)

  useEffect(() => setHeld(null), [asked])
  // Records of other resources may come later and stand before it. Enter opens the record that was marked.
  useEffect(() => {
    if (earlier === undefined && chosen?.group === t.palette.records) setHeld(chosen.id)
  }, [earlier, chosen, t])
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" })
  }, [chosen?.id])

  const run = (entry: Entry): void => {
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setHeld(entries[(place + step + entries.length) % Math.max(1, entries.length)]?.id ?? null)
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing && chosen !== undefined) {
      event.preventDefault()
      run(chosen)
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
            aria-activedescendant={chosen === undefined ? undefined : `${id}-${place}`}
            aria-label={t.palette.placeholder}
            placeholder={t.palette.placeholder}
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={({ target }) => setText(target.value)}
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
                  aria-selected={entry === chosen}
                  className={style.item}
                  onMouseMove={() => setHeld(entry.id)}
                  onClick={() => run(entry)}
                  onKeyDown={() => {}}
                >
                  {entry.icon}
                  <bdi className="cut">{entry.label}</bdi>
                  {entry.more !== undefined && <bdi className="dim cut">{entry.more}</bdi>}
                  <span className={style.keys} aria-hidden="true">
                    {(entry === chosen ? shownKeys("Enter") : entry.keys ?? []).map((key) => <kbd key={key}>{key}
                    </kbd>)}
                  </span>
                </div>
              </div>
            ))}
          </div>
          {entries.length === 0 && (
            <p className={style.none} role="status">{busy ? t.palette.searching : t.palette.nothing}</p>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
