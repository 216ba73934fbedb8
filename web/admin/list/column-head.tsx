/** The head of a column: its name, which sorts the list by it, and its menu. */

import { ArrowDown, ArrowUp, ChevronDown } from "lucide-react"
import { lazy, type ReactNode, useId } from "react"
import type { Column } from "../grid/columns.ts"
import { Box } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { columnAt } from "../model/paths.ts"
import style from "./list.module.css"
import { whyUnsortedBy } from "./state.ts"
import type { ListView } from "./view.ts"

const ColumnMenu = lazy(() => import("./column-menu.tsx").then(({ ColumnMenu }) => ({ default: ColumnMenu })))

interface ColumnHeadProps {
  readonly resource: Resource
  readonly view: ListView
  readonly column: Column
  readonly at: number
  readonly tabIndex: 0 | -1
  /** Whether its menu is open. */
  readonly open: boolean
  readonly onOpen: (open: boolean) => void
}

export const ColumnHead = (
  { at, column, onOpen, open, resource, tabIndex, view }: ColumnHeadProps
): ReactNode => {
  const t = useMessages()
  const id = useId()
  const { choices, deleted, filter, order } = view
  const path = columnAt(resource, column.id)!
  const position = order.findIndex(({ field }) => field === column.id)
  const descending = position >= 0 && order[position]!.descending
  const unsorted = whyUnsortedBy(path, t)
  return (
    <>
      <button
        type="button"
        className={style.header}
        data-column={at}
        data-end={column.end ? "" : undefined}
        data-sorted={position >= 0 ? "" : undefined}
        tabIndex={tabIndex}
        title={unsorted === null ? column.label : `${column.label}\n${unsorted}`}
        aria-describedby={unsorted === null ? undefined : id}
        onClick={(event) => unsorted === null ? view.sortBy(column.id, event.shiftKey) : onOpen(true)}
        onContextMenu={(event) => {
          event.preventDefault()
          onOpen(true)
        }}
        onKeyDown={(event) => {
          if (event.key !== "ContextMenu" && !(event.altKey && event.key === "ArrowDown")) return
          event.preventDefault()
          event.stopPropagation()
          onOpen(true)
        }}
      >
        <span className="cut">{column.label}</span>
        {position >= 0 && (descending ? <ArrowDown aria-hidden="true" /> : <ArrowUp aria-hidden="true" />)}
        {position >= 0 && order.length > 1 && <sup aria-hidden="true">{position + 1}</sup>}
      </button>
      {unsorted !== null && <span id={id} hidden>{unsorted}</span>}
      <Box
        label={column.label}
        name={`${column.label}: ${t.list.more}`}
        className="head-menu"
        tabIndex={-1}
        open={open}
        onOpenChange={onOpen}
        content={(close) => (
          <ColumnMenu
            resource={resource}
            path={path}
            filter={filter}
            deleted={deleted}
            order={order}
            choices={choices}
            onOrder={view.setOrder}
            onChoices={view.setChoices}
            onFilter={view.setFilter}
            onClose={close}
          />
        )}
      >
        <ChevronDown className="icon" aria-hidden="true" />
      </Box>
    </>
  )
}
