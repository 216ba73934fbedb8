/** The cell that opens its record: its value is a link to it. A mark, which is there while the pointer is on the row, shows it beside the list. */

import { PanelRight } from "lucide-react"
import type { MouseEvent, ReactNode } from "react"
import { Link } from "../ground/link.tsx"
import { useMessages } from "../messages/locale.tsx"

interface TitleCellProps {
  readonly to: string
  /** False: the value leads to another record, so that only the mark leads to this one. */
  readonly linked: boolean
  /** Whether the value stands at the end of the cell; the mark is at the other side. */
  readonly end: boolean
  /** Opens the record of the row with this number. */
  readonly onOpen: (index: number) => void
  /** Shows it beside the list. */
  readonly onPeek: (index: number) => void
  readonly children: ReactNode
}

export const TitleCell = ({ children, end, linked, onOpen, onPeek, to }: TitleCellProps): ReactNode => {
  const t = useMessages()
  // A plain click goes there and remembers the row. Any other one is the browser's: a new tab, a new window, a copied address.
  const plainly = (work: (index: number) => void) => (event: MouseEvent<HTMLAnchorElement>): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    work(Number(event.currentTarget.closest("[data-index]")?.getAttribute("data-index") ?? 0))
  }
  return (
    <span className="title-cell" data-end={end ? "" : undefined}>
      {linked
        ? (
          <Link to={to} className="title-link" tabIndex={-1} draggable={false} onClick={plainly(onOpen)}>
            {children}
          </Link>
        )
        : children}
      {/* The row has keys for both; the mark is for the pointer, so that each row is read out once. */}
      <Link
        to={to}
        className="open-mark"
        tabIndex={-1}
        draggable={false}
        aria-hidden="true"
        title={t.peek.open}
        onClick={plainly(onPeek)}
      >
        <PanelRight className="icon" data-flips="" />
      </Link>
    </span>
  )
}
