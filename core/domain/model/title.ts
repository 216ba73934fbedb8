/**
 * Titles of records: what people call one record in lists, pickers and headings. A title is the name of a field, or a text with fields in
 * braces, such as `{first_name} {last_name}`. A foreign key in braces stands for the title of the related record. Of several titles between `||`, a record
 * has the first that shows something: `{name}||{email}`.
 */

/** A piece of a title: a text between fields, or a field. */
type TitlePart = { readonly text: string } | { readonly field: string }

const placeholder = /\{([^{}]*)\}/g

const titlesOf = (title: string): readonly string[] => title.split("||")

/** The pieces of one title in order. A text without braces is the name of a field. */
const partsOf = (title: string): readonly TitlePart[] => {
  if (!/[{}]/.test(title)) return [{ field: title }]
  const parts: TitlePart[] = []
  let from = 0
  for (const { 0: whole, 1: field = "", index } of title.matchAll(placeholder)) {
    if (index > from) parts.push({ text: title.slice(from, index) })
    parts.push({ field })
    from = index + whole.length
  }
  if (from < title.length) parts.push({ text: title.slice(from) })
  return parts
}

/** Names of the fields of a title; each once. */
export const fieldsOfTitle = (title: string): readonly string[] => [
  ...new Set(titlesOf(title).flatMap(partsOf).flatMap((part) => "field" in part ? [part.field] : []))
]

const fillOne = (title: string, valueOf: (field: string) => string): string => {
  let filled = ""
  let between = ""
  let ends = false
  for (const part of partsOf(title)) {
    if ("text" in part) {
      between += part.text
      continue
    }
    const value = valueOf(part.field)
    ends = value !== ""
    if (ends) filled += between + value
    // What stands before the first value stays, as it is the beginning of the title.
    if (ends || filled !== "") between = ""
  }
  return filled === "" ? "" : (ends ? filled + between : filled).trim()
}

/** The title with its values. A field without a value takes the text beside it away; a title without any value is empty. */
export const fillTitle = (title: string, valueOf: (field: string) => string): string => {
  for (const each of titlesOf(title)) {
    const filled = fillOne(each, valueOf)
    if (filled !== "") return filled
  }
  return ""
}

/** The title without fields that somebody does not see; null where none is left. */
export const restrictTitle = (title: string, visible: (field: string) => boolean): string | null => {
  const titles = titlesOf(title).map((each) => fillOne(each, (field) => visible(field) ? `{${field}}` : ""))
    .filter((each) => each !== "")
  return titles.length === 0 ? null : plainly(titles)
}

/** A title of one field alone is its name. */
const plainly = (titles: readonly string[]): string =>
  (titles.length === 1 ? /^\{([^{}]*)\}$/.exec(titles[0]!)?.[1] : undefined) ?? titles.join("||")

/** What a title is chosen by. */
export interface TitleField {
  readonly name: string
  readonly kind: string
  readonly relation: string | null
  readonly optional: boolean
  readonly searched: boolean
  readonly sensitive: boolean
  readonly file: unknown
  /** Most characters of a text; null: any. */
  readonly max?: number | null
}

/** A name as words: `firstName` is `first_name`. */
const wordsOf = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase()

/** A name without what separates its words: `first_name`, `firstName` and `firstname` are the same. */
const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "")

/** Names of a whole, also as German databases have them. */
const whole = ["name", "fullname", "displayname", "vollername", "vollname", "anzeigename"]

/** First and last names, in pairs. */
const people: ReadonlyArray<readonly [string, string]> = [
  ["firstname", "lastname"],
  ["givenname", "familyname"],
  ["forename", "surname"],
  ["firstname", "surname"],
  ["vorname", "nachname"]
]

const usual = ["title", "label", "subject", "email", "code", "username", "login", "slug", "number", "reference"]

/** Parts of a person's name, and names of what machines know. */
const noName = /^(?:first|last|middle|given|family|maiden|nick|user|login|file|host|domain|table|class|type)_name$/

/** Where something is sent or billed to says nothing of the record itself. */
const elsewhere = /^(?:bill|billing|ship|shipping|delivery|mailing)_/

/** Most characters of a text that may be missing and still names records: a remark is no title. */
const shortText = 200

/** Most titles that stand in for one another. */
const mostTitles = 3

/** `product_name` in `products`, `category_title` in `categories`. */
const isOwnName = (name: string, resource: string): boolean => {
  const [, stem = ""] = /^(.+)_(?:name|title)$/.exec(name) ?? []
  return stem.length > 2 && wordsOf(resource).includes(stem.slice(0, Math.max(3, stem.length - 1)))
}

/**
 * The best title that fields offer where none is declared: `name`, the first and the last name, the resource's own name (`product_name`), `title`, `label`,
 * `subject`, `email`, `code` and their like, another text that is called a name, else the first searched text. Where the best may be missing, the next ones stand in for it. A table that joins two
 * others is called by both. Null: the key is all there is.
 */
export const suggestTitle = (
  resource: string,
  fields: readonly TitleField[],
  key: ReadonlySet<string>
): string | null => {
  const names = new Set(fields.map(({ name }) => name))
  const texts = fields.filter(({ file, kind, name, relation, sensitive }) =>
    kind === "text" && file === null && relation === null && !sensitive && !key.has(name) &&
    !elsewhere.test(wordsOf(name)) &&
    // The type of what `imageable_id` points at names nothing.
    !(/_?type$/i.test(name) && names.has(name.replace(/type$/, "id").replace(/Type$/, "Id")))
  )
  const byLetters = new Map(texts.toReversed().map(({ name }) => [lettersOf(name), name]))
  const named = (letters: readonly string[]): readonly string[] =>
    letters.flatMap((each) => byLetters.has(each) ? [`{${byLetters.get(each)!}}`] : [])
  const pair = people.find((letters) => letters.every((each) => byLetters.has(each)))
  const best = [
    ...named(whole),
    ...(pair === undefined ? [] : [named(pair).join(" ")]),
    ...texts.filter(({ name }) => isOwnName(wordsOf(name), resource)).map(({ name }) => `{${name}}`),
    ...named(["companyname", "company", ...usual]),
    ...texts.filter(({ name }) => wordsOf(name).endsWith("_name") && !noName.test(wordsOf(name)))
      .map(({ name }) => `{${name}}`),
    ...texts.filter(({ max, optional, searched }) => searched && (!optional || (max ?? Infinity) <= shortText))
      .map(({ name }) => `{${name}}`)
  ]
  const said = new Set<string>()
  const titles = best.filter((title) => {
    const news = fieldsOfTitle(title).filter((name) => !said.has(name))
    for (const name of news) said.add(name)
    return news.length > 0
  })
  // A text may be missing or empty: the next ones stand in for it, up to one that is never missing. Names of people are often empty texts.
  const required = new Set(texts.flatMap(({ name, optional }) => optional ? [] : [name]))
  const sure = titles[0]?.includes(" ") ? -1 : titles.findIndex((title) => required.has(fieldsOfTitle(title)[0]!))
  if (titles.length > 0) return plainly(titles.slice(0, sure === -1 ? mostTitles : Math.min(mostTitles, sure + 1)))
  const related = fields.filter(({ relation }) => relation !== null)
  return related.length === 2 && texts.length === 0 ? related.map(({ name }) => `{${name}}`).join(" · ") : null
}
