/** Names of media types: the types of files, and the patterns that a field accepts. */

/** Words for types that have no name of their own. */
export interface TypeWords {
  readonly image: string
  readonly video: string
  readonly audio: string
  readonly text: string
  readonly any: string
  readonly plain: string
}

/** Types whose last part says little. */
const names: ReadonlyMap<string, string> = new Map([
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "DOCX"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "XLSX"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "PPTX"],
  ["application/msword", "DOC"],
  ["application/vnd.ms-excel", "XLS"],
  ["application/vnd.ms-powerpoint", "PPT"],
  ["image/svg+xml", "SVG"]
])

const families = ["image", "video", "audio", "text"] as const

/** A media type, or a pattern of several, in short: JPEG, PDF, images, plain text. */
export const typeName = (type: string, words: TypeWords): string => {
  if (type === "*/*") return words.any
  if (type === "text/plain") return words.plain
  const family = families.find((each) => type === `${each}/*`)
  if (family !== undefined) return words[family]
  return type.endsWith("/*")
    ? type.slice(0, -2)
    : names.get(type) ?? type.replace(/^.*\/(?:x-)?/, "").toUpperCase()
}

/** What a field takes, as a list. */
export const acceptedNames = (accept: readonly string[], words: TypeWords): string =>
  accept.map((each) => typeName(each, words)).join(", ")
