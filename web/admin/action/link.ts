/** A view's links for one record. `{field}` in an address is replaced by the record's value. Pure. */

import type { MetaView } from "../../client/index.ts"
import { plain } from "../model/plain.ts"

interface RecordLink {
  readonly label: string
  readonly href: string
}

/** The address for a record. Null if a value is missing, or would lead to another path. */
export const hrefFor = (href: string, record: { readonly [field: string]: unknown }): string | null => {
  let missing = false
  const filled = href.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = record[name]
    const text = value === null || value === undefined || typeof value === "object" ? "" : plain(value)
    // Browsers resolve one or two dots as path segments.
    if (text === "" || text === "." || text === "..") missing = true
    return encodeURIComponent(text.toWellFormed())
  })
  return missing ? null : filled
}

export const linksFor = (
  links: MetaView["links"],
  record: { readonly [field: string]: unknown }
): readonly RecordLink[] =>
  links.flatMap(({ href, label }) => {
    const address = hrefFor(href, record)
    return address === null ? [] : [{ label, href: address }]
  })
