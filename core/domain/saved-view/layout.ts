/**
 * The layout of a saved view: how a list is laid out, and by which of its fields (docs/reference/saved-views.md#layouts). It names only what the caller
 * could filter by and group by.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import { type Accesses, scopeOf } from "../access/reach.ts"
import { isBag } from "../bag.ts"
import type { Layout } from "../model/layout.ts"
import type { Field } from "../model/model.ts"
import type { Problem } from "../problem.ts"
import { aggregateField, aggregatePlace, groupable, timed } from "../read/aggregate.ts"

/** Most fields that records are grouped by, and dates of a calendar. */
const mostGroups = 2
const mostDates = 2
/** The lengths of time that rows are grouped by. */
const byTime = /^(?:day|week|month|year)\((.*)\)$/s
/** Most columns of a board that have a limit, and the largest one. */
const mostLimits = 100
const largestLimit = 1_000_000

/** Most groups that a view holds as folded, and the longest name of one: two values, percent-encoded. */
const mostFolded = 200
const longestGroup = 1_300

type Checked<A> = Result.Result<A, string>

const members: ReadonlyMap<string, readonly string[]> = new Map([
  ["list", ["group", "folded"]],
  ["board", ["by", "limits"]],
  ["calendar", ["by", "span"]],
  ["gallery", ["by"]]
])

const said = ({ detail }: Problem): string => detail

/** Records stand in the columns of a board by a value of their own, or by the record that they lead to. */
const boarded = (field: Field): string | null =>
  field.kind === "enum" || field.relation !== null
    ? groupable(field)
    : `The field "${field.name}" is neither an enum nor a relation.`

const pictured = (field: Field): string | null => {
  const accept = field.file === null ? [] : field.file.accept ?? ["image/*"]
  return accept.some((type) => type.startsWith("image/")) ? null : `The field "${field.name}" holds no images.`
}

const isNames = (raw: unknown, most: number): raw is readonly string[] =>
  Array.isArray(raw) && raw.length > 0 && raw.length <= most && new Set(raw).size === raw.length &&
  raw.every((name) => typeof name === "string")

const isLimit = (limit: unknown): limit is number =>
  typeof limit === "number" && Number.isInteger(limit) && limit >= 1 && limit <= largestLimit

const checkLimits = (raw: unknown): Checked<{ readonly [value: string]: number }> => {
  const entries = isBag(raw) ? Object.entries(raw) : []
  const limits = entries.flatMap(([value, limit]) =>
    value.length <= 200 && !value.includes("\0") && value.isWellFormed() && isLimit(limit)
      ? [[value, limit] as const]
      : []
  )
  return isBag(raw) && limits.length === entries.length && limits.length <= mostLimits
    ? Result.succeed(Object.fromEntries(limits))
    : Result.fail(`limits must be an object of at most ${mostLimits} whole numbers from 1 to ${largestLimit}.`)
}

const isFolded = (raw: unknown): raw is readonly string[] =>
  Array.isArray(raw) && raw.length <= mostFolded &&
  raw.every((id) => typeof id === "string" && id.length <= longestGroup && /^[!-~]+$/.test(id))

const each = (names: readonly string[], check: (name: string) => Checked<string>): Checked<readonly string[]> => {
  const checked: string[] = []
  for (const name of names) {
    const found = check(name)
    if (Result.isFailure(found)) return Result.fail(found.failure)
    checked.push(found.success)
  }
  return Result.succeed(checked)
}

/** A layout that the lists and aggregates of the caller would answer, or why it is none. */
export const checkLayout = (raw: unknown, access: Access, accesses: Accesses): Checked<Layout> => {
  if (raw === null) return Result.succeed(null)
  const of = isBag(raw) ? String(raw["of"]) : ""
  const known = members.get(of)
  if (!isBag(raw) || known === undefined) {
    return Result.fail("The layout must be null or { of }, where of is list, board, calendar or gallery.")
  }
  const extra = Object.keys(raw).find((name) => name !== "of" && !known.includes(name))
  if (extra !== undefined) return Result.fail(`The layout has no member ${JSON.stringify(extra.slice(0, 100))}.`)
  const { restricted } = access
  const own = (name: unknown, accepts: (field: Field) => string | null): Checked<string> =>
    Result.mapBoth(aggregateField(restricted, "layout", String(name), accepts), {
      onFailure: said,
      onSuccess: (field) => field.name
    })
  if (of === "list") {
    if (!isNames(raw["group"], mostGroups)) return Result.fail(`group must be a list of 1 to ${mostGroups} fields.`)
    const scope = scopeOf(accesses, access, [])
    const group = each(
      raw["group"],
      (name) => {
        const [, field] = byTime.exec(name) ?? []
        const place = field === undefined
          ? aggregatePlace(restricted, scope, "layout", name, groupable)
          : aggregatePlace(restricted, scope, "layout", field, timed)
        return Result.mapBoth(place, { onFailure: said, onSuccess: () => name })
      }
    )
    const { folded = [] } = raw
    if (!isFolded(folded)) {
      return Result.fail(`folded must be a list of at most ${mostFolded} groups, their values percent-encoded.`)
    }
    return Result.map(group, (names) => ({ of, group: names, ...(folded.length === 0 ? {} : { folded }) }))
  }
  if (of === "calendar") {
    if (!isNames(raw["by"], mostDates)) return Result.fail(`by must be a list of 1 to ${mostDates} dates.`)
    const { span = "month" } = raw
    if (span !== "month" && span !== "week") return Result.fail("span must be month or week.")
    return Result.map(
      each(raw["by"], (name) => own(name, timed)),
      (by) => ({ of, by, ...(span === "week" ? { span } : {}) })
    )
  }
  if (of === "gallery") {
    // Pictures need no filter: the field is only read.
    const field = restricted.byName.get(String(raw["by"]))
    if (field === undefined) return Result.fail("The layout needs a field of images.")
    const refusal = pictured(field)
    return refusal === null ? Result.succeed({ of, by: field.name }) : Result.fail(refusal)
  }
  const by = own(raw["by"], boarded)
  if (Result.isFailure(by)) return Result.fail(by.failure)
  if (raw["limits"] === undefined) return Result.succeed({ of: "board", by: by.success })
  return Result.map(checkLimits(raw["limits"]), (limits) => ({ of: "board", by: by.success, limits }))
}
