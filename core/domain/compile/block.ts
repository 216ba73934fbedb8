/**
 * Compiles the blocks of composed pages. What they name is checked against the models as in a view; what a caller then sees of a page is decided per
 * caller by `/api/meta`.
 */

import { type Bag, isBag } from "../bag.ts"
import { didYouMean, quoteValue } from "../declare/refusal.ts"
import { needsArguments } from "../model/database-function.ts"
import { chartFields } from "../model/view.ts"
import type { Block, Period } from "../model/view.ts"
import { timed } from "../read/aggregate.ts"
import { seriesRanges } from "../value/instant.ts"
import type { Json } from "../value/kind.ts"
import { isLabel, refuseUnknownKeys, type Say } from "./check.ts"
import { componentFix, isComponent } from "./link.ts"
import { ViewReader, type ViewScope } from "./view.ts"

const kinds = ["number", "chart", "list", "text", "component"] as const

const properties = {
  number: ["label", "resource", "measure", "filter", "period"],
  chart: ["label", "resource", "chart", "filter"],
  list: ["label", "resource", "filter", "columns", "sort", "limit"],
  text: ["text"],
  component: ["component", "label", "props"]
} satisfies { readonly [kind in typeof kinds[number]]: readonly string[] }

const mostBlocks = 50
const mostText = 20_000

const ranges = seriesRanges.filter((range) => range !== "all")

const readPeriod = (raw: unknown, reader: ViewReader): Period | null => {
  if (raw === undefined) return null
  if (!isBag(raw)) {
    reader.say(`period is ${quoteValue(raw)}.`, "Write period: { field: \"created_at\", range: \"30d\" }.")
    return null
  }
  refuseUnknownKeys(raw, ["field", "range"], "period", reader.say)
  const field = reader.field(raw["field"], "period.field")
  if (field !== null) reader.aggregated(field, "period.field", timed)
  const range = ranges.find((each) => each === raw["range"])
  if (range === undefined) reader.say(`period.range is ${quoteValue(raw["range"])}.`, didYouMean(raw["range"], ranges))
  return field === null || range === undefined ? null : { field: field.name, range }
}

type Base = { readonly label: string; readonly resource: string; readonly filter: string | null }

const readNumber = (raw: Bag, base: Base, filtered: readonly string[], reader: ViewReader): Block => {
  const period = readPeriod(raw["period"], reader)
  const { measure = "count" } = raw
  const parts = typeof measure === "string" ? /^(sum|avg|min|max):(.+)$/s.exec(measure) : null
  const measured = parts === null ? null : reader.field(parts[2], "measure")
  if (measured !== null) reader.measured(measured, "measure")
  if (parts === null && measure !== "count") {
    reader.say(`measure is ${quoteValue(measure)}.`, "Write \"count\", or sum:, avg:, min: or max: and a field.")
  }
  if (parts !== null && raw["period"] === undefined) {
    reader.say(
      `measure ${quoteValue(measure)} needs a period.`,
      "Add period: { field: \"created_at\", range: \"30d\" }, or count."
    )
  }
  const fields = [
    ...filtered,
    ...(period === null ? [] : [period.field]),
    ...(measured === null ? [] : [measured.name])
  ]
  return {
    of: "number",
    ...base,
    measure: measured === null ? "count" : `${parts?.[1]}:${measured.name}`,
    measured: measured?.name ?? null,
    period,
    fields
  }
}

const readSourced = (
  of: "number" | "chart" | "list",
  raw: Bag,
  place: string,
  scopes: ReadonlyMap<string, ViewScope>,
  say: Say
): Block | null => {
  const scope = typeof raw["resource"] === "string" ? scopes.get(raw["resource"]) : undefined
  if (scope === undefined) {
    say(
      `${place}.resource is ${quoteValue(raw["resource"])}, which is not a resource.`,
      didYouMean(raw["resource"], scopes.keys())
    )
    return null
  }
  const reader = new ViewReader(scope, place)
  if (needsArguments(scope.model)) {
    reader.say("It shows the rows of a function that needs arguments.", "Give its arguments defaults, or show a table.")
  }
  const { label } = raw
  if (!isLabel(label)) reader.say(`label is ${quoteValue(label)}.`, "Give it a text that people read.")
  const filter = raw["filter"] === undefined ? null : reader.filter(raw["filter"], "filter")
  const base: Base = {
    label: isLabel(label) ? label : "",
    resource: scope.model.name,
    filter: filter?.filter ?? null
  }
  const filtered = filter?.fields ?? []
  if (of === "number") return readNumber(raw, base, filtered, reader)
  if (of === "chart") {
    if (raw["chart"] === undefined) reader.say("There is no chart.", "Write chart: { of: \"series\", field: … }.")
    const chart = reader.chart(raw["chart"])
    return chart === null ? null : { of, ...base, chart, fields: [...filtered, ...chartFields(chart)] }
  }
  return {
    of,
    ...base,
    columns: raw["columns"] === undefined ? [] : reader.fields(raw["columns"], "columns").map(({ name }) => name),
    sort: raw["sort"] === undefined ? [] : reader.order(raw["sort"], "sort"),
    limit: reader.count(raw["limit"], "limit", 50, 10),
    fields: filtered
  }
}

/** JSON of at most 20,000 characters. */
const asJson = (raw: unknown): Json | undefined => {
  if (raw === undefined) return null
  try {
    const text = JSON.stringify(raw)
    return text === undefined || text.length > mostText ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

const readBlock = (
  raw: unknown,
  place: string,
  scopes: ReadonlyMap<string, ViewScope>,
  say: Say
): Block | null => {
  const of = isBag(raw) ? kinds.find((kind) => kind === raw["of"]) : undefined
  if (!isBag(raw) || of === undefined) {
    say(`${place} is ${quoteValue(raw)}.`, "Write { of: \"number\", … }; of is number, chart, list, text or component.")
    return null
  }
  refuseUnknownKeys(raw, ["of", ...properties[of]], place, say)
  if (of === "text") {
    const { text } = raw
    if (typeof text === "string" && text.trim() !== "" && text.length <= mostText) return { of, text }
    say(`${place}.text is ${quoteValue(text)}.`, `Write a text of at most ${mostText} characters.`)
    return null
  }
  if (of !== "component") return readSourced(of, raw, place, scopes, say)
  const { component, label } = raw
  const props = asJson(raw["props"])
  if (!isComponent(component)) say(`${place}.component is ${quoteValue(component)}.`, componentFix)
  if (label !== undefined && !isLabel(label)) say(`${place}.label is ${quoteValue(label)}.`, "Give it a text.")
  if (props === undefined) say(`${place}.props is no JSON, or more than ${mostText} characters of it.`, "Give it less.")
  return isComponent(component) && props !== undefined
    ? { of, component, label: isLabel(label) ? label : null, props }
    : null
}

/** Compiles `blocks` of a page; null: there are none, and something else draws the page. */
export const readBlocks = (
  raw: unknown,
  place: string,
  scopes: ReadonlyMap<string, ViewScope>,
  say: Say
): readonly Block[] | null => {
  if (raw === undefined) return null
  if (!Array.isArray(raw) || raw.length === 0 || raw.length > mostBlocks) {
    say(
      `${place}.blocks is ${Array.isArray(raw) ? `a list of ${raw.length}` : quoteValue(raw)}.`,
      `List 1 to ${mostBlocks} blocks: [{ of: "number", label: "Orders", resource: "orders" }].`
    )
    return null
  }
  return raw.flatMap((each, index) => readBlock(each, `${place}.blocks[${index}]`, scopes, say) ?? [])
}
