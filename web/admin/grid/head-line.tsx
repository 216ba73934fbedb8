/** A line among the rows of a grid that is the head of a group: one cell over all columns, which folds and unfolds (WAI-ARIA treegrid). */

import type { MouseEvent, ReactNode } from "react"
import style from "./grid.module.css"

export interface GridHead {
  readonly level: number
  /** Whether its rows are shown; null: it has none. */
  readonly open: boolean | null
  readonly content: ReactNode
  readonly onPress: (event: MouseEvent) => void
}

/** The lines of a grid that are heads, and how deep its rows stand. */
export interface GridHeads {
  readonly headAt: (index: number) => GridHead | null
  readonly level: number
}

interface HeadLineProps {
  readonly head: GridHead
  readonly index: number
  readonly top: number
  readonly active: boolean
  /** The number of columns. */
  readonly span: number
}

export const HeadLine = ({ active, head, index, span, top }: HeadLineProps): ReactNode => (
  <div
    role="row"
    aria-rowindex={index + 2}
    aria-level={head.level}
    aria-expanded={head.open ?? undefined}
    className={style.line}
    style={{ transform: `translateY(${top}px)` }}
    data-index={index}
    data-line={head.level}
    onClick={head.onPress}
  >
    <div role="gridcell" aria-colindex={1} aria-colspan={span} data-column={0} tabIndex={active ? 0 : -1}>
      <div>{head.content}</div>
    </div>
  </div>
)
