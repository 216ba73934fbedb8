/**
 * Compiles the pages and the user menu of the admin app. Addresses are checked, because they become links in other people's browsers.
 */

import { isBag } from "../bag.ts"
import { didYouMean, quoteValue, type Report } from "../declare/refusal.ts"
import type { MenuItem, Page } from "../model/view.ts"
import { readBlocks } from "./block.ts"
import { addressFix, addressName, isAddress, isLabel, refuseUnknownKeys } from "./check.ts"
import type { KnownRoles } from "./roles.ts"
import { readRoles } from "./roles.ts"
import type { ViewScope } from "./view.ts"

/** What menus and pages are checked against. */
export interface MenuScope {
  /** The declared resources, by name. */
  readonly resources: ReadonlyMap<string, ViewScope>
  readonly roles: KnownRoles
  readonly report: Report
}

const pageName = /^[a-z][a-z0-9_-]{0,62}$/

const readResource = (raw: unknown, path: string, of: MenuScope): string | null => {
  if (raw === undefined) return null
  if (typeof raw === "string" && of.resources.has(raw)) return raw
  of.report(
    null,
    null,
    `${path}.resource is ${quoteValue(raw)}, which is not a resource.`,
    didYouMean(raw, of.resources.keys())
  )
  return null
}

const eachEntry = (
  raw: unknown,
  name: string,
  fix: string,
  of: MenuScope
): ReadonlyArray<readonly [string, { readonly [key: string]: unknown }]> => {
  if (raw === undefined) return []
  if (!Array.isArray(raw)) {
    of.report(null, null, `${name} is ${quoteValue(raw)}, not a list.`, fix)
    return []
  }
  return raw.flatMap((item, index) => {
    const path = `${name}[${index}]`
    if (isBag(item)) return [[path, item] as const]
    of.report(null, null, `${path} is ${quoteValue(item)}, not an object.`, fix)
    return []
  })
}

export const compilePages = (raw: unknown, of: MenuScope): readonly Page[] => {
  const fix = "Write pages: [{ name: \"reports\", label: \"Reports\" }]."
  const pages: Page[] = []
  for (const [path, item] of eachEntry(raw, "pages", fix, of)) {
    const say = (message: string, how: string): void => of.report(null, null, message, how)
    refuseUnknownKeys(item, ["name", "label", "href", "blocks", "roles", "resource"], path, say)
    const { name, label, href } = item
    if (typeof name !== "string" || !pageName.test(name)) {
      say(
        `${path}.name is ${quoteValue(name)}, which is not a page's name.`,
        "Use lower-case letters, digits, _ and -."
      )
    } else if (addressName(name) !== null) {
      say(`${path}.name cannot be "${name}": ${addressName(name)}.`, "Rename the page.")
    } else if (of.resources.has(name)) {
      say(`${path}.name "${name}" is also the name of a resource.`, "Rename the page.")
    } else if (pages.some((page) => page.name === name)) {
      say(`Two pages are named "${name}".`, "Rename one of them.")
    }
    if (!isLabel(label)) say(`${path}.label is ${quoteValue(label)}.`, "Give it a text that people read.")
    if (href !== undefined && !isAddress(href)) {
      say(`${path}.href is ${quoteValue(href)}, which is not an address.`, addressFix)
    }
    if (href !== undefined && item["blocks"] !== undefined) {
      say(`${path} has href and blocks.`, "Keep one of them: the admin app draws blocks at the page's own address.")
    }
    pages.push({
      name: typeof name === "string" ? name : "",
      label: isLabel(label) ? label : "",
      href: isAddress(href) ? href : `/${typeof name === "string" ? name : ""}`,
      roles: readRoles(item["roles"], `${path}.roles`, of.roles, say),
      resource: readResource(item["resource"], path, of),
      blocks: readBlocks(item["blocks"], path, of.resources, say)
    })
  }
  return pages
}

export const compileMenu = (raw: unknown, pages: readonly Page[], of: MenuScope): readonly MenuItem[] => {
  const fix = "Write userMenu: [{ label: \"Help\", href: \"https://…\" }]."
  const items: MenuItem[] = []
  for (const [path, item] of eachEntry(raw, "userMenu", fix, of)) {
    const say = (message: string, how: string): void => of.report(null, null, message, how)
    refuseUnknownKeys(item, ["label", "href", "page", "roles", "resource"], path, say)
    const { label, href, page } = item
    if (!isLabel(label)) say(`${path}.label is ${quoteValue(label)}.`, "Give it a text that people read.")
    let target: Page | undefined
    if ((href === undefined) === (page === undefined)) {
      say(`${path} has ${href === undefined ? "neither href nor page" : "href and page"}.`, "Give one of them.")
    } else if (page !== undefined) {
      target = pages.find((each) => each.name === page)
      if (target === undefined) {
        say(
          `${path}.page is ${quoteValue(page)}, which is not a page.`,
          didYouMean(page, pages.map((each) => each.name))
        )
      }
    } else if (!isAddress(href)) say(`${path}.href is ${quoteValue(href)}, which is not an address.`, addressFix)
    items.push({
      label: isLabel(label) ? label : "",
      href: target?.href ?? (isAddress(href) ? href : ""),
      page: target?.name ?? null,
      roles: readRoles(item["roles"], `${path}.roles`, of.roles, say),
      resource: readResource(item["resource"], path, of)
    })
  }
  return items
}
