/** A link within the app: a plain `a`, so that it opens in a new tab, can be copied, and is followed by screen readers. */

import type { AnchorHTMLAttributes, MouseEvent, ReactNode } from "react"
import { go, type GoOptions, hrefOf } from "./location.ts"

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> {
  readonly to: string
  readonly children: ReactNode
  readonly options?: GoOptions
}

export const Link = ({ onClick, options, to, ...rest }: LinkProps): ReactNode => (
  <a
    {...rest}
    href={hrefOf(to)}
    onClick={(event: MouseEvent<HTMLAnchorElement>) => {
      onClick?.(event)
      if (
        event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
      ) {
        return
      }
      event.preventDefault()
      go(to, options)
    }}
  />
)
