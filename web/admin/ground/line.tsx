/** A picture of one line, for the pages before sign-in: Lucide's component would be a sixtieth of all that they load. */

import type { ReactNode } from "react"

export const Line = ({ d }: { readonly d: string }): ReactNode => (
  <svg
    className="icon"
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d={d} />
  </svg>
)
