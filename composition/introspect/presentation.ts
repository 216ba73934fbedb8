/**
 * How the admin app shows a resource at first: what its records are called, the group of its entry, an icon where the table's name is plain. What it
 * does not say, the service decides at each start.
 */

import type { TableFacts } from "../../core/domain/compile/catalogue.ts"
import { suggestTitle, type TitleField } from "../../core/domain/model/title.ts"
import { isText } from "./column.ts"

/** What is written of a view; null where there is nothing to say. */
export interface DraftedView {
  readonly title: string | null
  readonly group: string | null
  readonly icon: string | null
}

/** Icons of the admin app, each with the words that it stands for: singular, as the last word of a table's name. */
export const iconWords: { readonly [icon: string]: string } = {
  badge: "role permission certificate license",
  bell: "notification alert reminder",
  book: "book publication course",
  box: "stock inventory",
  building: "company organization organisation supplier vendor department manufacturer",
  calendar: "event appointment booking reservation rental meeting",
  card: "card subscription",
  cart: "order cart basket sale purchase",
  chair: "seat table room",
  chart: "report statistic metric",
  chat: "message comment post conversation chat",
  file: "file document attachment contract",
  flag: "country state",
  folder: "project folder",
  globe: "language region territory domain site",
  heart: "favorite favourite like wish",
  history: "log audit history",
  home: "house home apartment property",
  image: "image photo picture",
  inbox: "request ticket issue inquiry",
  list: "task todo list playlist",
  mail: "mail email newsletter",
  map: "address city place location",
  money: "payment transaction price refund salary",
  package: "product item article good",
  people: "customer client employee staff member person people team contact passenger student",
  person: "user account author artist actor owner profile patient",
  receipt: "invoice bill receipt",
  settings: "setting option configuration preference",
  shop: "shop store branch",
  star: "review rating",
  tag: "tag category genre label brand type",
  tool: "tool machine device repair",
  truck: "shipment shipper delivery vehicle car",
  warehouse: "warehouse"
}

const icons = new Map(
  Object.entries(iconWords).flatMap(([icon, words]) => words.split(" ").map((word) => [word, icon]))
)

/** The icon of the last word of a name, in singular or plural. */
const iconOf = (name: string): string | null => {
  const word = name.split("_").at(-1)!
  const forms = [word, word.replace(/ies$/, "y"), word.replace(/es$/, ""), word.replace(/s$/, "")]
  return forms.map((form) => icons.get(form)).find((icon) => icon !== undefined) ?? null
}

/** A field with what a title is chosen by. */
export interface TitledField extends TitleField {
  readonly column: string
}

/** Texts that no two rows share name them better than any text that is only searched. Texts for machines name nobody. */
const uniqueText = (table: TableFacts, fields: readonly TitledField[], key: ReadonlySet<string>): string | null =>
  fields.find(({ column: name, kind, optional, relation, ...field }) => {
    const column = table.columns.find((each) => each.name === name)!
    return kind === "text" && relation === null && !optional && !key.has(field.name) && isText(column) &&
      table.uniques.some((columns) => columns.length === 1 && columns[0] === name) &&
      !/_(?:id|url|uri|hash|key|path)$|^(?:url|uri|hash|path|guid|uuid)$/.test(field.name)
  })?.name ?? null

/** The title of a resource's records: what its fields are called, else a unique text, else what the service would choose itself. */
const titleOf = (
  name: string,
  table: TableFacts,
  fields: readonly TitledField[],
  key: ReadonlySet<string>
): string | null => {
  const byName = suggestTitle(name, fields.map((field) => ({ ...field, searched: false })), key)
  return byName !== null && !byName.includes("·")
    ? byName
    : uniqueText(table, fields, key) ?? suggestTitle(name, fields, key)
}

const words = (name: string): string => {
  const text = name.replaceAll("_", " ").trim()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The view of a resource. `grouped`: resources come from several schemas, so each is under the name of its own. */
export const viewOf = (
  resource: { readonly name: string; readonly key: readonly string[] },
  table: TableFacts,
  fields: readonly TitledField[],
  grouped: boolean
): DraftedView | null => {
  const title = titleOf(resource.name, table, fields, new Set(resource.key))
  const group = grouped && table.schema !== "public" ? words(table.schema) || null : null
  const icon = iconOf(resource.name)
  return title === null && group === null && icon === null ? null : { title, group, icon }
}
