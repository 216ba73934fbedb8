/** A link within the app. It is an `a` element, so that it can open in a new tab and be copied, and so that screen readers know it. */

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
