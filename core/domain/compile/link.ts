/**
 * Compiles what a view offers beside a record's values: links, actions and components of plugins. Addresses are checked with every value left out,
 * because they become links in other people's browsers.
 */

import { isBag } from "../bag.ts"
import { didYouMean, quoteValue } from "../declare/refusal.ts"
import type { Field } from "../model/model.ts"
import type { ViewAction, ViewLink } from "../model/view.ts"
import { addressFix, isAddress, isLabel, refuseUnknownKeys, type Say } from "./check.ts"
import { type KnownRoles, readRoles } from "./roles.ts"

/** What is read with: where things are reported, and what a name of a field means. */
interface Reading {
  readonly say: Say
  readonly field: (raw: unknown, path: string) => Field | null
}

const most = 50

const entries = (raw: unknown, name: string, fix: string, say: Say): ReadonlyArray<readonly [string, unknown]> => {
  if (raw === undefined) return []
  if (Array.isArray(raw) && raw.length <= most) return raw.map((item, index) => [`${name}[${index}]`, item])
  say(
    Array.isArray(raw) ? `${name} has ${raw.length} entries, more than ${most}.` : `${name} is ${quoteValue(raw)}.`,
    fix
  )
  return []
}

const placeholder = /\{([^{}]*)\}/g

/** Why a placeholder cannot stand where it does, or null: it may stand in the path or the query alone. */
const misplaced = (href: string): string | null => {
  // What comes before the path: the scheme and the host, or the scheme of mailto.
  const head = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#]*|mailto:|\/)/i.exec(href)?.[0] ?? href
  if (/[{}]/.test(head)) return "before the path"
  const fragment = href.indexOf("#")
  return fragment !== -1 && /[{}]/.test(href.slice(fragment)) ? "behind #" : null
}

export const readLinks = (raw: unknown, { field, say }: Reading): readonly ViewLink[] => {
  const fix = "Write links: [{ label: \"Track\", href: \"https://track.example/{parcel}\" }]."
  return entries(raw, "links", fix, say).flatMap(([path, item]) => {
    if (!isBag(item)) return say(`${path} is ${quoteValue(item)}.`, fix), []
    refuseUnknownKeys(item, ["label", "href"], path, say)
    const { href, label } = item
    if (!isLabel(label)) say(`${path}.label is ${quoteValue(label)}.`, "Give it a text that people read.")
    if (typeof href !== "string" || !isAddress(href.replace(placeholder, "0"))) {
      say(`${path}.href is ${quoteValue(href)}, which is not an address.`, addressFix)
      return []
    }
    const where = misplaced(href)
    if (where !== null || /[{}]/.test(href.replace(placeholder, ""))) {
      say(
        `${path}.href is ${quoteValue(href)}, with a brace ${where ?? "that is not closed"}.`,
        "Write {field} in the path or the query only."
      )
      return []
    }
    const fields = [...href.matchAll(placeholder)].flatMap(([, name]) => field(name, `${path}.href`)?.name ?? [])
    return isLabel(label) ? [{ label, href, fields: [...new Set(fields)] }] : []
  })
}

export const readActions = (
  raw: unknown,
  functions: ReadonlySet<string>,
  roles: KnownRoles,
  say: Say
): readonly ViewAction[] => {
  const fix = "Write actions: [{ label: \"Ship\", function: \"ship\", on: \"record\" }]."
  return entries(raw, "actions", fix, say).flatMap(([path, item]) => {
    if (!isBag(item)) return say(`${path} is ${quoteValue(item)}.`, fix), []
    refuseUnknownKeys(item, ["label", "function", "confirm", "on", "roles"], path, say)
    const { confirm, function: name, label, on } = item
    if (!isLabel(label)) say(`${path}.label is ${quoteValue(label)}.`, "Give it a text that people read.")
    if (confirm !== undefined && !isLabel(confirm)) {
      say(`${path}.confirm is ${quoteValue(confirm)}.`, "Ask a question, in at most 200 characters.")
    }
    if (typeof name !== "string" || !functions.has(name)) {
      say(`${path}.function is ${quoteValue(name)}, which is not a function.`, didYouMean(name, functions))
    }
    if (on !== "record" && on !== "selection") {
      say(`${path}.on is ${quoteValue(on)}.`, "Write \"record\" or \"selection\".")
    }
    return [{
      label: isLabel(label) ? label : "",
      function: typeof name === "string" ? name : "",
      confirm: isLabel(confirm) ? confirm : null,
      on: on === "selection" ? on : "record",
      roles: readRoles(item["roles"], `${path}.roles`, roles, say)
    }]
  })
}

const componentPattern = /^[A-Za-z][A-Za-z0-9._:/-]{0,99}$/

/** Whether a text may name a component of a plugin. */
export const isComponent = (value: unknown): value is string =>
  typeof value === "string" && componentPattern.test(value)

export const componentFix = "Use letters, digits and any of . _ : / -, beginning with a letter, at most 100 characters."

export const readCells = (
  raw: unknown,
  { field, say }: Reading,
  path: "cells" | "inputs" = "cells"
): { readonly [field: string]: string } => {
  if (raw === undefined) return {}
  if (!isBag(raw)) {
    say(`${path} is ${quoteValue(raw)}, not an object.`, `Write ${path}: { location: "map" }.`)
    return {}
  }
  return Object.fromEntries(
    Object.entries(raw).flatMap(([name, component]) => {
      if (!isComponent(component)) {
        say(`${path}.${name} is ${quoteValue(component)}, no name of a component.`, componentFix)
      }
      return field(name, path) !== null && isComponent(component) ? [[name, component] as const] : []
    })
  )
}
