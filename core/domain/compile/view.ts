/**
 * Compiles views, pages and menus: every field, order, filter and address they name is checked against the models. What a caller then
 * sees of a view is decided per caller by `/api/meta`.
 */

import * as Result from "effect/Result"
import { publicScope } from "../access/declared.ts"
import { type Bag, isBag } from "../bag.ts"
import { didYouMean, quoteValue, type Report } from "../declare/refusal.ts"
import type { FilterScope } from "../filter/read.ts"
import { readOrder } from "../filter/read.ts"
import { fieldsOf } from "../filter/tree.ts"
import { currencyOf } from "../model/amount.ts"
import { needsArguments } from "../model/database-function.ts"
import type { Field, Model, Models } from "../model/model.ts"
import { fieldsOfTitle } from "../model/title.ts"
import type { Chart, Label, Nav, View, ViewFilter, ViewSort } from "../model/view.ts"
import { facetable, histogrammable, timed } from "../read/aggregate.ts"
import { granularities, seriesRanges } from "../value/instant.ts"
import { hasOrder } from "../value/traits.ts"
import { isCount, isLabel, refuseUnknownKeys } from "./check.ts"
import type { FormDraft } from "./form.ts"
import { readActions, readCells, readLinks } from "./link.ts"
import { readRoles } from "./roles.ts"
import type { KnownRoles } from "./roles.ts"
import { checkFilterText, mentions } from "./rule.ts"

/** `order_lines` as people read it: `Order lines`. */
const sentence = (name: string): string => {
  const words = name.replaceAll("_", " ").trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const singular = (plural: string): string =>
  /[^aeiou]ies$/.test(plural)
    ? `${plural.slice(0, -3)}y`
    : /(?:ss|sh|ch|x|z)es$/.test(plural)
    ? plural.slice(0, -2)
    : /[^s]s$/.test(plural)
    ? plural.slice(0, -1)
    : plural

/** What a view is checked against. */
export interface ViewScope {
  readonly model: Model
  /** All resources, which filters reach through relations. */
  readonly models: Models
  readonly broken: ReadonlySet<string>
  readonly roles: KnownRoles
  /** Names of the declared functions. */
  readonly functions: ReadonlySet<string>
  readonly report: Report
}

const properties = [
  "name",
  "label",
  "columns",
  "sort",
  "filters",
  "search",
  "layout",
  "chart",
  "title",
  "nav",
  "links",
  "actions",
  "cells",
  "inputs",
  "roles",
  "forms"
] as const

/** Reads views of one model, and blocks over it. One reader per view keeps paths and reports short. */
export class ViewReader {
  readonly of: ViewScope
  readonly scope: FilterScope
  /** Where the view stands, for messages: `view "orders"`. */
  readonly place: string

  constructor(of: ViewScope, place: string) {
    this.of = of
    this.place = place
    const names = new Map<string, Field>()
    for (const field of of.model.fields) {
      if (field.alias !== null) names.set(field.alias, field)
      names.set(field.name, field)
    }
    for (const member of of.model.members ?? []) names.set(member.name, member)
    this.scope = { names, searched: of.model.fields.filter((field) => field.searched), caller: false }
  }

  say = (message: string, fix: string, field: string | null = null): void =>
    this.of.report(this.of.model.name, field, `${this.place}: ${message}`, fix)

  field(raw: unknown, path: string): Field | null {
    const field = typeof raw === "string" ? this.of.model.byName.get(raw) : undefined
    if (field !== undefined) return field
    this.say(
      `${path} is ${quoteValue(raw)}, which is not a field.`,
      typeof raw === "string" ? didYouMean(raw, this.of.model.byName.keys()) : "Name a field of the resource.",
      typeof raw === "string" ? raw : null
    )
    return null
  }

  fields(raw: unknown, path: string): readonly Field[] {
    if (!Array.isArray(raw)) {
      this.say(`${path} is ${quoteValue(raw)}, not a list of fields.`, "List names of fields.")
      return []
    }
    const fields: Field[] = []
    for (const [index, name] of raw.entries()) {
      const field = this.field(name, `${path}[${index}]`)
      if (field === null) continue
      if (fields.includes(field)) this.say(`${path} names "${field.name}" twice.`, "Remove one of the two.", field.name)
      else fields.push(field)
    }
    return fields
  }

  order(raw: unknown, path: string): readonly ViewSort[] {
    if (typeof raw !== "string" || raw.trim() === "") {
      this.say(`${path} is ${quoteValue(raw)}, not an order.`, "Write an order such as \"created_at desc, id\".")
      return []
    }
    const checked = readOrder(raw, publicScope(this.of.model, this.of.models))
    if (Result.isSuccess(checked)) {
      return checked.success.map(({ descending, field, ways }) =>
        ways === undefined
          ? { field, descending }
          : { field, descending, through: ways.map(({ relation }) => relation.name) }
      )
    }
    if (!mentions(raw, this.of.broken)) {
      for (const error of checked.failure) {
        this.say(
          `The order ${quoteValue(raw)} of ${path} does not check: ${error.message}`,
          error.hint ?? "Name sortable fields, each with asc or desc if wanted."
        )
      }
    }
    return []
  }

  label(raw: unknown): Label {
    const plural = sentence(this.of.model.name)
    const usual = { singular: singular(plural), plural }
    if (raw === undefined) return usual
    if (!isBag(raw) || !isLabel(raw["singular"]) || !isLabel(raw["plural"])) {
      this.say(`label is ${quoteValue(raw)}.`, "Write label: { singular: \"Order\", plural: \"Orders\" }.")
      return usual
    }
    refuseUnknownKeys(raw, ["singular", "plural"], "label", this.say)
    return { singular: raw["singular"], plural: raw["plural"] }
  }

  filters(raw: unknown): readonly ViewFilter[] {
    if (raw === undefined) return []
    const fix = "Write filters: [{ name: \"Open\", filter: \"status = draft\" }]."
    if (!Array.isArray(raw)) {
      this.say(`filters is ${quoteValue(raw)}, not a list.`, fix)
      return []
    }
    const filters: ViewFilter[] = []
    const names = new Set<unknown>()
    for (const [index, item] of raw.entries()) {
      const path = `filters[${index}]`
      if (!isBag(item)) {
        this.say(`${path} is ${quoteValue(item)}.`, fix)
        continue
      }
      refuseUnknownKeys(item, ["name", "filter"], path, this.say)
      const { name, filter } = item
      if (!isLabel(name)) {
        this.say(`${path} has the name ${quoteValue(name)}.`, "Give it a text that people read.")
      } else if (names.has(name)) this.say(`Two filters are named ${quoteValue(name)}.`, "Rename one of them.")
      names.add(name)
      const checked = this.filter(filter, path)
      if (checked !== null && typeof name === "string") filters.push({ name, ...checked })
    }
    return filters
  }

  /** A checked filter, with the names of the record's own fields that it uses. */
  filter(raw: unknown, path: string): Omit<ViewFilter, "name"> | null {
    const scope = publicScope(this.of.model, this.of.models)
    const tree = checkFilterText(raw, scope, this.of.broken, path, this.say)
    return tree === null || typeof raw !== "string"
      ? null
      : { filter: raw, fields: [...fieldsOf(tree)].map((field) => field.name) }
  }

  search(raw: unknown): readonly string[] {
    if (raw === undefined) return this.scope.searched.map((field) => field.name)
    const fields = this.fields(raw, "search")
    for (const field of fields) {
      if (!field.filterable && !field.searched) {
        this.say(
          `search names "${field.name}", which is neither filterable nor searched.`,
          "Add filterable() or searched() to the field, or remove it here.",
          field.name
        )
      }
    }
    return fields.map((field) => field.name)
  }

  layout(raw: unknown): View["layout"] {
    if (raw === undefined) return [{ label: null, fields: this.of.model.fields.map((field) => field.name) }]
    const fix = "Write layout: [{ label: \"Amounts\", fields: [\"total\", \"currency\"] }]."
    if (!Array.isArray(raw)) {
      this.say(`layout is ${quoteValue(raw)}, not a list of groups.`, fix)
      return []
    }
    const seen = new Set<Field>()
    const groups: { label: string | null; fields: readonly string[] }[] = []
    for (const [index, group] of raw.entries()) {
      const path = `layout[${index}]`
      if (!isBag(group)) {
        this.say(`${path} is ${quoteValue(group)}, not a group.`, fix)
        continue
      }
      refuseUnknownKeys(group, ["label", "fields"], path, this.say)
      const { label } = group
      if (label !== undefined && !isLabel(label)) {
        this.say(`${path}.label is ${quoteValue(label)}.`, "Give it a text that people read.")
      }
      const fields = this.fields(group["fields"], `${path}.fields`)
      for (const field of fields) {
        if (seen.has(field)) {
          this.say(`layout names "${field.name}" in two groups.`, "Remove one of the two.", field.name)
        }
        seen.add(field)
      }
      groups.push({ label: isLabel(label) ? label : null, fields: fields.map((field) => field.name) })
    }
    return groups
  }

  chart(raw: unknown): Chart | null {
    if (raw === undefined) return null
    const of = isBag(raw) ? raw["of"] : undefined
    if (!isBag(raw) || (of !== "series" && of !== "histogram" && of !== "facets")) {
      this.say(
        `chart is ${quoteValue(raw)}.`,
        "Write chart: { of: \"series\", field: \"created_at\" }; of is series, histogram or facets."
      )
      return null
    }
    const keys = { series: ["granularity", "range", "measure"], histogram: ["buckets"], facets: ["limit"] }[of]
    refuseUnknownKeys(raw, ["of", "field", ...keys], "chart", this.say)
    const field = this.field(raw["field"], "chart.field")
    if (field === null) return null
    this.aggregated(field, "chart.field", { series: timed, histogram: histogrammable, facets: facetable }[of])
    switch (of) {
      case "series":
        return this.series(raw, field)
      case "histogram":
        return { of, field: field.name, buckets: this.count(raw["buckets"], "chart.buckets", 100, 10) }
      case "facets":
        return { of, field: field.name, limit: this.count(raw["limit"], "chart.limit", 500, 10) }
    }
  }

  /** Refuses a field that the aggregate routes would refuse. */
  aggregated(field: Field, path: string, accepts: (field: Field) => string | null): void {
    if (this.of.broken.has(field.name)) return
    if (!field.filterable) {
      this.say(
        `${path} "${field.name}" is not filterable, as aggregates need.`,
        "Add filterable() to the field.",
        field.name
      )
    }
    const reason = accepts(field)
    if (reason !== null) this.say(`${path}: ${reason}`, "Name another field, or draw another chart.", field.name)
  }

  /** Refuses a measure that the aggregate routes would refuse. Who draws amounts chooses one of their currencies. */
  measured(field: Field, path: string): void {
    this.aggregated(field, path, histogrammable)
    const currency = currencyOf(field, this.of.model.fields)
    if (currency === null || currency.filterable || this.of.broken.has(currency.name)) return
    this.say(
      `${path} "${field.name}" has its currency in "${currency.name}", which is not filterable: amounts of several currencies are not added up.`,
      `Add filterable() to "${currency.name}", or measure another field.`,
      currency.name
    )
  }

  count(raw: unknown, path: string, most: number, usual: number): number {
    if (raw === undefined) return usual
    if (isCount(raw, 1, most)) return raw
    this.say(`${path} is ${quoteValue(raw)}.`, `Write a whole number from 1 to ${most}.`)
    return usual
  }

  private series(raw: Bag, field: Field): Chart {
    const one = <T extends string>(value: unknown, all: readonly T[], path: string, usual: T): T => {
      if (value === undefined) return usual
      const choice = all.find((each) => each === value)
      if (choice === undefined) this.say(`${path} is ${quoteValue(value)}.`, didYouMean(value, all))
      return choice ?? usual
    }
    const granularity = one(raw["granularity"], granularities, "chart.granularity", "day")
    const range = one(raw["range"], seriesRanges, "chart.range", "30d")
    const measure = raw["measure"] ?? "count"
    if (measure === "count") return { of: "series", field: field.name, granularity, range, measure, measured: null }
    const parts = typeof measure === "string" ? /^(sum|avg|min|max):(.+)$/s.exec(measure) : null
    const measured = parts === null ? null : this.field(parts[2], "chart.measure")
    if (parts === null) {
      this.say(`chart.measure is ${quoteValue(measure)}.`, "Write \"count\", or sum:, avg:, min: or max: and a field.")
    } else if (measured !== null) this.measured(measured, "chart.measure")
    return measured === null
      ? { of: "series", field: field.name, granularity, range, measure: "count", measured }
      : {
        of: "series",
        field: field.name,
        granularity,
        range,
        measure: `${parts?.[1]}:${measured.name}`,
        measured: measured.name
      }
  }

  nav(raw: unknown): Nav | null {
    const usual: Nav = { group: null, order: 0, icon: null, bottom: false, recent: null }
    if (raw === undefined) return usual
    if (raw === false) return null
    if (!isBag(raw)) {
      this.say(
        `nav is ${quoteValue(raw)}.`,
        "Write nav: { group: \"Sales\", order: 1, icon: \"cart\" }, or false for no entry."
      )
      return usual
    }
    refuseUnknownKeys(raw, ["group", "order", "icon", "recent", "bottom"], "nav", this.say)
    const { bottom, group, order, icon, recent } = raw
    if (group !== undefined && !isLabel(group)) {
      this.say(`nav.group is ${quoteValue(group)}.`, "Give it a text that people read.")
    }
    if (order !== undefined && !Number.isFinite(order)) {
      this.say(`nav.order is ${quoteValue(order)}.`, "Write a number.")
    }
    if (icon !== undefined && !isLabel(icon)) this.say(`nav.icon is ${quoteValue(icon)}.`, "Write the name of an icon.")
    if (bottom !== undefined && typeof bottom !== "boolean") {
      this.say(`nav.bottom is ${quoteValue(bottom)}.`, "Write true for an entry in the phone's bottom bar.")
    }
    let recently: Nav["recent"] = null
    if (recent !== undefined) {
      if (!isBag(recent)) {
        this.say(`nav.recent is ${quoteValue(recent)}.`, "Write recent: { sort: \"created_at desc\", limit: 5 }.")
      } else {
        refuseUnknownKeys(recent, ["sort", "limit"], "nav.recent", this.say)
        if (needsArguments(this.of.model)) {
          this.say("nav.recent lists the rows of a function that needs arguments.", "Remove nav.recent.")
        }
        const keys = this.order(recent["sort"], "nav.recent.sort")
        recently = {
          sort: typeof recent["sort"] === "string" ? recent["sort"] : "",
          limit: this.count(recent["limit"], "nav.recent.limit", 20, 5),
          fields: keys.flatMap(({ field, through }) => through === undefined ? [(field.member?.of ?? field).name] : [])
        }
      }
    }
    return {
      group: isLabel(group) ? group : null,
      order: typeof order === "number" && Number.isFinite(order) ? order : 0,
      icon: isLabel(icon) ? icon : null,
      bottom: bottom === true,
      recent: recently
    }
  }

  /** The name of a field, or a text with fields in braces. */
  title(raw: unknown): string | null {
    if (raw === undefined) return null
    if (typeof raw !== "string" || !/[{}]/.test(raw)) return this.field(raw, "title")?.name ?? null
    if (raw.length > 200 || /[{}]/.test(raw.replace(/\{[^{}]*\}/g, "")) || !isLabel(raw)) {
      this.say(
        `title is ${quoteValue(raw)}, which is no title.`,
        "Write the name of a field, or fields in braces: \"{first_name} {last_name}\". It has at most 200 characters."
      )
      return null
    }
    const fields = fieldsOfTitle(raw).map((name) => this.field(name, "title"))
    return fields.includes(null) ? null : raw
  }

  read(raw: Bag): View {
    refuseUnknownKeys(raw, properties, "", this.say)
    const { model } = this.of
    const name = raw["name"]
    if (name !== undefined && !isLabel(name)) this.say(`name is ${quoteValue(name)}.`, "Give it a text.")
    const reading = { say: this.say, field: (name: unknown, path: string) => this.field(name, path) }
    return {
      resource: model.name,
      name: isLabel(name) ? name : model.name,
      label: this.label(raw["label"]),
      columns: raw["columns"] === undefined
        ? model.fields.filter((field) => hasOrder(field.kind)).map((field) => field.name)
        : this.fields(raw["columns"], "columns").map((field) => field.name),
      sort: raw["sort"] === undefined ? [] : this.order(raw["sort"], "sort"),
      filters: this.filters(raw["filters"]),
      search: this.search(raw["search"]),
      layout: this.layout(raw["layout"]),
      chart: this.chart(raw["chart"]),
      title: this.title(raw["title"]),
      nav: this.nav(raw["nav"]),
      links: readLinks(raw["links"], reading),
      actions: readActions(raw["actions"], this.of.functions, this.of.roles, this.say),
      cells: readCells(raw["cells"], reading),
      inputs: readCells(raw["inputs"], reading, "inputs"),
      roles: readRoles(raw["roles"], "roles", this.of.roles, this.say)
    }
  }
}

/** The view of a resource for which none is declared. */
const plainView = (of: ViewScope): View => new ViewReader({ ...of, report: () => undefined }, "view").read({})

/**
 * Compiles `views`: a list of `defineView(…)`, or an object of declarations by resource name. Every resource gets a view for everybody as
 * its last one, so nobody who can see the resource is without a view.
 */
export const compileViews = (
  raw: unknown,
  models: ReadonlyMap<string, ViewScope>,
  report: Report,
  /** Gets what each view says about forms, which are compiled once the roles are. */
  forms: FormDraft[] = []
): readonly View[] => {
  const declared: { readonly resource: string; readonly declaration: unknown }[] = []
  if (Array.isArray(raw)) {
    for (const [index, item] of raw.entries()) {
      if (isBag(item) && item["_tag"] === "View" && typeof item["resource"] === "string") {
        declared.push({ resource: item["resource"], declaration: item["declaration"] })
      } else {report(
          null,
          null,
          `views[${index}] is ${quoteValue(item)}, not a view.`,
          "Make it with defineView(orders, { … })."
        )}
    }
  } else if (isBag(raw)) {
    for (const resource of Object.keys(raw)) {
      const entry = raw[resource]
      for (const declaration of Array.isArray(entry) ? entry : [entry]) declared.push({ resource, declaration })
    }
  } else if (raw !== undefined) {
    report(null, null, `views is ${quoteValue(raw)}.`, "Write views: { orders: { … } }, or a list of defineView(…).")
  }
  const views: View[] = []
  for (const { resource, declaration } of declared) {
    const of = models.get(resource)
    if (of === undefined) {
      report(
        resource,
        null,
        `A view is declared for "${resource}", which is not a resource.`,
        didYouMean(resource, models.keys())
      )
      continue
    }
    if (!isBag(declaration)) {
      report(
        resource,
        null,
        `The view is ${quoteValue(declaration)}, not an object.`,
        `Write ${resource}: { columns: […] }.`
      )
      continue
    }
    const name = isLabel(declaration["name"]) ? declaration["name"] : resource
    const place = `view "${name}"`
    const others = views.filter((view) => view.resource === resource)
    if (others.some((view) => view.name === name)) {
      report(resource, null, `Two views are named "${name}".`, "Give each a name of its own.")
    }
    const open = others.find((view) => view.roles === null)
    if (open !== undefined) {
      report(
        resource,
        null,
        `${place} can never be shown: "${open.name}" before it is for everybody.`,
        "Put the view without roles last, or give the one before it roles."
      )
    }
    const view = new ViewReader(of, place).read(declaration)
    views.push(view)
    forms.push({ view, raw: declaration["forms"] })
  }
  for (const [resource, of] of models) {
    if (!views.some((view) => view.resource === resource && view.roles === null)) views.push(plainView(of))
  }
  return views
}
