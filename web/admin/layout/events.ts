/** What keys and the pointer do on a board. The board itself decides what a move is. */

import type { DragEvent, KeyboardEvent, RefObject } from "react"
import { go } from "../ground/location.ts"
import { say } from "../ground/toasts.tsx"
import type { Messages } from "../messages/locale.tsx"
import { addressOf, keyOf, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { isolated } from "../model/plain.ts"
import type { ColumnHandle } from "./column.tsx"
import type { BoardColumn } from "./columns.ts"
import type { Moving } from "./moves.ts"

/** A card that is held, and the column that it is over. */
export interface Held {
  readonly key: string
  readonly record: AnyRecord
  readonly from: string
  readonly over: string
}

/** The index of the card that a key leads to from one in the same column; undefined: the key leads nowhere. */
export const nextIndex = (key: string, index: number): number | undefined =>
  new Map([
    ["ArrowDown", index + 1],
    ["j", index + 1],
    ["ArrowUp", index - 1],
    ["k", index - 1],
    ["Home", 0],
    ["End", Infinity]
  ]).get(key)

/** The card around an element, or null. */
export const cardAt = (target: EventTarget) => {
  const card = target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null
  const column = card?.closest<HTMLElement>("[data-column]")?.dataset["column"]
  return card === null || column === undefined
    ? null
    : { column, key: card.dataset["key"], index: Number(card.dataset["index"]) }
}

interface BoardState {
  readonly resource: Resource
  readonly t: Messages
  readonly columns: readonly BoardColumn[]
  readonly handles: ReadonlyMap<string, ColumnHandle>
  readonly board: RefObject<HTMLElement | null>
  readonly labelOf: (id: string) => string
  readonly canMove: (record: AnyRecord) => boolean
  readonly held: Held | null
  readonly setHeld: (held: Held | null) => void
  /** Tells screen readers. */
  readonly say: (text: string) => void
  readonly isSaving: (key: string) => boolean
  readonly move: Moving["move"]
  /** Another card becomes the active one, and takes the focus once it is drawn. */
  readonly onCard: (column: string, index: number, key: string | null) => void
}

export const boardEvents = (state: BoardState) => {
  const { board, canMove, columns, handles, held, labelOf, resource, setHeld, t } = state
  const w = t.layout

  const take = (key: string, from: string): Held | null => {
    const handle = handles.get(from)
    const record = handle?.at(handle.find(key))
    return record === undefined || state.isSaving(key) ? null : { key, record, from, over: from }
  }
  const drop = (card: Held, over: string): void => {
    const to = columns.find(({ id }) => id === over)
    setHeld(null)
    if (to !== undefined && over !== card.from) state.move(card.key, card.record, card.from, to)
  }
  const focusCard = (column: string, index: number): void => {
    const handle = handles.get(column)
    if (handle === undefined || handle.count() === 0) return
    const next = Math.min(Math.max(0, index), handle.count() - 1)
    handle.reveal(next)
    const record = handle.at(next)
    state.onCard(column, next, record === undefined ? null : keyOf(resource, record))
  }
  const beside = (column: string, step: number): string | undefined =>
    columns[columns.findIndex(({ id }) => id === column) + step]?.id

  const whileHeld = (card: Held, key: string, step: number): void => {
    if (key === "Escape") {
      setHeld(null)
      state.say(w.putBack)
    } else if (key === " " || key === "Enter") drop(card, card.over)
    const over = step === 0 ? undefined : beside(card.over, step)
    if (over === undefined) return
    setHeld({ ...card, over })
    state.say(w.over(isolated(labelOf(over))))
    board.current?.querySelectorAll("[data-column]")[columns.findIndex(({ id }) => id === over)]
      ?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }

  const takeByKey = (key: string, column: string): void => {
    const card = take(key, column)
    if (card === null) return
    if (!canMove(card.record)) return void say(t.list.notWritable)
    setHeld(card)
    state.say(w.taken(isolated(titleOf(resource, card.record)), isolated(labelOf(column))))
  }

  /** True if the key leads to another card. */
  const walk = (key: string, column: string, index: number, step: number): boolean => {
    if (step !== 0) {
      // A column without a card is passed.
      let next = beside(column, step)
      while (next !== undefined && (handles.get(next)?.count() ?? 0) === 0) next = beside(next, step)
      if (next !== undefined) focusCard(next, index)
      return true
    }
    const to = nextIndex(key, index)
    if (to !== undefined) focusCard(column, to)
    return to !== undefined
  }

  return {
    drop,
    onKeyDown: (event: KeyboardEvent<HTMLElement>): void => {
      const from = cardAt(event.target)
      if (from === null || event.altKey || event.ctrlKey || event.metaKey) return
      const { key } = event
      const forward = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1
      const step = key === "ArrowRight" ? forward : key === "ArrowLeft" ? -forward : 0
      // A held card keeps every key but Tab: the page below does nothing meanwhile.
      if (held !== null && key !== "Tab") whileHeld(held, key, step)
      else if (key === " " && from.key !== undefined) takeByKey(from.key, from.column)
      else if (key === "Enter" && from.key !== undefined) go(addressOf(resource, from.key))
      else if (!walk(key, from.column, from.index, step)) return
      event.preventDefault()
      event.stopPropagation()
    },
    onDragStart: (event: DragEvent): void => {
      const from = cardAt(event.target)
      const card = from?.key === undefined ? null : take(from.key, from.column)
      if (card === null || !canMove(card.record)) return event.preventDefault()
      event.dataTransfer.effectAllowed = "move"
      setHeld(card)
    }
  }
}
