/** The lines of a list in groups as the grid has them: heads, what keys do on them, and folding, which is kept in the address. */

import { type KeyboardEvent, useLayoutEffect, useRef } from "react"
import { useTitles } from "../field/titles.ts"
import { useReader } from "../field/value.tsx"
import type { CellPlace } from "../grid/grid.tsx"
import type { GridHead } from "../grid/head-line.tsx"
import { setQuery } from "../ground/location.ts"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { GroupBar, GroupHelp } from "./group-bar.tsx"
import { GroupHead, groupText } from "./group-head.tsx"
import { type Head, titleOfHead, untitledOf } from "./group-heads.ts"
import { mostGroups } from "./group-read.ts"
import { printLayout } from "./layout.ts"
import { type Folds, isFolded, type Line, type Lines, printFolds, withFold } from "./lines.ts"
import type { GroupLines } from "./rows.ts"
import type { GroupedProps, useGroups } from "./use-groups.ts"

/** The titles of records that groups of a level lead to, where the answer does not have them. */
const useGroupTitles = (resource: Resource, heads: readonly Head[], level: Head["level"]) => {
  const { values, way } = untitledOf(resource, heads, level)
  return useTitles(way?.target, values, way?.targetField)
}

interface LinesProps extends Pick<GroupedProps, "handle" | "layout" | "resource"> {
  readonly groups: ReturnType<typeof useGroups>
  readonly folds: Folds
  readonly lines: Lines | undefined
}

export const useGroupLines = (props: LinesProps): GroupLines => {
  const { folds, groups: { again, keys, limit, shown }, handle, layout, lines, resource } = props
  const { t } = useLocale()
  const reader = useReader()
  const held = shown.current
  const heads = held?.found.heads ?? []
  const titles = { 1: useGroupTitles(resource, heads, 1), 2: useGroupTitles(resource, heads, 2) }
  const titleOf = (head: Head): string | null => titleOfHead(resource, head, titles)
  const wanted = useRef<string | null>(null)

  // The focus follows the head of the group that was folded around it.
  useLayoutEffect(() => {
    const line = wanted.current === null ? -1 : lines?.lineOf(wanted.current) ?? -1
    if (line < 0) return
    wanted.current = null
    handle.current?.focus({ row: line, column: 0 })
  })

  const setFolds = (next: Folds): void => {
    const folded = printFolds(next)
    const { folded: _, ...plainly } = layout
    setQuery(printLayout(folded.length === 0 ? plainly : { ...plainly, folded }))
  }
  const headOf = (line: number): Head | null => {
    const at: Line | undefined = lines?.at(line)
    return at === undefined || at.of === "more" ? null : at.head
  }
  const setAll = (folded: boolean): void => {
    const id = headOf(handle.current?.place().row ?? 0)?.id
    // Of folded groups only those of the first level are there.
    if (id !== undefined && document.activeElement?.closest("[role=treegrid]") != null) {
      wanted.current = folded ? id.split("/")[0] ?? id : id
    }
    setFolds({ all: folded, ids: new Set() })
  }
  const fold = (head: Head, folded: boolean, all: boolean): void => {
    if (all) setAll(folded)
    else setFolds(withFold(folds, head.id, folded))
  }
  const showMore = (): void => {
    limit.current = mostGroups
    again.current()
  }
  const headAt = (line: number): GridHead | null => {
    const at = lines?.at(line)
    if (at?.of === "more") {
      const atMost = limit.current === mostGroups
      return {
        level: 1,
        open: null,
        content: <span className="dim cut">{atMost ? t.group.most : t.group.more}</span>,
        onPress: atMost ? () => {} : showMore
      }
    }
    if (at?.of !== "head") return null
    const open = !isFolded(folds, at.head.id)
    return {
      level: at.head.level,
      open,
      content: <GroupHead resource={resource} head={at.head} open={open} title={titleOf(at.head)} />,
      onPress: (event) => fold(at.head, open, event.shiftKey)
    }
  }
  const onKey = (event: KeyboardEvent, place: CellPlace, isFirst: boolean): boolean => {
    const { ctrlKey, key, metaKey, altKey, shiftKey } = event
    const at = lines?.at(place.row)
    if (lines === undefined || at === undefined || place.row < 0 || ctrlKey || metaKey || altKey) return false
    const rtl = getComputedStyle(event.currentTarget).direction === "rtl"
    const back = key === (rtl ? "ArrowRight" : "ArrowLeft")
    const on = key === (rtl ? "ArrowLeft" : "ArrowRight")
    const presses = key === "Enter" || key === " "
    if (at.of === "more") {
      if (presses && limit.current !== mostGroups) showMore()
      return presses || back || on
    }
    if (at.of === "row") {
      if (!back || shiftKey || !isFirst) return false
      handle.current?.focus({ row: lines.lineOf(at.head.id), column: 0 })
      return true
    }
    const folded = isFolded(folds, at.head.id)
    if (presses) fold(at.head, !folded, shiftKey)
    else if (back && !folded) fold(at.head, true, shiftKey)
    else if (on && folded) fold(at.head, false, shiftKey)
    else if (back && at.head.level === 2) {
      handle.current?.focus({ row: lines.lineOf(at.head.id.replace(/\/.*$/, "")), column: 0 })
    } else if (on) handle.current?.focus({ row: place.row + 1 })
    else return back
    return true
  }
  return {
    count: lines?.count ?? 0,
    stretches: (first, last) =>
      lines?.stretches(first, last).map(({ first: index, head, last: end }) => ({
        line: lines.lineOfRow(head.id, index),
        count: end - index,
        index,
        condition: head.condition
      })) ?? [],
    headAt,
    level: keys.length + 1,
    onKey,
    labelAt: (line) => {
      const head = headOf(line)
      if (head === null) return ""
      const outer = head.level === 1 ? undefined : heads.find(({ inner }) => inner.includes(head))
      return [...(outer === undefined ? [] : [outer]), head].map((each) =>
        groupText({ ...each, title: titleOf(each) }, reader)
      ).join(" · ")
    },
    placeAt: (line) => {
      const at = lines?.at(line)
      if (at?.of !== "row") return null
      const { about, condition, count } = at.head
      return { condition, index: at.index, count, about }
    },
    isElsewhere: (record) => held?.elsewhere.has(record) === true,
    bar: (
      <GroupBar
        resource={resource}
        layout={layout}
        folded={folds.all}
        unsummed={held?.found.unsummed === true}
        onFold={setAll}
      />
    ),
    help: <GroupHelp />
  }
}
