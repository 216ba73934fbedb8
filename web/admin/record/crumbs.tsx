/** The way back from a record to its list. */

import { ChevronRight } from "lucide-react"
import type { ReactNode } from "react"
import { listAddress } from "../ground/last-address.ts"
import { Link } from "../ground/link.tsx"
import { currentPlace } from "../ground/location.ts"
import type { Resource } from "../model/catalogue.ts"
import style from "./record.module.css"

/** The address of the list that the page was opened from, with its last state. */
export const backTo = (resource: Resource): string => {
  const { list } = currentPlace().memory
  return typeof list === "string" && list.startsWith(`/${resource.name}`) ? list : listAddress(resource.name)
}

export const Crumbs = (
  { children, resource }: { readonly resource: Resource; readonly children: ReactNode }
): ReactNode => (
  <nav className={style.crumbs} aria-label="Breadcrumb">
    <Link to={backTo(resource)} options={{ back: true }} dir="auto" className="dim">{resource.view.label.plural}</Link>
    <ChevronRight className="icon" data-flips="" aria-hidden="true" />
    {children}
  </nav>
)
