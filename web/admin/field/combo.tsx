/** A text input with a list to choose from, by mouse and keys (the combobox of APG). What is offered, and what a typed text means, is decided by whoever draws it. */

import { ChevronsUpDown } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react"
import { Popover } from "react-aria-components"
import { useMessages } from "../messages/locale.tsx"
import style from "./input.module.css"

interface ComboProps<T> {
  readonly id?: string | undefined
  readonly label: string | undefined
  /** The name of the list. */
  readonly listLabel: string
  readonly describedBy?: string | undefined
  readonly invalid: boolean
  readonly compact: boolean
  readonly autoFocus: boolean
  readonly disabled: boolean
  /** The text of the input. */
  readonly text: string
  readonly open: boolean
  readonly options: readonly T[]
  /** The option that is offered first. */
  readonly first?: number
  /** Whether they are still read. */
  readonly pending?: boolean
  readonly keyOf: (option: T) => string
  readonly draw: (option: T) => ReactNode
  /** What stands in the input behind the text. */
  readonly children?: ReactNode
  readonly exact?: boolean
  readonly onOpen: (open: boolean) => void
  readonly onText: (text: string) => void
  readonly onChoose: (option: T) => void
}

/** Scrolls the list to an option, and nothing else: where the page scrolls, the list closes. */
const bringIntoSight = (option: HTMLElement | null): void => {
  const list = option?.parentElement
  if (option === null || list == null) return
  const top = option.offsetTop - list.offsetTop
  const least = top + option.offsetHeight - list.clientHeight
  if (top < list.scrollTop) list.scrollTop = top
  else if (least > list.scrollTop) list.scrollTop = least + 4
}

interface ListProps<T> extends Pick<ComboProps<T>, "options" | "keyOf" | "draw" | "onChoose" | "pending"> {
  readonly id: string
  readonly label: string
  readonly active: T | undefined
}

const List = <T extends object>(
  { active, draw, id, keyOf, label, onChoose, options, pending = false }: ListProps<T>
): ReactNode => {
  const t = useMessages()
  return (
    <div role="listbox" id={id} aria-label={label} className="menu">
      {options.map((option, index) => (
        <div
          key={keyOf(option)}
          id={`${id}-${index}`}
          role="option"
          aria-selected={option === active}
          data-focused={option === active ? "" : undefined}
          className="menu-item"
          ref={option === active ? bringIntoSight : undefined}
          // The focus stays in the input.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(option)}
        >
          {draw(option)}
        </div>
      ))}
      {options.length === 0 && (
        <p className="menu-item dim" role="option" aria-selected="false" aria-disabled="true">
          {pending ? t.shell.loading : t.field.nothingFound}
        </p>
      )}
    </div>
  )
}

export const Combo = <T extends object>(props: ComboProps<T>): ReactNode => {
  const { autoFocus, children, compact, describedBy, disabled, draw, exact = false, first = 0, id, invalid } = props
  const { keyOf, label, listLabel, onChoose, onOpen, onText, open, options, pending, text } = props
  const [at, setAt] = useState<number | null>(null)
  const listId = useId()
  const box = useRef<HTMLDivElement>(null)
  const input = useRef<HTMLInputElement>(null)
  /** Whether the text is selected as a whole, so that what is typed takes its place. */
  const selected = useRef(false)
  const select = (): void => {
    input.current?.select()
    selected.current = true
  }
  const begin = (): void => {
    setAt(null)
    onOpen(true)
  }
  const close = (): void => {
    setAt(null)
    onOpen(false)
  }
  useEffect(() => {
    // The choices of a cell open at once.
    if (!autoFocus || !compact) return
    select()
    onOpen(true)
    // Once, as the cell is opened.
  }, [autoFocus, compact])
  useLayoutEffect(() => {
    // A title that arrives in place of a key would leave the caret behind it.
    if (selected.current && document.activeElement === input.current) input.current?.select()
  }, [text])
  const index = Math.min(at ?? first, options.length - 1)
  const active = open ? options[index] : undefined
  const choose = (option: T): void => {
    close()
    onChoose(option)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return
    // Keys may move the caret.
    if (event.key !== "Shift") selected.current = false
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0) {
      if (open) setAt((index + step + options.length) % Math.max(1, options.length))
      else begin()
    } else if (event.key === "Enter" && exact && index <= 0) {
      // What is typed is chosen already: the key goes on to the form or the cell.
      close()
      return
    } else if (event.key === "Enter" && active !== undefined) choose(active)
    else if (event.key === "Escape" && open) close()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div ref={box} className={compact ? "cell-input" : "input"} data-invalid={invalid ? "" : undefined}>
      <input
        ref={input}
        id={id}
        role="combobox"
        aria-label={label}
        aria-describedby={describedBy}
        aria-invalid={invalid ? true : undefined}
        aria-autocomplete="list"
        aria-expanded={open}
        aria-controls={open ? listId : undefined}
        aria-activedescendant={active === undefined ? undefined : `${listId}-${index}`}
        autoComplete="off"
        autoFocus={autoFocus}
        disabled={disabled}
        dir="auto"
        value={text}
        onClick={() => {
          if (open) {
            selected.current = false
            return
          }
          begin()
          select()
        }}
        onChange={({ target }) => {
          selected.current = false
          setAt(0)
          onText(target.value)
          onOpen(true)
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      {children}
      {!compact && text === "" && <ChevronsUpDown className="icon dim" aria-hidden="true" />}
      {open && (
        <Popover
          className={`float ${style.list}`}
          isNonModal
          isOpen
          triggerRef={box}
          offset={4}
          placement="bottom start"
          onOpenChange={(now) => !now && close()}
        >
          <List
            id={listId}
            label={listLabel}
            options={options}
            active={active}
            pending={pending ?? false}
            keyOf={keyOf}
            draw={draw}
            onChoose={choose}
          />
        </Popover>
      )}
    </div>
  )
}
