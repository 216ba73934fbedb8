/** The links of a record, as a part of its page. */

import { ExternalLink } from "lucide-react"
import type { ReactNode } from "react"
import type { MetaView } from "../../client/index.ts"
import { Link } from "../ground/link.tsx"
import { withinApp } from "../ground/location.ts"
import { useMessages } from "../messages/locale.tsx"
import { linksFor } from "./link.ts"

export const RecordLinks = (
  { links, record }: { readonly links: MetaView["links"]; readonly record: { readonly [field: string]: unknown } }
): ReactNode => {
  const w = useMessages().action
  const entries = linksFor(links, record)
  if (entries.length === 0) return null
  return (
    <section>
      <h2>{w.links}</h2>
      <ul>
        {entries.map(({ href, label }) => {
          const inside = withinApp(href)
          return (
            <li key={label}>
              {inside === null
                ? (
                  <a className="related" href={href} target="_blank" rel="noreferrer">
                    {label}
                    <ExternalLink className="icon" aria-hidden="true" />
                  </a>
                )
                : <Link className="related" to={inside}>{label}</Link>}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
