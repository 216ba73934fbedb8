/** The cell that opens its record: its value is a link, and a mark beside it shows while the pointer is on the row. */

import { SquareArrowOutUpRight } from "lucide-react"
import type { MouseEvent, ReactNode } from "react"
import { Link } from "../ground/link.tsx"
import { useMessages } from "../messages/locale.tsx"

interface TitleCellProps {
  readonly to: string
  /** False: the value leads to another record, so that only the mark opens this one. */
  readonly linked: boolean
  /** Whether the value stands at the end of the cell; the mark is at the other side. */
  readonly end: boolean
  /** Opens the record of the row with this number. */
  readonly onOpen: (index: number) => void
  readonly children: ReactNode
}

export const TitleCell = ({ children, end, linked, onOpen, to }: TitleCellProps): ReactNode => {
  const t = useMessages()
  // A plain click goes there and remembers the row. Any other one is the browser's: a new tab, a new window, a copied address.
  const onClick = (event: MouseEvent<HTMLAnchorElement>): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    onOpen(Number(event.currentTarget.closest("[data-index]")?.getAttribute("data-index") ?? 0))
  }
  return (
    <span className="title-cell" data-end={end ? "" : undefined}>
      {linked
        ? <Link to={to} className="title-link" tabIndex={-1} draggable={false} onClick={onClick}>{children}</Link>
        : children}
      {/* The row's key for opening is Enter; the mark is for the pointer, so that each row is read out once. */}
      <Link
        to={to}
        className="open-mark"
        tabIndex={-1}
        draggable={false}
        aria-hidden="true"
        title={t.list.open}
        onClick={onClick}
      >
        <SquareArrowOutUpRight className="icon" />
      </Link>
    </span>
  )
}
