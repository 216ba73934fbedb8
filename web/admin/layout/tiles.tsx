/** The tiles of a gallery: those in sight, a picture each with its title and a few fields. Keys lead in two dimensions. */

import { Image as ImageIcon } from "lucide-react"
import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState
} from "react"
import type { MetaField } from "../../client/index.ts"
import { fileOf, ListedPicture } from "../field/file.tsx"
import { isState } from "../field/kind.ts"
import { State, Value } from "../field/value.tsx"
import type { GridHandle } from "../grid/grid.tsx"
import { useScrolling } from "../grid/scroll.ts"
import { Link } from "../ground/link.tsx"
import type { Peeking } from "../list/peeking.ts"
import type { ListRows } from "../list/rows.ts"
import { rowKey, type Selecting } from "../list/selecting.ts"
import type { LiveMark, LiveMarks } from "../live/marks.ts"
import { useLocale } from "../messages/locale.tsx"
import { addressOf, keyOf, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain } from "../model/plain.ts"
import style from "./gallery.module.css"
import { tileBy, type TileSizes } from "./tiling.ts"

interface TilesProps {
  readonly resource: Resource
  /** The field of the pictures. */
  readonly by: string
  readonly fields: readonly MetaField[]
  readonly sizes: TileSizes
  readonly rows: ListRows
  readonly total: number
  readonly selecting: Selecting
  readonly peek: Peeking
  readonly marks: LiveMarks
  /** Pixels after the last line. */
  readonly tail: number
  /** The first tile in sight, and the active one. */
  readonly begin: { readonly top: number; readonly row: number }
  readonly handle: RefObject<GridHandle | null>
  readonly onSeen: (first: number, last: number) => void
  readonly onPlace: (index: number) => void
}

interface TileProps {
  readonly resource: Resource
  readonly record: AnyRecord | undefined
  readonly by: string
  readonly fields: readonly MetaField[]
  readonly index: number
  readonly column: number
  readonly width: number
  readonly picture: number
  readonly active: boolean
  readonly current: boolean
  readonly selected: boolean
  readonly mark: LiveMark | undefined
  readonly onToggle: (index: number, range: boolean) => void
}

const Field = ({ field, record, resource }: {
  readonly field: MetaField
  readonly record: AnyRecord
  readonly resource: Resource
}): ReactNode => {
  const value = record[field.name]
  return (
    <small className="cut">
      {value === null || value === undefined
        ? null
        : isState(field)
        ? <State value={plain(value)} />
        : <Value resource={resource} field={field} value={value} record={record} linked={false} />}
    </small>
  )
}

const Tile = memo((props: TileProps): ReactNode => {
  const { active, by, column, current, fields, index, mark, onToggle, picture, record, resource, selected, width } =
    props
  const { t } = useLocale()
  const key = record === undefined ? null : keyOf(resource, record)
  const value = record?.[by]
  const file = fileOf(Array.isArray(value) ? value[0] : value)
  const content = (
    <>
      <span className={style.picture} style={{ blockSize: picture }}>
        {file !== null
          ? <ListedPicture file={file} size="fill" />
          : record !== undefined && <ImageIcon className={style.sign} aria-hidden="true" />}
      </span>
      {record !== undefined && (
        <span className={style.words}>
          <b dir="auto" className="cut">{titleOf(resource, record)}</b>
          {fields.map((field) => <Field key={field.name} resource={resource} field={field} record={record} />)}
        </span>
      )}
    </>
  )
  return (
    <div
      role="gridcell"
      aria-colindex={column + 1}
      aria-selected={selected}
      aria-busy={record === undefined ? true : undefined}
      className={style.tile}
      style={{ inlineSize: width }}
      data-index={index}
      data-key={key ?? undefined}
      tabIndex={active ? 0 : -1}
      data-current={current ? "" : undefined}
      data-mark={mark}
    >
      {key === null
        ? <div className={style.link}>{content}</div>
        : <Link className={style.link} tabIndex={-1} to={addressOf(resource, key)}>{content}</Link>}
      {record !== undefined && (
        <label className={style.tick}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={t.list.select}
            checked={selected}
            onChange={() => {}}
            onClick={(event) => onToggle(index, event.shiftKey)}
          />
        </label>
      )}
    </div>
  )
})

/** The active tile, and the focus that follows it. */
const useActiveTile = (
  { begin, onPlace, total }: TilesProps,
  scroller: RefObject<HTMLElement | null>,
  reveal: (index: number) => void
) => {
  const [active, setActive] = useState(Math.min(begin.row, Math.max(0, total - 1)))
  const wanted = useRef(false)
  useLayoutEffect(() => {
    if (!wanted.current) return
    const tile = scroller.current?.querySelector<HTMLElement>(`[data-index="${active}"]`)
    if (tile == null) return
    wanted.current = false
    tile.focus({ preventScroll: true })
  })
  const show = (index: number): void => {
    const next = Math.min(Math.max(0, index), Math.max(0, total - 1))
    reveal(next)
    setActive(next)
    if (next !== active) onPlace(next)
  }
  return {
    active,
    show,
    focus: (index: number): void => {
      wanted.current = true
      show(index)
      const tile = scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)
      if (index === active && tile != null) tile.focus({ preventScroll: true })
    }
  }
}

export const Tiles = (props: TilesProps): ReactNode => {
  const { begin, by, fields, handle, marks, onSeen, peek, resource, rows, selecting, sizes, tail, total } = props
  const { across, gap, line, picture, width } = sizes
  const lines = Math.ceil(total / across)
  const { want } = rows
  const { body, page, reveal, scroller, seen, startAt, view } = useScrolling({
    rows: lines,
    rowHeight: line,
    headHeight: 0,
    tail: tail + gap,
    top: Math.floor(begin.top / across),
    want: useCallback((first, last, moving) => want(first * across, last * across, moving), [want, across]),
    onSeen: useCallback((first: number, last: number) => onSeen(first * across, (last + 1) * across - 1), [across])
  })
  const { active, focus, show } = useActiveTile(props, scroller, (index) => reveal(Math.floor(index / across)))
  useImperativeHandle(handle, (): GridHandle => ({
    focus: ({ row }) => focus(row ?? active),
    show: ({ row }) => show(row ?? active),
    scrollTo: (row) => startAt(Math.floor(row / across)),
    place: () => ({ row: active, column: 0 }),
    seen: () => {
      const [first, last] = seen()
      return [first * across, (last + 1) * across - 1]
    }
  }))
  const latest = useRef(selecting)
  latest.current = selecting
  const onToggle = useCallback((index: number, range: boolean): void => {
    const record = rows.rowAt(index)
    if (record !== undefined) latest.current.toggle(record, index, range)
  }, [])

  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.altKey || !(event.target instanceof Element) || event.target.closest("[data-index]") === null) return
    const wide = event.ctrlKey || event.metaKey
    const forward = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1
    const to = tileBy({ key: event.key, wide }, active, { across, count: total, page: page(), forward })
    const record = rows.rowAt(active)
    if (to !== null) focus(to)
    else if (wide && event.key === "a") selecting.all()
    else if (record === undefined) return
    else if (event.key === "x" || (event.key === " " && event.shiftKey)) {
      onToggle(active, event.shiftKey && event.key !== " ")
    } else if (event.key === " ") peek.toggle(record, active)
    else if (event.key === "Enter") peek.open(record, active, event)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const onClick = (event: MouseEvent<HTMLElement>): void => {
    if (!(event.target instanceof Element) || event.target.closest("label") !== null) return
    const tile = event.target.closest<HTMLElement>("[data-index]")
    const index = Number(tile?.dataset["index"] ?? -1)
    const record = rows.rowAt(index)
    if (record === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    if (event.shiftKey) return onToggle(index, true)
    show(index)
    peek.show(record, index)
  }

  const shown: number[] = []
  for (let at = view.first; at < Math.min(view.last, lines); at++) shown.push(at)
  // The tile with the focus stays in the document, because otherwise the page would get the focus.
  const own = Math.floor(active / across)
  if (own < lines && (own < view.first || own >= view.last)) shown.push(own)
  return (
    <div ref={scroller} className={style.scroller} tabIndex={-1} data-tiles="">
      <div
        ref={body}
        role="grid"
        aria-label={resource.view.label.plural}
        aria-rowcount={lines}
        aria-colcount={across}
        aria-multiselectable
        className={style.body}
        style={{ height: view.scale.physical + view.scale.viewport }}
        onKeyDown={onKeyDown}
        onClickCapture={onClick}
        onFocus={({ target }) => {
          const index = Number(target.closest<HTMLElement>("[data-index]")?.dataset["index"] ?? -1)
          if (index >= 0 && index !== active) show(index)
        }}
      >
        {shown.map((at) => (
          <div
            key={at}
            role="row"
            aria-rowindex={at + 1}
            className={style.line}
            style={{ transform: `translateY(${at * line - view.shift}px)`, height: line }}
          >
            {Array.from({ length: Math.min(across, total - at * across) }, (_, column) => {
              const index = at * across + column
              const record = rows.rowAt(index)
              const key = record === undefined ? null : rowKey(resource, record)
              return (
                <Tile
                  key={column}
                  resource={resource}
                  record={record}
                  by={by}
                  fields={fields}
                  index={index}
                  column={column}
                  width={width}
                  picture={picture}
                  active={index === active}
                  current={key !== null && key === peek.key}
                  selected={record !== undefined && selecting.has(record)}
                  mark={key === null ? undefined : marks.get(key)}
                  onToggle={onToggle}
                />
              )
            })}
          </div>
        ))}
      </div>
    </div>
  )
}
