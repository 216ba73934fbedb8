/**
 * Reads sources (docs/guides/sources.md): of the options and of the environment, in this order. Every refusal names its source. It reaches none of
 * them.
 */

import { isBag, isList, isTextList } from "../bag.ts"
import type { Refusal, Report } from "../declare/refusal.ts"
import { quoteValue, shownAddress } from "../declare/refusal.ts"
import type { Source } from "../source/source.ts"
import { refuseUnknownKeys } from "./check.ts"
import type { Say } from "./check.ts"
import { readRoles } from "./roles.ts"
import type { KnownRoles } from "./roles.ts"

/** An http(s) URL with a path and nothing after it; its last slash does not count. */
const sourceUrl = (raw: unknown): string | null => {
  if (typeof raw !== "string" || !/^https?:\/\//i.test(raw) || !URL.canParse(raw)) return null
  const url = new URL(raw)
  const path = url.pathname.replace(/\/$/, "")
  if (path === "" || /[?#]/.test(raw) || url.username !== "" || url.password !== "") return null
  return `${url.origin}${path}`
}

/** How a source is called in a refusal. */
const placeOf = (url: unknown, index: number): string =>
  `The source ${typeof url === "string" ? shownAddress(url) : `sources[${index}]`}`

const readList = (raw: unknown, roles: KnownRoles, report: Report): readonly Source[] => {
  const refuse: Say = (message, fix) => report(null, null, message, fix)
  if (!Array.isArray(raw)) {
    refuse(
      `sources is ${quoteValue(raw)}, not a list.`,
      "Write sources: [{ url: \"https://…/api/v1\", label: \"Shop\", resources: [\"orders\"] }], or false."
    )
    return []
  }
  const sources: Source[] = []
  for (const [index, item] of raw.entries()) {
    if (!isBag(item)) {
      refuse(`sources[${index}] is ${quoteValue(item)}, not an object.`, "Give it url, label and resources.")
      continue
    }
    const place = placeOf(item["url"], index)
    const say: Say = (message, fix) => refuse(`${place}: ${message}`, fix)
    refuseUnknownKeys(item, ["url", "label", "resources", "roles"], "", say)
    const url = sourceUrl(item["url"])
    if (url === null) {
      say(
        `url is ${shownAddress(item["url"])}, not an http(s) URL with a path and nothing after it.`,
        "Write the address of its resources API, such as \"https://shop.example.com/api/v1\"."
      )
    } else if (sources.some((other) => other.url === url)) say("The url is listed twice.", "List each source once.")
    const { label } = item
    if (typeof label !== "string" || label.trim() === "") {
      say(`label is ${quoteValue(label)}.`, "Give the source a name that people read.")
    }
    const names: string[] = []
    if (!isTextList(item["resources"]) || item["resources"].length === 0) {
      say(`resources is ${quoteValue(item["resources"])}.`, "List the names of the resources to draw.")
    } else {
      for (const name of item["resources"]) {
        const other = sources.find((source) => source.resources.includes(name))
        if (other !== undefined) {
          say(`It draws "${name}", which is also drawn from ${quoteValue(other.url)}.`, "Draw it from one of them.")
        } else if (names.includes(name)) say(`It draws "${name}" twice.`, "List it once.")
        else names.push(name)
      }
    }
    const told = readRoles(item["roles"], "roles", roles, say)
    if (url !== null) {
      sources.push({ url, label: typeof label === "string" ? label : "", resources: names, roles: told })
    }
  }
  return sources
}

/** Refuses sources that show a resource under a name that the app already uses for a resource or page of its own. */
export const checkSourceNames = (
  sources: readonly Source[],
  own: { readonly resources: ReadonlySet<string>; readonly pages: ReadonlySet<string> }
): readonly Refusal[] => {
  const refusals: Refusal[] = []
  for (const [index, { resources, url }] of sources.entries()) {
    for (const name of resources) {
      const what = own.resources.has(name) ? "resource" : own.pages.has(name) ? "page" : null
      if (what === null) continue
      refusals.push({
        resource: null,
        field: null,
        message: `${placeOf(url, index)}: It draws "${name}", which is a ${what} of this app.`,
        fix: what === "page" ? "Leave it out, or rename the page." : "Leave it out, or rename the app's own."
      })
    }
  }
  return refusals
}

/**
 * The sources of `options.sources` and, after them, those of `SERVICE_SOURCES` (a JSON list of the same objects), with what is wrong with them. `false`
 * turns both off: the sources are then null.
 */
export const sourceOptions = (
  declared: unknown,
  environment: readonly unknown[] = [],
  roles: KnownRoles = null
): { readonly sources: readonly Source[] | null; readonly refusals: readonly Refusal[] } => {
  if (declared === false) return { sources: null, refusals: [] }
  const refusals: Refusal[] = []
  const report: Report = (resource, field, message, fix) => refusals.push({ resource, field, message, fix })
  const all = declared === undefined
    ? environment
    : isList(declared)
    ? [...declared, ...environment]
    : declared
  return { sources: readList(all, roles, report), refusals }
}

/** The sources of compiled options. */
export const readSources = (
  raw: unknown,
  of: {
    readonly resources: ReadonlySet<string>
    readonly pages: ReadonlySet<string>
    readonly roles: KnownRoles
    readonly report: Report
  }
): readonly Source[] | null => {
  const { refusals, sources } = sourceOptions(raw, [], of.roles)
  for (const { field, fix, message, resource } of [...refusals, ...checkSourceNames(sources ?? [], of)]) {
    of.report(resource, field, message, fix)
  }
  return sources
}
