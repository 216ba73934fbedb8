/**
 * What a list asks the service for, and the columns that it shows, as its address and this browser have them. It is known before the list is drawn, so that its
 * rows can be asked for first. Nothing here draws.
 */

import type { Column } from "../grid/columns.ts"
import type { Resource } from "../model/catalogue.ts"
import { needsOf } from "./needs.ts"
import { type Choice, columnsOf, orderFor, printOrder, readChoices, usualChoices } from "./state.ts"

export interface RowsQuery {
  readonly filter: string
  readonly order: string
  /** The fields to request, sorted so that the same set is the same text. */
  readonly fields: readonly string[]
  readonly expand: readonly string[]
  readonly deleted: boolean
  /** Arguments of a function, as members of a body. */
  readonly args?: { readonly [name: string]: unknown } | undefined
}

/** What the address has of them. */
export type GivenArguments = { readonly [name: string]: string }

export const parameterOf = (name: string): string => `args.${name}`

export const argumentsIn = ({ model }: Resource, query: URLSearchParams): GivenArguments | null =>
  model.arguments === undefined
    ? null
    : Object.fromEntries(
      model.arguments.flatMap(({ name }) => {
        const value = query.get(parameterOf(name)) ?? ""
        return value === "" ? [] : [[name, value]]
      })
    )

/** Whether one is missing without which nothing can be read. */
export const lacksArguments = ({ model }: Resource, given: GivenArguments): boolean =>
  model.arguments?.some(({ name, optional }) => !optional && given[name] === undefined) === true

/** The key in local storage of the columns of a view. */
const storeOf = (resource: Resource): string => `admin:columns:${resource.name}:${resource.view.name}`

export const rememberedColumns = (resource: Resource): string | null => {
  try {
    return localStorage.getItem(storeOf(resource))
  } catch {
    return null
  }
}

export const rememberColumns = (resource: Resource, text: string | null): void => {
  try {
    if (text === null) localStorage.removeItem(storeOf(resource))
    else localStorage.setItem(storeOf(resource), text)
  } catch {
    // If storage is not available, the address still has the columns.
  }
}

/** The arguments of a function as members of a body; null where the resource is none. What is no value of its kind stays as it is: the service says so. */
const argumentValues = (resource: Resource, query: URLSearchParams): RowsQuery["args"] | null => {
  const given = argumentsIn(resource, query)
  if (given === null) return null
  const kinds = new Map(resource.model.arguments?.map(({ kind, name }) => [name, kind]))
  return Object.fromEntries(Object.entries(given).map(([name, text]) => [name, valueOf(kinds.get(name), text)]))
}

const valueOf = (kind: string | undefined, text: string): unknown => {
  if (kind === "boolean") return text === "true" ? true : text === "false" ? false : text
  if (kind !== "float" && kind !== "json") return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The columns of the address, else those kept in this browser. Empty: the usual ones. */
export const columnsIn = (resource: Resource, query: URLSearchParams): string =>
  query.get("columns") ?? rememberedColumns(resource) ?? ""

export interface Chosen {
  readonly choices: readonly Choice[]
  readonly columns: readonly Column[]
  /** The fields and relations that the columns need. */
  readonly needs: Pick<RowsQuery, "fields" | "expand">
}

/** `group`: the fields of groups, with commas. Whether a row stands in the right group is seen by its own values. */
export const chosenOf = (resource: Resource, columnsText: string, group = ""): Chosen => {
  const read = readChoices(columnsText, resource)
  const choices = read.length > 0 ? read : usualChoices(resource)
  return {
    choices,
    columns: columnsOf(resource, choices),
    needs: needsOf(resource, [...choices.map(({ field }) => field), ...group.split(",")])
  }
}

/** The rows and fields to ask for. */
export const askedOf = (resource: Resource, query: URLSearchParams, { needs }: Chosen): RowsQuery => {
  const args = argumentValues(resource, query)
  return {
    filter: query.get("filter") ?? "",
    order: printOrder(orderFor(query.get("order"), resource)),
    ...needs,
    deleted: query.get("deleted") === "true" && resource.model.softDelete,
    ...(args === null ? {} : { args })
  }
}

/** The rows of a page. */
export const pageSize = 100
/** Most fields that a call may name. A list of more asks for whole records. */
const mostFields = 200
/** The relations of a path of fields; null for a field of the record itself. */
const waysOf = (text: string): string | null => text.includes(".") ? text.slice(0, text.lastIndexOf(".")) : null

/** What the service is asked for rows. */
export const parametersOf = (query: RowsQuery) => {
  const whole = query.fields.length > mostFields
  // Whole records come without those that paths of fields lead to.
  const expand = whole
    ? [...new Set([...query.expand, ...query.fields.flatMap((text) => waysOf(text) ?? [])])]
    : query.expand
  return {
    filter: query.filter,
    order_by: query.order,
    ...(whole ? {} : { fields: query.fields }),
    ...(expand.length === 0 ? {} : { expand }),
    ...(query.deleted ? { show_deleted: true } : {}),
    ...(query.args === undefined ? {} : { args: query.args })
  }
}
