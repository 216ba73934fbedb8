/** The records of a calendar's days, read from the service as they come into sight, and again when others change them. */

import { useEffect, useLayoutEffect, useMemo, useReducer } from "react"
import { addDays } from "../field/calendar.ts"
import { firstPageIsThere } from "../ground/first-page.ts"
import { noticeFailure } from "../ground/session.ts"
import type { RowsQuery } from "../list/asked.ts"
import { rowKey } from "../list/selecting.ts"
import { follow } from "../live/follow.ts"
import type { Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { both } from "./columns.ts"
import { beginsWithin, type DayFields, reachesInto, type ShownDays } from "./days.ts"
import { type Calls, DayReader } from "./reading.ts"

/** Milliseconds between two drawings while answers arrive. */
const paceMs = 100
/** Most records that began before the shown days. */
const mostReaching = 100

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** A function that does something now, or soon where it was done just before. */
const paced = (work: () => void): () => void => {
  let last = -paceMs
  let timer: ReturnType<typeof setTimeout> | undefined
  const run = (): void => {
    timer = undefined
    last = performance.now()
    work()
  }
  return () => {
    if (timer !== undefined) return
    const wait = last + paceMs - performance.now()
    if (wait <= 0) run()
    else timer = setTimeout(run, wait)
  }
}

const callsOf = (
  resource: Resource,
  query: RowsQuery,
  fields: DayFields,
  changed: () => void
): Calls<AnyRecord> => {
  const rows = resourceClient(resource.name)
  const deleted = query.deleted ? { show_deleted: true } : {}
  const read = async (condition: string, order: string, limit: number, signal: AbortSignal) => {
    const { items } = await rows.search({
      filter: both(query.filter, condition),
      order_by: order,
      fields: query.fields,
      ...(query.expand.length === 0 ? {} : { expand: query.expand }),
      ...deleted,
      page_size: limit
    }, { signal })
    firstPageIsThere()
    return items
  }
  const { end, start } = fields
  return {
    count: async (from, to, signal) => {
      const { points } = await rows.series({
        field: start.name,
        from,
        to: addDays(to, -1),
        granularity: "day",
        time_zone: zone,
        filter: query.filter,
        ...deleted
      }, { signal })
      return points.map(({ count = 0 }) => count)
    },
    read: ({ from, last, limit }, signal) =>
      read(beginsWithin(resource, fields, from, addDays(last, 1)), start.name, limit, signal),
    reach: end === null
      ? null
      : async (day, signal) => {
        const items = await read(reachesInto(resource, fields, day) ?? "", `${start.name} desc`, mostReaching, signal)
        return { items, all: items.length < mostReaching }
      },
    keyOf: (record) => rowKey(resource, record),
    changed
  }
}

interface Asked {
  readonly resource: Resource
  readonly query: RowsQuery
  readonly fields: DayFields
  readonly shown: ShownDays
  /** How many records of a full day are read; 0: none. */
  readonly few: number
  /** Days around this one are read first. */
  readonly around: string
}

export const useDays = ({ around, few, fields, query, resource, shown }: Asked): DayReader<AnyRecord> => {
  const [, changed] = useReducer((turn: number) => turn + 1, 0)
  const names = [fields.start.name, fields.end?.name]
  const { deleted, filter } = query
  const asked = JSON.stringify([resource.name, names, filter, deleted, query.fields, query.expand])
  const reader = useMemo(() => new DayReader(callsOf(resource, query, fields, paced(changed))), [resource, asked])
  useEffect(() => () => reader.close(), [reader])
  const { from, to } = shown
  useLayoutEffect(() => reader.show({ from, to, few, around }), [reader, from, to, few, around])
  const { failure } = reader
  useEffect(() => {
    if (failure === undefined) return
    noticeFailure(failure)
    firstPageIsThere()
  }, [failure])

  useEffect(() => {
    if ((resource.model.events?.length ?? 0) === 0) return
    return follow(resource, filter, (event) => reader.collect(event.of === "missed" ? null : event.key))
  }, [reader, resource, filter])
  return reader
}
