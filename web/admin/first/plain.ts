/**
 * The first rows of a list as plain elements, where the app will have them: the same texts in the same boxes. They stand over the app until that shows the same
 * rows. They are for the eye and the pointer, as it is no page yet that could be read out or used by keys. What the app does in another way, it does itself.
 */

import type { MetaDocument } from "../../client/meta.ts"
import { type Piece, relatedPiece, valuePiece } from "../field/cell.ts"
import type { TextContext } from "../field/text.ts"
import filter from "../filter/filter.module.css"
import { type Column, offsetsOf, templateOf, tickWidth, totalOf as widthOf } from "../grid/columns.ts"
import grid from "../grid/grid.module.css"
import { scaleFor } from "../grid/scale.ts"
import { drawing, lines } from "../ground/lines.ts"
import { currentPlace, hrefOf } from "../ground/location.ts"
import { showPlain } from "../ground/plain-rows.ts"
import { askedOf, type Chosen, chosenOf, columnsIn, parametersOf } from "../list/asked.ts"
import { cellsOf, rowHeightNow } from "../list/cells.ts"
import { beginRows } from "../list/first-rows.ts"
import { readLayout } from "../list/layout.ts"
import list from "../list/list.module.css"
import { orderFor } from "../list/state.ts"
import { totalOf } from "../list/total.ts"
import { loadChosen, type Locale, localeNow } from "../messages/locale.tsx"
import { currentPreferences } from "../messages/preferences.ts"
import { aboutOf, type Resource, resourcesOf } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, beginMeta } from "../model/client.ts"
import shell from "../style/frame.module.css"
import style from "./plain.module.css"

/** Height of the head over the rows, in pixels. */
const headHeight = 32

/** The list of the address, and what is shown of it. */
interface First {
  readonly resources: ReadonlyMap<string, Resource>
  readonly resource: Resource
  readonly chosen: Chosen
}

/** Null at an address that is no list of rows, or that the caller may not read. */
const firstOf = (meta: MetaDocument): First | null => {
  const { parts: [name = ""], query } = currentPlace()
  const resources = resourcesOf(meta)
  const resource = resources.get(name)
  const isPage = meta.pages.some((page) => page.name === name && page.blocks !== null)
  if (resource === undefined || isPage || !resource.may.read || resource.model.arguments !== undefined) return null
  if (readLayout(query, resource) !== null) return null
  return { resources, resource, chosen: chosenOf(resource, columnsIn(resource, query)) }
}

/**
 * Whether the app has the same rows at the same place. It has cards on a narrow screen, as many lines as it needs for a filter, a panel, a plugin's cells, the
 * pictures of files, and another first row where the list was left.
 */
const isPlain = ({ chosen: { columns }, resource: { fields, view } }: First): boolean => {
  const { memory, query } = currentPlace()
  const isOwn = ({ id }: Column): boolean => {
    const kind = fields.get(id)?.kind
    return view.cells?.[id] === undefined && kind !== "file" && kind !== "files"
  }
  return !matchMedia("(max-width: 720px), (max-height: 420px)").matches && navigator.onLine &&
    ["filter", "deleted", "peek", "view"].every((name) => !query.has(name)) &&
    Number(memory["top"] ?? 0) === 0 && Number(memory["row"] ?? 0) === 0 && columns.every(isOwn)
}

const make = (tag: string, name: string | undefined, ...children: readonly (Node | string)[]): HTMLElement => {
  const element = document.createElement(tag)
  if (name !== undefined) element.className = name
  element.append(...children)
  return element
}

const svg = "http://www.w3.org/2000/svg"

const icon = (name: keyof typeof lines): Element => {
  const element = document.createElementNS(svg, "svg")
  const line = document.createElementNS(svg, "path")
  line.setAttribute("d", lines[name])
  for (const [key, value] of Object.entries(drawing)) element.setAttribute(key, value)
  element.append(line)
  return element
}

const link = (to: string, name: string, child: Node | string): HTMLElement => {
  const element = make("a", name, child)
  element.setAttribute("href", hrefOf(to))
  element.tabIndex = -1
  return element
}

const draw = (piece: Piece): HTMLElement => {
  const children = piece.of.map((each) => typeof each === "string" ? each : draw(each))
  const element = make(piece.tag, piece.name, ...(piece.icon === undefined ? [] : [icon(piece.icon)]), ...children)
  if (piece.dir !== undefined) element.dir = piece.dir
  if (piece.tone !== undefined) element.dataset["tone"] = piece.tone
  if (piece.at !== undefined) element.setAttribute("datetime", piece.at)
  if (piece.to === undefined) return element
  element.setAttribute("href", hrefOf(piece.to))
  element.tabIndex = -1
  return element
}

/** A function that makes a row of a record. */
const rowMaker = ({ chosen: { columns }, resource, resources }: First, reader: TextContext) => {
  const cellOf = cellsOf(resource, columns)
  const offsets = offsetsOf(columns, tickWidth)
  const lastPinned = columns.findLastIndex(({ pinned }) => pinned)
  const valueIn = (record: AnyRecord, column: Column): readonly Node[] => {
    const { opens, shown } = cellOf(record, column)
    const piece = shown === null || shown.value === null || shown.value === undefined
      ? null
      : shown.field.relation !== undefined
      ? relatedPiece(shown, resources)
      : valuePiece(shown, reader)
    const value = piece === null ? [] : [draw(piece)]
    if (opens === null) return value
    const title = make(
      "span",
      "title-cell",
      ...(opens.linked ? value.map((each) => link(opens.to, "title-link", each)) : value)
    )
    if (column.end) title.dataset["end"] = ""
    return [title]
  }
  return (record: AnyRecord, top: number): HTMLElement => {
    const row = make("div", grid["row"], make("div", `${grid["cell"]} ${grid["tick"]} ${grid["pinned"]}`))
    row.style.transform = `translateY(${top}px)`
    for (const [at, column] of columns.entries()) {
      const names = [
        grid["cell"],
        column.end ? grid["end"] : "",
        column.pinned ? grid["pinned"] : "",
        at === lastPinned ? grid["last-pinned"] : ""
      ]
      const cell = make("div", names.join(" "), ...valueIn(record, column))
      const offset = offsets.get(column.id)
      if (offset !== undefined) cell.style.insetInlineStart = `${offset}px`
      row.append(cell)
    }
    return row
  }
}

const headOf = ({ chosen: { columns }, resource }: First): HTMLElement => {
  const order = orderFor(currentPlace().query.get("order"), resource)
  const head = make("div", grid["head"], make("div", `${grid["column"]} ${grid["tick"]} ${grid["pinned"]}`))
  for (const column of columns) {
    const position = order.findIndex(({ field }) => field === column.id)
    const header = make("div", list["header"], make("span", "cut", column.label))
    if (column.end) header.dataset["end"] = ""
    if (position >= 0) {
      header.dataset["sorted"] = ""
      header.append(icon(order[position]?.descending === true ? "down" : "up"))
      if (order.length > 1) header.append(make("sup", undefined, String(position + 1)))
    }
    const names = [grid["column"], column.end ? grid["end"] : "", column.pinned ? grid["pinned"] : ""]
    head.append(make("div", names.join(" "), header))
  }
  return head
}

/** What stands above the rows: title, description, views, and the room of filter and chart. */
const aboveOf = ({ resource }: First, { t }: Locale): readonly HTMLElement[] => {
  const { view } = resource
  const { query } = currentPlace()
  const about = aboutOf(resource)
  const isChosen = query.has("order") || columnsIn(resource, query) !== ""
  const tabs = [t.list.all, ...view.filters.map(({ name }) => name)].map((name, at) => {
    const tab = make("div", list["tab"], make("bdi", "cut", name))
    tab.ariaSelected = String(at === 0)
    return tab
  })
  const strip = make("div", list["strip"])
  if (currentPreferences().toggled.includes(`chart:${resource.name}`)) strip.dataset["folded"] = ""
  const description = make("p", `about ${list["about"]}`, about ?? "")
  description.dir = "auto"
  return [
    make(
      "div",
      list["head"],
      make("header", shell["top"], make("div", `${list["name"]} grow`, make("h1", undefined, view.label.plural)))
    ),
    ...(about === null ? [] : [description]),
    ...(tabs.length > 1 || isChosen ? [make("div", list["views"], make("div", list["tabs"], ...tabs))] : []),
    make("div", filter["bar"], make("div", filter["chips"])),
    ...(view.chart === null ? [] : [make("div", list["chart"], strip)])
  ]
}

/** Puts the rows into the page, and ends when they are painted. */
const show = (first: First, page: AnyPage, locale: Locale): Promise<void> => {
  const { chosen: { columns } } = first
  const height = rowHeightNow()
  const body = make("div", grid["body"])
  const scroller = make("div", grid["scroller"], make("div", grid["grid"], headOf(first), body))
  scroller.dataset["scroller"] = ""
  // Browsers take the keyboard to what can be scrolled.
  scroller.tabIndex = -1
  scroller.style.setProperty("--columns", templateOf(columns, tickWidth))
  scroller.style.setProperty("--width", `${widthOf(columns, tickWidth)}px`)
  scroller.style.setProperty("--row-height", `${height}px`)
  const column = make(
    "div",
    list["column"],
    ...aboveOf(first, locale),
    make("div", grid["frame"], scroller),
    make("div", list["foot"])
  )
  const main = make("div", shell["main"], make("div", list["beside"], column))
  const plain = make("div", style["plain"], make("div", shell["app"], make("div", shell["side"]), main))
  plain.ariaHidden = "true"
  const rowOf = rowMaker(first, { format: locale.format, t: locale.t, now: Date.now() })
  showPlain(plain)
  const room = scroller.clientHeight - headHeight
  const scale = scaleFor(totalOf(page).count * height, room)
  body.style.height = `${scale.physical + scale.viewport}px`
  body.append(
    ...page.items.slice(0, Math.ceil(room / height)).map((record, index) => {
      const row = rowOf(record, index * height)
      row.dataset["plain"] = String(index)
      return row
    })
  )
  return new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
}

/** Asks for the rows of the address, and draws them if the app will have them there. Ends when they are painted, and rejects if the service refuses. */
export const drawPlain = async (): Promise<void> => {
  const texts = loadChosen()
  const meta = await beginMeta()
  const first = meta === null ? null : firstOf(meta)
  if (first === null) return
  const { query } = currentPlace()
  const rows = beginRows(first.resource, parametersOf(askedOf(first.resource, query, first.chosen)))
  if (rows === null || !isPlain(first)) return
  const [page] = await Promise.all([rows, texts])
  const locale = localeNow()
  if (locale !== null && page.items.length > 0) await show(first, page, locale)
}
