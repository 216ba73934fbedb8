/**
 * Comments of the database as texts that people read. A comment of a column is its label if it reads like one, else its help; a comment of a table is
 * the resource's description.
 */

/** Characters that change how a text is read without being seen, and those that are none. */
const unseen = /[^\P{C}\n\u200c\u200d]/gu

/** The text of a comment within a length, or null. Lines for tools, such as `@omit` of PostGraphile, are no text for people. */
const textOf = (comment: string | null, most: number): string | null => {
  const lines = (comment ?? "").replaceAll("\r\n", "\n").replaceAll(unseen, " ").split("\n")
  const text = lines.map((line) => line.trim()).filter((line) => !line.startsWith("@")).join("\n").trim()
  const cut = text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`
  return cut === "" ? null : cut
}

const longestLabel = 40

/**
 * What a column's comment is. A label is one line of at most 40 characters that begins like a heading and does not end like a sentence: `Net price`, but
 * neither `in cents` nor `Never null.`.
 */
export const wordsOf = (comment: string | null): { readonly label: string | null; readonly help: string | null } => {
  const text = textOf(comment, 1000)
  const label = text !== null && text.length <= longestLabel &&
    /^[\p{Lu}\p{Lt}\p{Lo}\p{N}][^\n]*[^\s.!?:;,…]$/u.test(text) &&
    !/[.!?:;]\s/.test(text)
  return label ? { label: text, help: null } : { label: null, help: text }
}

export const descriptionOf = (comment: string | null): string | null => textOf(comment, 2000)
