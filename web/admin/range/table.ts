/**
 * Tables on the clipboard: as text with tabs (what spreadsheets read and write), and as HTML. It reads with a scanner of its own, because the page's policy
 * lets no text become markup. What is read is never trusted: too much of it is refused, whatever is wrong in it is text. Pure.
 */

/** Rows of cells as texts. Rows may differ in their length. */
export type Table = readonly (readonly string[])[]

/** Most characters that are read, and most cells. */
export const mostText = 5_000_000
export const mostCells = 10_000

/** A cell as text that no spreadsheet takes for a formula: an apostrophe comes first. Numbers stay numbers. `unguarded` takes it off again. */
export const guarded = (text: string): string =>
  /^'*[=+@\t\r-]/.test(text) && !/^-\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text

/** The text of a cell without the apostrophe of `guarded`. Other apostrophes stay. */
export const unguarded = (text: string): string => /^'+[=+@\t\r-]/.test(text) ? text.slice(1) : text

const quoted = (text: string): string => /[\t\r\n"]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text

/** Rows as text: tabs between cells, a line end after each row but the last. */
export const toTsv = (table: Table): string => table.map((row) => row.map(quoted).join("\t")).join("\r\n")

/** One cell that begins with a quotation mark and ends at its own one, before a tab or a line end; null where there is no such end. */
const readQuoted = (text: string, from: number): { readonly cell: string; readonly end: number } | null => {
  for (let at = text.indexOf("\"", from + 1); at !== -1; at = text.indexOf("\"", at + 1)) {
    if (text[at + 1] === "\"") {
      at += 1
      continue
    }
    const next = text[at + 1]
    return next === undefined || next === "\t" || next === "\r" || next === "\n"
      ? { cell: text.slice(from + 1, at).replaceAll("\"\"", "\""), end: at + 1 }
      : null
  }
  return null
}

const separator = /[\t\r\n]/g

/** The table of a text with tabs. Null where it has too many cells. */
export const fromTsv = (text: string): Table | null => {
  const rows: string[][] = []
  let row: string[] = []
  let cells = 0
  let at = 0
  // A spreadsheet ends its last row, too. Some programs end the whole with NUL.
  const whole = text.replace(/\0+$/, "").replace(/(?:\r\n|\r|\n)$/, "")
  for (;;) {
    const found = whole[at] === "\"" ? readQuoted(whole, at) : null
    let end = found?.end
    if (end === undefined) {
      separator.lastIndex = at
      end = separator.exec(whole)?.index ?? whole.length
    }
    row.push(found?.cell ?? whole.slice(at, end))
    if (++cells > mostCells) return null
    if (whole[end] === "\t") {
      at = end + 1
      continue
    }
    rows.push(row)
    row = []
    if (end >= whole.length) return rows
    at = end + (whole[end] === "\r" && whole[end + 1] === "\n" ? 2 : 1)
  }
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\"", "&quot;")
    .replaceAll(/\r\n|\r|\n/g, "<br>")

/** Numbers that a spreadsheet holds without a loss: it has fifteen digits. */
const isSafeNumber = (text: string): boolean =>
  /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) && text.replaceAll(/\D/g, "").length <= 15

/** Rows as an HTML table. Whatever is no short number is marked as a text, so that a spreadsheet keeps its digits and letters. */
export const toHtml = (table: Table): string => {
  const rows = table.map((row) =>
    `<tr>${
      row.map((cell) =>
        isSafeNumber(cell)
          ? `<td>${cell}</td>`
          : `<td style="white-space:pre-wrap;mso-number-format:'\\@'">${escaped(cell)}</td>`
      ).join("")
    }</tr>`
  )
  return `<meta charset="utf-8"><table><tbody>${rows.join("")}</tbody></table>`
}

const names: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: "\"", apos: "'", nbsp: " " }

const characterOf = (code: number): string =>
  code > 0 && code <= 0x10_ff_ff && !(code >= 0xd8_00 && code <= 0xdf_ff) ? String.fromCodePoint(code) : "\ufffd"

const unescaped = (text: string): string =>
  text.includes("&")
    ? text.replaceAll(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,4}));/g, (whole, decimal, hex, name) =>
      decimal !== undefined
        ? characterOf(Number(decimal))
        : hex !== undefined
        ? characterOf(Number.parseInt(hex, 16))
        : names[name] ?? whole)
    : text

/** White space as a browser shows it. */
const collapsed = (text: string): string => text.replaceAll(/[ \t\r\n\f]+/g, " ")

const token = /<!--[^]*?(?:-->|$)|<(\/?)([a-zA-Z][a-zA-Z0-9]*)((?:"[^"]*"|'[^']*'|[^"'<>])*)>/g

const spanIn = (attributes: string, name: string): number =>
  Math.max(1, Number(new RegExp(`\\b${name}\\s*=\\s*["']?(\\d{1,4})`, "i").exec(attributes)?.[1] ?? 1))

interface Scan {
  readonly rows: string[][]
  /** Cells that an earlier row's `rowspan` takes, by column: how many rows more. */
  readonly taken: number[]
  row: string[] | null
  cell: { text: string; readonly across: number; readonly down: number; readonly kept: boolean } | null
  cells: number
}

/** Ends the cell that is read: its text stands in its first place, and the places that it spans are empty. */
const endCell = (scan: Scan): void => {
  const { cell, row, taken } = scan
  if (cell === null || row === null) return
  scan.cell = null
  const skip = (): void => {
    while ((taken[row.length] ?? 0) > 0) {
      taken[row.length] = (taken[row.length] ?? 0) - 1
      row.push("")
      scan.cells += 1
    }
  }
  skip()
  for (let place = 0; place < cell.across && scan.cells <= mostCells; place++) {
    taken[row.length] = cell.down - 1
    row.push(place === 0 ? (cell.kept ? cell.text : cell.text.replaceAll(/ *\n */g, "\n").trim()) : "")
    scan.cells += 1
  }
  skip()
}

const endRow = (scan: Scan): void => {
  endCell(scan)
  if (scan.row !== null) scan.rows.push(scan.row)
  scan.row = null
}

/** What a tag does to the table. True where the table ends. */
const meet = (scan: Scan, name: string, closes: boolean, attributes: string): boolean => {
  if (name === "table") return closes
  if (name === "br" || (name === "p" && closes)) {
    if (scan.cell !== null && (name === "br" || scan.cell.text !== "")) scan.cell.text += "\n"
  } else if (name === "tr") {
    endRow(scan)
    if (!closes) scan.row = []
  } else if (name === "td" || name === "th") {
    endCell(scan)
    if (!closes) {
      scan.row ??= []
      scan.cell = {
        text: "",
        across: spanIn(attributes, "colspan"),
        down: spanIn(attributes, "rowspan"),
        kept: /white-space\s*:\s*pre/i.test(attributes)
      }
    }
  }
  return false
}

/** The first table of a piece of HTML. Null where there is none. */
export const fromHtml = (html: string): Table | "large" | null => {
  if (html.length > mostText) return "large"
  const begin = /<table\b/i.exec(html)?.index
  if (begin === undefined) return null
  const scan: Scan = { rows: [], taken: [], row: null, cell: null, cells: 0 }
  let depth = 0
  let at = begin
  let hidden: string | null = null
  token.lastIndex = begin
  for (let found = token.exec(html); found !== null; found = token.exec(html)) {
    const [whole, slash, tag, attributes = ""] = found
    const between = html.slice(at, found.index)
    at = found.index + whole.length
    if (hidden === null && scan.cell !== null) {
      scan.cell.text += unescaped(scan.cell.kept ? between : collapsed(between))
    }
    if (tag === undefined) continue
    const name = tag.toLowerCase()
    if (name === "style" || name === "script") hidden = slash === "" ? name : null
    if (hidden !== null) continue
    if (name === "table") depth += slash === "" ? 1 : -1
    // A table within a cell is text of that cell.
    if (depth > 1) continue
    if (meet(scan, name, slash !== "", attributes) && depth <= 0) break
    if (scan.cells > mostCells) return "large"
  }
  endRow(scan)
  const rows = scan.rows.filter((row) => row.length > 0)
  return scan.cells > mostCells ? "large" : rows.length === 0 ? null : rows
}

const shapeOf = (table: Table): string => table.map(({ length }) => length).join()

/** What was pasted: the table, or why there is none. `large`: it has too much text or too many cells. */
export type Pasted = { readonly table: Table } | { readonly refused: "large" | "empty" }

/**
 * The table of a clipboard. Its text has every letter as it is; its HTML says where cells begin and end. So the text is taken where both have the same cells,
 * and the table elsewhere.
 */
export const readClipboard = (text: string, html: string): Pasted => {
  if (text.length > mostText) return { refused: "large" }
  const marked = fromHtml(html)
  if (text === "") {
    return marked === null
      ? { refused: "empty" }
      : marked === "large"
      ? { refused: "large" }
      : { table: marked }
  }
  const plain = fromTsv(text)
  if (plain === null) return { refused: "large" }
  return { table: marked === null || marked === "large" || shapeOf(marked) === shapeOf(plain) ? plain : marked }
}
