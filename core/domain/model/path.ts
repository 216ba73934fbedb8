/**
 * Paths into JSON as texts: names with periods between them, `size.width`. A name that is no word stands in quotes, `size."net weight"`, so that every path has
 * one text and every text one path. It knows no JSON.
 */

const plain = /^[A-Za-z_][A-Za-z0-9_-]{0,62}$/
const escaped = /["\\\u0000-\u001f\u007f-\u009f]/g

/** A name as a part of a path. */
export const nameText = (name: string): string =>
  plain.test(name)
    ? name
    : `"${
      name.replace(
        escaped,
        (sign) =>
          sign === "\"" || sign === "\\" ? `\\${sign}` : `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`
      )
    }"`

/** A path as a text. */
export const pathText = (names: readonly string[]): string => names.map(nameText).join(".")

/** The parts of a text between separators of one sign; those in quotes are left alone. */
export const partsBetween = (text: string, separator: "." | ","): readonly string[] => {
  if (!text.includes("\"")) return text.split(separator)
  const parts: string[] = []
  let from = 0
  let inside = false
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (sign === "\\" && inside) at++
    else if (sign === "\"") inside = !inside
    else if (sign === separator && !inside) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  parts.push(text.slice(from))
  return parts
}

/** The parts of a path. */
export const pathParts = (text: string): readonly string[] => partsBetween(text, ".")

const quotedName = /^"((?:[^"\\]|\\(?:["\\]|u[0-9a-fA-F]{4}))+)"$/

/** The names of a path; null: the text is none. */
export const pathNames = (text: string): readonly string[] | null => {
  const names: string[] = []
  for (const part of pathParts(text)) {
    const inner = quotedName.exec(part)?.[1]
    if (inner === undefined && !plain.test(part)) return null
    const name = inner?.replace(
      /\\(?:u([0-9a-fA-F]{4})|(.))/g,
      (_, unit: string | undefined, sign: string) => unit === undefined ? sign : String.fromCharCode(parseInt(unit, 16))
    ) ?? part
    if (!name.isWellFormed() || name.includes("\0")) return null
    names.push(name)
  }
  return names
}
