import { describe, expect, it } from "vitest"
import { fromHtml, fromTsv, guarded, mostCells, mostText, readClipboard, toHtml, toTsv, unguarded } from "./table.ts"

const hostile = [
  ["", "a", " b ", "9007199254740993"],
  ["two\nlines", "tab\there", "say \"so\"", "\"quoted\""],
  ["<td>&amp;</td>", "'=1", "''", "\"open"],
  ["1234.50", "-5", "é\u2028\u{1f600}", "a\"b\"c"]
]

describe("a table on the clipboard", () => {
  it("is the same after it was written and read, as text and as HTML", () => {
    expect(fromTsv(toTsv(hostile))).toEqual(hostile)
    expect(fromHtml(toHtml(hostile))).toEqual(hostile)
  })

  it.each([
    ["a\tb\r\nc\td\r\n", [["a", "b"], ["c", "d"]]],
    ["a\nb\rc", [["a"], ["b"], ["c"]]],
    ["a\t\n\tb", [["a", ""], ["", "b"]]],
    ["a\tb\tc\nd", [["a", "b", "c"], ["d"]]],
    ["\"two\nlines\"\tx", [["two\nlines", "x"]]],
    ["\"say \"\"so\"\"\"", [["say \"so\""]]],
    ["5\" pipe\t\"open\nnext", [["5\" pipe", "\"open"], ["next"]]],
    ["\"a\"b\tc", [["\"a\"b", "c"]]],
    ["a\0\0", [["a"]]],
    ["a\0b", [["a\0b"]]],
    ["\n", [[""]]]
  ])("is read from the text %j", (text, table) => {
    expect(fromTsv(text)).toEqual(table)
  })

  it.each([
    ["<p>before</p><table><tr><td>a</td><th>b</th></tr><tr><td>c</td></tr></table>", [["a", "b"], ["c"]]],
    // As Excel and LibreOffice write it: styles, comments, line breaks in the source, ends of cells left out.
    [
      "<html><head><style>td{a>b}</style></head><body><TABLE border=0><!--StartFragment--><col width=64><TR height='20'>\n  <TD class=\"a>b\">one\n  two</TD>\n<TD x:num>1&nbsp;000</TABLE>",
      [["one two", "1 000"]]
    ],
    ["<table><tr><td>a<br>b<br/> c</td><td> <b>x</b>y </td></tr></table>", [["a\nb\nc", "xy"]]],
    ["<table><tr><td colspan=2>a</td><td>b</td></tr><tr><td>c</td><td>d</td><td>e</td></tr></table>", [
      ["a", "", "b"],
      ["c", "d", "e"]
    ]],
    ["<table><tr><td rowspan=\"2\">a</td><td>b</td></tr><tr><td>c</td></tr></table>", [["a", "b"], ["", "c"]]],
    ["<table><tr><td>&lt;i&gt; &#65;&#x42; &bogus; &#0; &#xD800;</td></tr></table>", [[
      "<i> AB &bogus; \ufffd \ufffd"
    ]]],
    ["<table><tr><td>a<table><tr><td>in</td></tr></table>b</td><td>c</td></tr></table>", [["ainb", "c"]]],
    ["<table><tr><td>a<script>let x = '<td>'</script></td></tr></table><table><tr><td>b</td></tr></table>", [["a"]]],
    ["<p>no table</p>", null],
    ["<table></table>", null]
  ])("is read from the HTML %j", (html, table) => {
    expect(fromHtml(html)).toEqual(table)
  })

  it("is taken from the text where both have the same cells, and from the HTML elsewhere", () => {
    const html = "<table><tr><td>a b</td><td>c</td></tr></table>"
    expect(readClipboard("a  b\tc", html)).toEqual({ table: [["a  b", "c"]] })
    expect(readClipboard("a b\nc", html)).toEqual({ table: [["a b", "c"]] })
    expect(readClipboard("", html)).toEqual({ table: [["a b", "c"]] })
    expect(readClipboard("alone", "<p>alone</p>")).toEqual({ table: [["alone"]] })
    expect(readClipboard("", "<p>x</p>")).toEqual({ refused: "empty" })
  })

  it("is refused where it is too large, and read in a time that grows with its length", () => {
    expect(readClipboard("x".repeat(2 * mostText), "")).toEqual({ refused: "large" })
    expect(readClipboard("\t".repeat(mostCells), "")).toEqual({ refused: "large" })
    expect(fromHtml(`<table><tr>${"<td>".repeat(mostCells + 1)}`)).toBe("large")
    expect(fromHtml("<table><tr><td colspan=9999><td colspan=9999>")).toBe("large")
    // Each of these would take hours if something began again at each letter.
    const half = mostText / 2
    for (const text of ["\"", "\"\"", "\"a\"\"\t"]) {
      expect(fromTsv(text.repeat(half / text.length).slice(0, half))).toSatisfy((table) =>
        table === null || table !== undefined
      )
    }
    for (const text of ["<a ", "<td \"", "<!--", "&", "&#"]) {
      expect(fromHtml(`<table>${text.repeat(Math.floor(half / text.length))}`)).toSatisfy((table) =>
        table !== undefined
      )
    }
  })
})

it.each([
  ["=1+1", "'=1+1"],
  ["+1", "'+1"],
  ["@sum", "'@sum"],
  ["-2+3", "'-2+3"],
  ["-5.20", "-5.20"],
  ["'=1", "''=1"],
  ["'quoted'", "'quoted'"],
  ["", ""]
])("the text %j is guarded against formulas as %j, and comes back as it was", (text, safe) => {
  expect(guarded(text)).toBe(safe)
  expect(unguarded(safe)).toBe(text)
})
