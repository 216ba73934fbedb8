/**
 * Builds filters as text of the service's language (AIP-160). Every value is quoted, so that typed text never becomes syntax. It validates nothing:
 * the service reports errors with spans in the text.
 */

/** A filter of a resource: its text is `String(filter)`, empty when it keeps everything. */
export class Filter<out Name extends string = string> {
  /** Types only: a filter of one resource is none of another. */
  declare readonly "~resource": Name
  readonly #text: string
  readonly #joint: "AND" | "OR" | ""

  constructor(text: string, joint: "AND" | "OR" | "" = "") {
    this.#text = text
    this.#joint = joint
  }

  toString(): string {
    return this.#text
  }

  /** The text as a part of a larger filter. */
  inside(joint: "AND" | "OR" | "NOT"): string {
    return this.#joint === "" || this.#joint === joint ? this.#text : `(${this.#text})`
  }
}

/** Left out of `and` and `or`: the result of a JavaScript condition that is false. */
type Skipped = null | undefined | false | ""

const join = <Name extends string>(
  joint: "AND" | "OR",
  filters: ReadonlyArray<Filter<Name> | Skipped>
): Filter<Name> => {
  const parts = filters.filter((each): each is Filter<Name> => each instanceof Filter && String(each) !== "")
  if (parts.length === 1) return parts[0]!
  return new Filter(parts.map((each) => each.inside(joint)).join(` ${joint} `), joint)
}

/** All of them. Without any it keeps everything. */
export const and = <Name extends string>(...filters: ReadonlyArray<Filter<Name> | Skipped>): Filter<Name> =>
  join("AND", filters)

/** One of them or more. Throws without any, because "none of these" must not turn into "everything". */
export const or = <Name extends string>(...filters: ReadonlyArray<Filter<Name> | Skipped>): Filter<Name> => {
  const given = filters.filter((each) => each instanceof Filter)
  if (given.length === 0) throw new TypeError("or() needs at least one filter.")
  // If one filter keeps everything, the whole OR keeps everything.
  return given.some((each) => String(each) === "") ? new Filter("") : join("OR", given)
}

/** What the filter does not keep, records without a value included. Throws for one that keeps everything. */
export const not = <Name extends string>(filter: Filter<Name>): Filter<Name> => {
  if (String(filter) === "") throw new TypeError("not() of everything keeps nothing.")
  return new Filter(`NOT ${filter.inside("NOT")}`)
}

/** A time relative to that of the request, as `now()` in the language. */
export class Now {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
}

/** The time of the request; with an offset such as `"-7d"`, `"+1h -30m"` (units `s m h d w`). */
export const now = (offset = ""): Now => {
  if (!/^(?:\s*[+-]\s*\d+[smhdw])*\s*$/.test(offset)) throw new TypeError(`"${offset}" is no offset such as -7d.`)
  return new Now(`now()${offset.replace(/\s*([+-])\s*/g, " $1 ").trimEnd()}`)
}

const escapes: { readonly [char: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }
const quoted = (text: string, special = /[\\"*\n\r\t]/g): string =>
  `"${text.replace(special, (char) => escapes[char] ?? `\\${char}`)}"`

const print = (value: unknown): string => {
  if (value instanceof Now) return String(value)
  if (value instanceof Date) return quoted(value.toISOString())
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return quoted(String(value))
  if (typeof value === "number" && Number.isFinite(value)) return quoted(String(value))
  throw new TypeError(`${String(value)} is no value of a filter.`)
}

/** A text of words and phrases to look for in the searched fields. */
export const search = (text: string): Filter<never> => new Filter(`search(${quoted(text)})`)

/** The text of a filter that is written by hand, to be put together with others. */
export const filterText = (text: string): Filter<never> => new Filter(text.trim(), text.trim() === "" ? "" : "AND")

/** The conditions on one field. Which of them a field offers depends on its kind. */
export class Condition {
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  #compare(operator: string, value: unknown): Filter<never> {
    return new Filter(`${this.#name} ${operator} ${print(value)}`)
  }

  eq(value: unknown): Filter<never> {
    return value === null ? this.isNull() : this.#compare("=", value)
  }

  /** Also records without a value. */
  ne(value: unknown): Filter<never> {
    return value === null ? this.isPresent() : this.#compare("!=", value)
  }

  lt(value: unknown): Filter<never> {
    return this.#compare("<", value)
  }

  le(value: unknown): Filter<never> {
    return this.#compare("<=", value)
  }

  gt(value: unknown): Filter<never> {
    return this.#compare(">", value)
  }

  ge(value: unknown): Filter<never> {
    return this.#compare(">=", value)
  }

  /** Equals one of the values. Without values it matches nothing. */
  in(values: readonly unknown[]): Filter<never> {
    if (values.length === 0) return and(this.isNull(), this.isPresent())
    return new Filter(`in(${[this.#name, ...values.map(print)].join(", ")})`)
  }

  isNull(): Filter<never> {
    return new Filter(`isNull(${this.#name})`)
  }

  isPresent(): Filter<never> {
    return new Filter(`${this.#name}:*`)
  }

  /** Contains the text, in any case. A list has the element, a range the value. */
  contains(value: unknown): Filter<never> {
    return new Filter(`${this.#name}:${print(value)}`)
  }

  /** The number of elements of a list. */
  get length(): Condition {
    return new Condition(`length(${this.#name})`)
  }

  /** The whole value, with stars for any text: `"Acme*"`. A star itself is `\*`. */
  matches(pattern: string): Filter<never> {
    return new Filter(`${this.#name} = ${quoted(pattern, /\\(?!\*)|["\n\r\t]/g)}`)
  }

  startsWith(text: string): Filter<never> {
    return new Filter(`${this.#name} = ${quoted(text).slice(0, -1)}*"`)
  }

  similar(text: string): Filter<never> {
    return new Filter(`similar(${this.#name}, ${quoted(text)})`)
  }

  /** PostgreSQL's regular expressions; at most 200 characters. */
  regex(pattern: string): Filter<never> {
    return new Filter(`regex(${this.#name}, ${quoted(pattern, /\\(?=[\\"']|$)|"/g)})`)
  }
}

/** The fields of a resource as conditions: `fieldScope.status.eq("paid")`. Any name gives one; the service judges it. */
export const fieldScope: { readonly [name: string]: Condition } = new Proxy(Object.create(null), {
  get: (_, name) => {
    if (typeof name === "string" && /^\w+$/.test(name)) return new Condition(name)
    throw new TypeError(`${String(name)} is no name of a field.`)
  }
})
