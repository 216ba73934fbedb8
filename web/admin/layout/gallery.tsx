/** Records as pictures in lines, in one scroller over all of them, with the pages that a list has. The room of each picture is there before it. */

import { type ReactNode, type RefObject, useCallback, useLayoutEffect, useMemo, useRef, useState } from "react"
import type { Layout } from "../../../core/domain/model/layout.ts"
import { isMeasure } from "../field/kind.ts"
import type { CellPlace, GridHandle } from "../grid/grid.tsx"
import { useShortcut } from "../ground/keys.ts"
import { currentPlace, usePlace } from "../ground/location.ts"
import { WithPanel } from "../list/beside.tsx"
import { addressOfList, keepLeft, leftAt } from "../list/left.ts"
import { LiveList } from "../list/live.tsx"
import { needsOf } from "../list/needs.ts"
import { type Panel, usePeek } from "../list/peeking.ts"
import { useRows } from "../list/rows.ts"
import { useSelecting } from "../list/selecting.ts"
import { SelectionBar } from "../list/selection-bar.tsx"
import type { ListView } from "../list/view.ts"
import type { LiveMarks, OnMarks } from "../live/marks.ts"
import { useMessages } from "../messages/locale.tsx"
import { type Resource, titleField } from "../model/catalogue.ts"
import { LayoutFrame } from "./frame.tsx"
import style from "./gallery.module.css"
import { Tiles } from "./tiles.tsx"
import { sizesFor } from "./tiling.ts"

/** Most fields below a picture. */
const mostFields = 3

type GalleryLayout = Extract<Layout, { of: "gallery" }>

interface GalleryProps {
  readonly resource: Resource
  readonly view: ListView
  readonly layout: GalleryLayout
  readonly panel: Panel
}

/** The width of an element; null: not measured yet. */
const useWidth = (element: RefObject<HTMLElement | null>): number | null => {
  const [width, setWidth] = useState<number | null>(null)
  useLayoutEffect(() => {
    const now = element.current
    if (now === null) return
    const measure = (): void => setWidth(now.clientWidth)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(now)
    return () => observer.disconnect()
  }, [element])
  return width
}

/** Where the gallery begins: as it was left in this tab. It remembers the place when it goes. */
const useLeft = () => {
  const { path, query } = usePlace()
  const [left] = useState(() => {
    const at = currentPlace()
    return leftAt(addressOfList(at.path, at.query))
  })
  const latest = useRef<(() => void) | null>(null)
  useLayoutEffect(() => () => latest.current?.(), [])
  return { left, latest, address: addressOfList(path, query) }
}

export const Gallery = ({ layout, panel, resource, view }: GalleryProps): ReactNode => {
  const t = useMessages()
  const { by } = layout
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const handle = useRef<GridHandle>(null)
  const title = titleField(resource)
  const fields = useMemo(
    () =>
      view.columns.flatMap(({ id }) => resource.fields.get(id) ?? [])
        .filter((field) => field.name !== by && field !== title).slice(0, mostFields),
    [view.columns, resource, by, title]
  )
  const needs = useMemo(() => needsOf(resource, [by, ...fields.map(({ name }) => name)]), [resource, by, fields])
  const { address, latest, left } = useLeft()
  const rows = useRows(resource, { ...view.asked, ...needs }, left?.top ?? 0)
  const total = rows.total?.count ?? 0
  const selecting = useSelecting(resource, rows, total, view.filter, left)
  const peek = usePeek({ resource, rows, handle })
  const [marks, setMarks] = useState<LiveMarks>(new Map())
  const onMarks: OnMarks = useCallback((make) => setMarks(make), [])
  const sight = useRef<readonly [number, number]>([left?.top ?? 0, left?.top ?? 0])
  const place = useRef<CellPlace>(left?.place ?? { row: 0, column: 0 })
  const query = { ...view.asked, ...needs }
  latest.current = () => {
    if (rows.total === null) return
    const [top, last] = sight.current
    keepLeft(address, {
      place: place.current,
      top,
      height: last - top + 1,
      selection: selecting.selection,
      picked: selecting.picked
    })
  }
  const focus = (): void => handle.current?.focus({})
  useShortcut("j", focus)
  useShortcut("k", focus)
  useShortcut("Escape", () => selecting.some ? selecting.clear() : false)
  const sizes = width === null ? null : sizesFor(width, fields.length)

  return (
    <WithPanel resource={resource} rows={rows} handle={handle} peek={peek} panel={panel} savedAt={null}>
      <LayoutFrame
        resource={resource}
        view={view}
        total={rows.total}
        failure={rows.failure}
        onReload={rows.retry}
        onCount={rows.countExactly}
        news={(resource.model.events?.length ?? 0) > 0 && !rows.loading && (
          <LiveList resource={resource} rows={rows} query={query} handle={handle} marks={marks} onMarks={onMarks} />
        )}
      >
        <div ref={box} className={style.gallery}>
          {sizes !== null && rows.total !== null && (
            <Tiles
              // Another number of pictures in a line: the first one in sight stays in sight.
              key={sizes.across}
              resource={resource}
              by={by}
              fields={fields}
              sizes={sizes}
              rows={rows}
              total={total}
              selecting={selecting}
              peek={peek}
              marks={marks}
              tail={selecting.some ? 60 : 0}
              begin={{ top: sight.current[0], row: place.current.row }}
              handle={handle}
              onSeen={(first, last) => void (sight.current = [first, last])}
              onPlace={(row) => {
                place.current = { row, column: 0 }
                peek.follow(place.current)
              }}
            />
          )}
          {rows.total !== null && total === 0 && <p className={`dim ${style.none}`}>{t.layout.none}</p>}
        </div>
        {selecting.some && (
          <SelectionBar
            resource={resource}
            selection={selecting.selection}
            picked={selecting.picked}
            columns={view.columns}
            rows={rows}
            deleted={view.deleted}
            sum={fields.find((field) => isMeasure(resource, field))}
            onSelection={selecting.set}
            onChanged={rows.reload}
          />
        )}
      </LayoutFrame>
    </WithPanel>
  )
}
