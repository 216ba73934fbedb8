/**
 * Parses the small Markdown of text blocks into a tree: headings, paragraphs, lists, code, and within them emphasis, code and links. Everything else,
 * HTML included, is plain text. Pure.
 */

import { isSafeLink } from "../../client/source-meta.ts"

export type Inline =
  | { readonly of: "text" | "strong" | "em" | "code"; readonly text: string }
  | { readonly of: "link"; readonly text: string; readonly href: string }

export type Part =
  | { readonly of: "heading"; readonly level: 2 | 3 | 4; readonly inline: readonly Inline[] }
  | { readonly of: "paragraph"; readonly inline: readonly Inline[] }
  | { readonly of: "list"; readonly ordered: boolean; readonly items: ReadonlyArray<readonly Inline[]> }
  | { readonly of: "code"; readonly text: string }

const spans = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|\[([^\]\n]+)\]\(([^()\s]+)\)/g

export const readInline = (text: string): readonly Inline[] => {
  const parts: Inline[] = []
  let from = 0
  for (const match of text.matchAll(spans)) {
    const [whole, code, strong, em, label, href] = match
    if (href !== undefined && !isSafeLink(href)) continue
    if (match.index > from) parts.push({ of: "text", text: text.slice(from, match.index) })
    parts.push(
      code !== undefined
        ? { of: "code", text: code }
        : strong !== undefined
        ? { of: "strong", text: strong }
        : em !== undefined
        ? { of: "em", text: em }
        : { of: "link", text: label!, href: href! }
    )
    from = match.index + whole.length
  }
  if (from < text.length) parts.push({ of: "text", text: text.slice(from) })
  return parts
}

const bullet = /^\s{0,3}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/

const levels = [2, 3, 4] as const

/** Parses a text. `#` becomes a heading of the second level, because the page has one of the first level. */
export const readMarkdown = (text: string): readonly Part[] => {
  const parts: Part[] = []
  const lines = text.split(/\r?\n/)
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!
    const heading = /^(#{1,3})\s+(.*)$/.exec(line)
    if (line.trim() === "") at++
    else if (line.startsWith("```")) {
      const end = lines.findIndex((each, index) => index > at && each.startsWith("```"))
      const last = end === -1 ? lines.length : end
      parts.push({ of: "code", text: lines.slice(at + 1, last).join("\n") })
      at = last + 1
    } else if (heading !== null) {
      parts.push({ of: "heading", level: levels[heading[1]!.length - 1] ?? 2, inline: readInline(heading[2]!) })
      at++
    } else if (bullet.test(line)) {
      const ordered = bullet.exec(line)![1] !== undefined
      const items: (readonly Inline[])[] = []
      for (let item = bullet.exec(lines[at]!); item !== null && (item[1] !== undefined) === ordered;) {
        items.push(readInline(item[2]!))
        at++
        item = bullet.exec(lines[at] ?? "")
      }
      parts.push({ of: "list", ordered, items })
    } else {
      const begin = at
      while (at < lines.length && !/^(?:\s*$|```|#{1,3}\s)/.test(lines[at]!) && !bullet.test(lines[at]!)) at++
      parts.push({ of: "paragraph", inline: readInline(lines.slice(begin, at).join(" ")) })
    }
  }
  return parts
}
