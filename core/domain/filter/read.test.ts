import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { cpuMilliseconds } from "../../../test/support/cpu.ts"
import { filterField as field, filterFields, filterScope, scopeOf, withoutSpans } from "../../../test/support/filter.ts"
import { makeField } from "../../../test/support/model.ts"
import { type FilterErrorCode, type FilterScope, readFilter } from "./read.ts"
import { allOf, always, anyOf, type Comparison, conditionsOf, type FilterTree, not, type Operand } from "./tree.ts"

const literal = (text: string): Operand => ({ of: "literal", text })
const now = (offset: bigint): Operand => ({ of: "now", offset })
const compare = (name: string, is: Comparison, value: string | Operand): FilterTree => ({
  op: "compare",
  field: field(name),
  is,
  value: typeof value === "string" ? literal(value) : value
})
const eq = (name: string, value: string | Operand): FilterTree => compare(name, "=", value)
const isNull = (name: string): FilterTree => ({ op: "null", field: field(name) })
const search = (text: string): FilterTree => ({ op: "search", fields: filterScope.searched, text })
const match = (name: string, ...parts: string[]): FilterTree => ({ op: "match", field: field(name), parts })
const contains = (name: string, text: string): FilterTree => ({ op: "contains", field: field(name), text })
const within = (name: string, ...values: string[]): FilterTree => ({
  op: "in",
  field: field(name),
  values: values.map(literal)
})
const regex = (name: string, pattern: string): FilterTree => ({ op: "regex", field: field(name), pattern })

const day = 86_400_000_000n

const accepts = (
  rows: ReadonlyArray<readonly [text: string, tree: FilterTree]>,
  scope: FilterScope = filterScope
): void => {
  it.each(rows)("%s", (text, tree) => {
    expect(Result.map(readFilter(text, scope), withoutSpans)).toEqual(Result.succeed(tree))
  })
}

type Refusal = readonly [text: string, code: FilterErrorCode, slice: string, hint?: string]

const refusals = (text: string, scope: FilterScope) => {
  const answer = readFilter(text, scope)
  return Result.isSuccess(answer) ? [] : answer.failure
}

/** One error each: its code, the exact text of its span, and what its hint says. */
const refuses = (rows: readonly Refusal[], scope: FilterScope = filterScope): void => {
  it.each(rows.map(([text, code, slice, hint = ""]) => ({ text, code, slice, hint, title: JSON.stringify(text) })))(
    "$title is $code",
    ({ code, hint, slice, text }) => {
      const errors = refusals(text, scope)
      expect(errors.map((error) => [error.code, text.slice(error.span.start, error.span.end)])).toEqual([[code, slice]])
      expect(errors[0]!.message).toMatch(/\.$/)
      expect(errors[0]!.hint).not.toBe("")
      expect(errors[0]!.hint).toContain(hint)
    }
  )
}

describe("precedence and sequence", () => {
  const [a, b, c, d] = [search("a"), search("b"), search("c"), search("d")]
  accepts([
    ["a", a],
    ["a b", allOf([a, b])],
    ["a AND b", allOf([a, b])],
    ["a OR b", anyOf([a, b])],
    ["a AND b OR c", allOf([a, anyOf([b, c])])],
    ["a OR b AND c", allOf([anyOf([a, b]), c])],
    ["a OR b c OR d", allOf([anyOf([a, b]), anyOf([c, d])])],
    ["a b OR c AND d", allOf([a, anyOf([b, c]), d])],
    ["(a AND b) OR c", anyOf([allOf([a, b]), c])],
    ["(a b)OR(c d)", anyOf([allOf([a, b]), allOf([c, d])])],
    ["NOT a OR b", anyOf([not(a), b])],
    ["NOT (a OR b)", not(anyOf([a, b]))],
    ["NOT(a)", not(a)],
    ["-a b", allOf([not(a), b])],
    ["a -b", allOf([a, not(b)])],
    ["a - b", allOf([a, not(b)])],
    ["-(a OR b)", not(anyOf([a, b]))],
    ["-\"a b\"", not(search("a b"))],
    ["NOT NOT a", a],
    ["NOT -a", a],
    ["--a", a],
    ["((a))", a],
    ["(a)(b)", allOf([a, b])],
    ["\t a\n\r b \n", allOf([a, b])],
    ["and", search("and")],
    ["ANDROID", search("ANDROID")],
    ["android or_ nothing", allOf([search("android"), search("or_"), search("nothing")])],
    ["a \"and\" b", allOf([a, search("and"), b])],
    ["a AND and", allOf([a, search("and")])],
    ["name = and", eq("name", "and")],
    ["name = not", eq("name", "not")],
    ["search('not') in(name, and, or, not)", allOf([search("not"), within("name", "and", "or", "not")])]
  ])
  refuses([
    ["a and b", "syntax", "and", "Write AND, or \"and\" in quotes to search for the word."],
    ["a Or b", "syntax", "Or", "Write OR, or \"Or\" in quotes to search for the word."],
    ["a aND b", "syntax", "aND"],
    ["count = 1 or count = 2", "syntax", "or"],
    ["count = 1 and(count = 2)", "syntax", "and"],
    ["(a) or (b)", "syntax", "or"],
    ["a and", "syntax", "and"],
    ["not a", "syntax", "not", "Write NOT, or \"not\" in quotes to search for the word."],
    ["Not a", "syntax", "Not"],
    ["not(count = 1)", "syntax", "not"],
    ["a AND not b", "syntax", "not"],
    ["-not b", "syntax", "not"],
    ["(not b)", "syntax", "not"],
    ["status = (draft or paid)", "syntax", "or"],
    ["status = (not paid)", "syntax", "not"],
    // Before a comparison they are names.
    ["a and = 5", "unknown-field", "and"],
    ["not = 5", "unknown-field", "not"]
  ])

  accepts([
    ["-count = 1", not(eq("count", "1"))],
    ["count = -1", eq("count", "-1")],
    ["name = a.b", eq("name", "a.b")],
    ["search(a.b)", search("a.b")],
    ["in(active, true)", within("active", "true")],
    ["in(active, true, false)", within("active", "true", "false")],
    ["- count = 1", not(eq("count", "1"))],
    ["NOT count=1 OR count=2", anyOf([not(eq("count", "1")), eq("count", "2")])],
    ["count = 1 -active = true", allOf([eq("count", "1"), not(eq("active", "true"))])]
  ])
})

describe("text search", () => {
  refuses([
    ["a.b", "syntax", "a.b", "Put it in quotes: \"a.b\"."],
    ["rid.", "syntax", "rid."],
    [".", "syntax", "."],
    ["foo-bar.baz@example.com", "syntax", "foo-bar.baz@example.com"],
    ["NOT 1.5", "syntax", "1.5"],
    ["count = 1 a.b", "syntax", "a.b"]
  ])
  accepts([
    ["paid", search("paid")],
    ["\"two words\"", search("two words")],
    ["'two words'", search("two words")],
    ["search('two words')", search("two words")],
    ["search(word)", search("word")],
    ["search ( 'a' )", search("a")],
    ["NOT search('a')", not(search("a"))],
    ["O'Brien", search("O'Brien")],
    ["\"foo-bar.baz@example.com\"", search("foo-bar.baz@example.com")],
    ["foo-bar_baz", search("foo-bar_baz")],
    ["100%", search("100%")],
    ["a*b", search("a*b")],
    ["\"a\\*b\"", search("a*b")],
    ["hello! é日本\u{1f600}", allOf([search("hello!"), search("é日本\u{1f600}")])],
    ["in", search("in")],
    ["active", search("active")]
  ])
  refuses([
    ["\"\"", "value", "\"\""],
    ["search('')", "value", "''"],
    ["search()", "argument", "search()", "search('text')"],
    ["search('a', 'b', 'c')", "argument", "search('a', 'b', 'c')"]
  ])
  const nothing = scopeOf(filterFields, { searched: [] })
  refuses([["word", "not-searchable", "word", "AND"], ["search('a')", "not-searchable", "'a'"]], nothing)
})

describe("text fields", () => {
  accepts([
    ["name = foo", eq("name", "foo")],
    ["name=\"foo bar\"", eq("name", "foo bar")],
    ["name = 'it\\'s'", eq("name", "it's")],
    ["name = \"say \\\"hi\\\"\"", eq("name", "say \"hi\"")],
    ["name = 'say \"hi\"'", eq("name", "say \"hi\"")],
    ["name = \"\"", eq("name", "")],
    ["name = 5", eq("name", "5")],
    ["name = true", eq("name", "true")],
    ["name = O'Brien", eq("name", "O'Brien")],
    ["name = \"null\"", eq("name", "null")],
    ["name = a*", match("name", "a", "")],
    ["name = \"*a\"", match("name", "", "a")],
    ["name = \"a*b*c\"", match("name", "a", "b", "c")],
    ["name = a**b", match("name", "a", "b")],
    ["name = *", match("name", "", "")],
    ["name = ***", match("name", "", "")],
    ["name = \"a\\*\"", eq("name", "a*")],
    ["name = a\\*b*", match("name", "a*b", "")],
    ["name = \"a\\\\*\"", match("name", "a\\", "")],
    ["name = \"a\\\\b\"", eq("name", "a\\b")],
    ["name = \"\\n\\t\\r\\u0041\\uD83D\\uDE00\"", eq("name", "\n\t\rA\u{1f600}")],
    ["name != a*", not(match("name", "a", ""))],
    ["name != a", not(eq("name", "a"))],
    ["name < \"b*\"", compare("name", "<", "b*")],
    ["name >= b", compare("name", ">=", "b")],
    ["name:foo", contains("name", "foo")],
    ["name : \"a*\"", contains("name", "a*")],
    ["name:\"*\"", contains("name", "*")],
    ["name:\\*", contains("name", "*")],
    ["name:null", contains("name", "null")],
    ["name:*", not(isNull("name"))],
    ["in(name, a*, \"b\")", within("name", "a*", "b")],
    ["similar(name, 'acme')", { op: "similar", field: field("name"), text: "acme" }],
    ["similar(name, acme)", { op: "similar", field: field("name"), text: "acme" }],
    ["regex(name, '^a.*\\d+\\.$')", regex("name", "^a.*\\d+\\.$")],
    ["regex(name, \"a\\\\.b\")", regex("name", "a\\.b")],
    ["regex(name, 'a\\*\\'')", regex("name", "a\\*'")],
    ["regex(name, '\\n\\u0041')", regex("name", "\\n\\u0041")],
    [`regex(name, '${"x".repeat(200)}')`, regex("name", "x".repeat(200))],
    [`name = ${"x".repeat(100)}`, eq("name", "x".repeat(100))]
  ])
  refuses([
    ["name = \"a\\d\"", "syntax", "\\d", "\\\\ for a backslash"],
    ["name = \"a\\\u{1f600}\"", "syntax", "\\\u{1f600}"],
    ["name = \"\\u12\"", "syntax", "\\u"],
    ["name = \"\\u0000\"", "syntax", "\\u0000"],
    ["name = \"\\uD800\"", "syntax", "\\uD800"],
    ["name = a\\", "syntax", "\\"],
    ["similar(name, '')", "value", "''"],
    ["similar(status, 'paid')", "operator", "status", "text field"],
    ["regex(count, '1')", "operator", "count"],
    ["regex(name, a+)", "argument", "a+", "'pattern'"],
    [`regex(name, '${"x".repeat(201)}')`, "limit", `'${"x".repeat(201)}'`],
    ["name < null", "value", "null", "isNull(name)"],
    ["in(name, a, null)", "value", "null", "isNull(name)"],
    ["name = now()", "value", "now()"],
    ["name:now()", "value", "now()"]
  ])
})

describe("values by kind", () => {
  accepts([
    ["id = 9223372036854775807", eq("id", "9223372036854775807")],
    ["id = -9223372036854775808", eq("id", "-9223372036854775808")],
    ["id >= \"9007199254740993\"", compare("id", ">=", "9007199254740993")],
    ["small = 32767", eq("small", "32767")],
    ["count <= 007", compare("count", "<=", "7")],
    ["count = -0", eq("count", "0")],
    ["count:5", eq("count", "5")],
    ["amount = 5", eq("count", "5")],
    ["total = 1.5", eq("total", "1.50")],
    ["total < -0.00", compare("total", "<", "0.00")],
    ["total = 1.505", eq("total", "1.505")],
    ["total = 1.5e3", eq("total", "1500.00")],
    ["total = 1.5e+3", eq("total", "1500.00")],
    ["total > -15E-1", compare("total", ">", "-1.50")],
    ["total = 9999999999.99", eq("total", "9999999999.99")],
    ["rate = 0.10", eq("rate", "0.10")],
    ["ratio > 0.25", compare("ratio", ">", "0.25")],
    ["ratio = 1e21", eq("ratio", "1e+21")],
    ["active = true", eq("active", "true")],
    ["active != false", not(eq("active", "false"))],
    ["active:true", eq("active", "true")],
    ["status = paid", eq("status", "paid")],
    ["status:paid", eq("status", "paid")],
    ["status != \"paid\"", not(eq("status", "paid"))],
    ["in(status, draft, 'paid')", within("status", "draft", "paid")],
    ["in (status, draft)", within("status", "draft")],
    ["key = 00000000-0000-4000-8000-00000000000A", eq("key", "00000000-0000-4000-8000-00000000000a")],
    ["currency = EUR", eq("currency", "EUR")],
    ["country != NO", not(eq("country", "NO"))],
    ["created_at > 2026-01-31T09:30:00Z", compare("created_at", ">", "2026-01-31T09:30:00Z")],
    ["created_at=2026-01-31T09:30:00.120+05:30", eq("created_at", "2026-01-31T04:00:00.12Z")],
    ["created_at > \"2026-01-31t09:30z\"", compare("created_at", ">", "2026-01-31T09:30:00Z")],
    ["created_at < 9999-12-31T23:59:59.999999Z", compare("created_at", "<", "9999-12-31T23:59:59.999999Z")],
    ["(created_at>2024-02-29T00:00:00-01:00)", compare("created_at", ">", "2024-02-29T01:00:00Z")],
    ["in(created_at,2026-01-31T09:30:00Z,now())", {
      op: "in",
      field: field("created_at"),
      values: [literal("2026-01-31T09:30:00Z"), now(0n)]
    }],
    ["due = 2024-02-29", eq("due", "2024-02-29")],
    ["due < \"2026-01-31\"", compare("due", "<", "2026-01-31")],
    ["isNull(extra)", isNull("extra")],
    ["extra:*", not(isNull("extra"))],
    ["extra = null", isNull("extra")],
    ["count = null", isNull("count")],
    ["count != null", not(isNull("count"))],
    ["NOT isNull(count)", not(isNull("count"))],
    ["isNull ( count )", isNull("count")],
    ["count:*", not(isNull("count"))]
  ])
  refuses([
    ["id = 9223372036854775808", "value", "9223372036854775808", "from -9223372036854775808"],
    ["small = 32768", "value", "32768"],
    ["count = 1.5", "value", "1.5", "integer"],
    ["count = 1e3", "value", "1e3"],
    ["count = \"\"", "value", "\"\""],
    ["count = *", "value", "*"],
    ["count = NaN", "value", "NaN"],
    ["total = 12345678901", "value", "12345678901", "10 digits"],
    ["total = NaN", "value", "NaN"],
    ["ratio = infinity", "value", "infinity"],
    ["ratio = 1e999", "value", "1e999"],
    ["ratio = NaN", "value", "NaN"],
    ["active = t", "value", "t", "true or false"],
    ["active = TRUE", "value", "TRUE"],
    ["active = 1", "value", "1"],
    ["active > false", "operator", ">", "= != :"],
    ["status = piad", "value", "piad", "Did you mean paid?"],
    ["status = Paid", "value", "Paid", "Did you mean paid?"],
    ["status = pa*", "value", "pa*", "\"draft\""],
    ["status > draft", "operator", ">", "enum"],
    ["level > medium", "value", "medium", "\"mid\""],
    ["level > null", "value", "null", "isNull"],
    ["key > 00000000-0000-4000-8000-000000000000", "operator", ">"],
    ["key = 123", "value", "123", "UUID"],
    ["currency = eur", "value", "eur", "ISO 4217"],
    ["currency = ZZZ", "value", "ZZZ"],
    ["country = UK", "value", "UK", "ISO 3166-1"],
    ["created_at > 2026-01-31", "value", "2026-01-31", "with a zone"],
    ["created_at > 2026-01-31T09:30:00", "value", "2026-01-31T09:30:00", "with a zone"],
    ["created_at > yesterday", "value", "yesterday"],
    ["created_at > infinity", "value", "infinity"],
    ["created_at > 2026-02-30T00:00:00Z", "value", "2026-02-30T00:00:00Z"],
    ["created_at > 2026-01-01T00:00:00.1234567Z", "value", "2026-01-01T00:00:00.1234567Z", "6 fraction digits"],
    ["created_at > 0001-01-01T00:00:00+00:01", "value", "0001-01-01T00:00:00+00:01"],
    ["created_at > 2026-01-01T24:00:00Z", "value", "2026-01-01T24:00:00Z"],
    ["created_at > 2026-01-01T23:59:60Z", "value", "2026-01-01T23:59:60Z"],
    ["due = 2026-02-29", "value", "2026-02-29", "exists"],
    ["due = 0000-01-01", "value", "0000-01-01"],
    ["due = 2026-01-01T00:00:00Z", "value", "2026-01-01T00:00:00Z"],
    ["extra = 1", "operator", "=", "extra:*"],
    ["extra:a", "operator", ":"],
    ["in(extra, 1)", "operator", "extra"],
    ["count > now()", "value", "now()", "timestamp"],
    ["count = foo(1)", "value", "foo"],
    ["count < null", "value", "null", "isNull(count)"]
  ])
})

describe("now() and offsets", () => {
  accepts([
    ["created_at > now()", compare("created_at", ">", now(0n))],
    ["created_at > now() - 7d", compare("created_at", ">", now(-7n * day))],
    ["created_at > now() -7d", compare("created_at", ">", now(-7n * day))],
    ["created_at > now()-7d", compare("created_at", ">", now(-7n * day))],
    ["created_at > now ( ) - 7d", compare("created_at", ">", now(-7n * day))],
    ["created_at < now()+1h", compare("created_at", "<", now(3_600_000_000n))],
    ["created_at < now() + 90s - 1m", compare("created_at", "<", now(30_000_000n))],
    ["created_at >= now() - 2w", compare("created_at", ">=", now(-14n * day))],
    ["due < now() - 1d", compare("due", "<", now(-day))],
    ["created_at > now() - 7d AND count = 1", allOf([compare("created_at", ">", now(-7n * day)), eq("count", "1")])],
    ["created_at > now() AND -paid", allOf([compare("created_at", ">", now(0n)), not(search("paid"))])],
    ["created_at > now() NOT paid", allOf([compare("created_at", ">", now(0n)), not(search("paid"))])]
  ])
  refuses([
    ["created_at > now() - 7", "syntax", "- 7", "now() - 7d"],
    ["created_at > now() - -7d", "syntax", "- -7d"],
    ["created_at > now() + -7d", "syntax", "+ -7d"],
    ["created_at > now() - +7d", "syntax", "- +7d"],
    ["created_at > now() - 7days", "syntax", "- 7days"],
    ["created_at > now() -7x", "syntax", "-7x"],
    ["created_at > now() + d", "syntax", "+ d"],
    ["created_at > now() - week", "syntax", "- week", "such as now() - 7d"],
    ["created_at > now() -week", "syntax", "-week"],
    ["created_at > now() -paid", "syntax", "-paid", "Write AND before"],
    ["created_at > now() - paid", "syntax", "- paid"],
    ["created_at > now() -(count = 1)", "syntax", "-"],
    ["created_at > now() -", "syntax", "-"],
    ["created_at > now() - 1.5h", "syntax", "- 1.5h"],
    ["created_at > now() - 9999999w", "limit", "- 9999999w"],
    ["created_at > now(1)", "argument", "now(1)"],
    ["now()", "argument", "now()", "right side"],
    ["now() > created_at", "syntax", ">"]
  ])
})

describe("groups of values", () => {
  const [paid, draft] = [eq("status", "paid"), eq("status", "draft")]
  accepts([
    ["status = (paid OR draft)", anyOf([paid, draft])],
    ["status:(paid OR draft) count = 1", allOf([anyOf([paid, draft]), eq("count", "1")])],
    ["status != (paid OR draft)", not(anyOf([paid, draft]))],
    ["status = (NOT paid)", not(paid)],
    ["name:(a AND b)", allOf([contains("name", "a"), contains("name", "b")])],
    ["name:(a b OR c)", allOf([contains("name", "a"), anyOf([contains("name", "b"), contains("name", "c")])])],
    ["count = (-1 OR 2)", anyOf([eq("count", "-1"), eq("count", "2")])],
    ["count = (null OR 2)", anyOf([isNull("count"), eq("count", "2")])],
    ["created_at > (now() - 1d)", compare("created_at", ">", now(-day))]
  ])
  refuses([
    ["status = (count = 1)", "syntax", "="],
    ["status = ()", "syntax", "()"],
    ["status = (paid", "syntax", "("],
    ["status = (paid OR piad)", "value", "piad"]
  ])
})

describe("errors of the grammar", () => {
  refuses([
    ["status =", "syntax", ""],
    ["status = AND", "syntax", "AND", "quotes"],
    ["status = ,", "syntax", ","],
    ["= paid", "syntax", "=", "field's name"],
    ["status = = paid", "syntax", "= ="],
    ["status == paid", "syntax", "=="],
    ["status <> paid", "syntax", "<>"],
    ["status = paid = draft", "syntax", "="],
    ["\"status\" = paid", "syntax", "\"status\"", "without quotes"],
    ["AND a", "syntax", "AND"],
    ["a AND", "syntax", ""],
    ["a AND AND b", "syntax", "AND"],
    ["a OR OR b", "syntax", "OR"],
    ["NOT", "syntax", ""],
    ["a -", "syntax", ""],
    ["a && b", "syntax", "&&", "Write AND"],
    ["a || b", "syntax", "||", "Write OR"],
    ["()", "syntax", "()"],
    ["(a", "syntax", "("],
    ["a)", "syntax", ")"],
    ["a, b", "syntax", ","],
    ["\"a", "syntax", "\"a", "Close the quote"],
    ["a 'b", "syntax", "'b"],
    ["status = 'paid", "syntax", "'paid"],
    ["status = 'a\\'", "syntax", "'a\\'"],
    ["a\"b\"", "syntax", "\"b\""],
    ["\"a\"b", "syntax", "b"],
    ["in(status, paid", "syntax", "("],
    ["in(status paid)", "syntax", "paid"],
    ["in(status,)", "syntax", ")"],
    ["in(status, = 1)", "syntax", "="],
    ["isNull(name) = true", "syntax", "="],
    ["a\u0001b", "syntax", "\u0001"],
    ["a \0 b", "syntax", "\0"],
    ["a \ud800 b", "syntax", "\ud800"],
    ["name = '\udc00'", "syntax", "\udc00"]
  ])

  it("reports the first one only", () => {
    expect(refusals("nope = 1 AND = 2 AND = 3", filterScope)).toHaveLength(1)
  })
})

describe("fields and functions", () => {
  refuses([
    ["statsu = paid", "unknown-field", "statsu", "Did you mean status?"],
    ["STATUS = paid", "unknown-field", "STATUS", "Did you mean status?"],
    ["nothing_like_it = 1", "unknown-field", "nothing_like_it", "Fields that can be filtered: id, small"],
    ["plain = 1", "not-filterable", "plain"],
    ["name.first = 1", "unknown-field", "name.first"],
    ["foo(name)", "unknown-function", "foo"],
    ["lower(name) = ann", "unknown-function", "lower", "same(field, 'text')"],
    ["NOT UPPER(name) = ANN", "syntax", "="],
    ["isnull(name)", "unknown-function", "isnull", "Did you mean isNull?"],
    ["isNull()", "argument", "isNull()"],
    ["isNull('name')", "argument", "'name'"],
    ["isNull(name, note)", "argument", "isNull(name, note)"],
    ["in(status)", "argument", "in(status)", "in(field, value, …)"],
    ["in('status', paid)", "argument", "'status'"],
    ["in(statsu, paid)", "unknown-field", "statsu", "Did you mean status?"],
    [
      "count in (123, 456)",
      "unknown-field",
      "123",
      "Write in(field, value, …). Fields that can be filtered: id, small"
    ],
    ["count = 1-count", "value", "1-count"]
  ])

  it("reports every error of names and values, at most twenty", () => {
    expect(refusals("nope = 1 AND count = x OR status > 1 foo()", filterScope).map((error) => error.code)).toEqual([
      "unknown-field",
      "value",
      "operator",
      "unknown-function"
    ])
    expect(refusals("nope = 1 ".repeat(50), filterScope)).toHaveLength(20)
    expect(refusals(`in(count${", x".repeat(100)})`, filterScope)).toHaveLength(20)
  })

  it("answers a hidden field byte for byte like an unknown one", () => {
    const secret = makeField({ name: "cost" }, 50)
    const hidden = scopeOf(filterFields)
    const without = scopeOf(filterFields.filter((each) => each !== secret))
    for (const text of ["cost = 1", "in(cost, 1)", "NOT cost:*", "isNull(cost)", "cots = 1"]) {
      expect(JSON.stringify(refusals(text, hidden))).toBe(JSON.stringify(refusals(text, without)))
      expect(JSON.stringify(refusals(text, hidden)).replaceAll("cost", "zzzz")).toBe(
        JSON.stringify(refusals(text.replaceAll("cost", "zzzz"), hidden))
      )
    }
  })

  it("shortens what it repeats of the text", () => {
    const [error] = refusals(`${"\u{1f600}".repeat(5_000)} = 1`, filterScope)
    expect(error!.message.length).toBeLessThan(120)
    expect(error!.message.isWellFormed()).toBe(true)
  })
})

describe("the language of access rules", () => {
  const rules = scopeOf(filterFields, { caller: true })
  const caller = (value: "id" | "tenant"): Operand => ({ of: "caller", value })
  accepts([
    ["name = caller.id", eq("name", caller("id"))],
    ["id = caller.tenant", eq("id", caller("tenant"))],
    ["id != caller.id", not(eq("id", caller("id")))],
    ["key:caller.id", eq("key", caller("id"))],
    ["in(name, caller.id, \"x\")", { op: "in", field: field("name"), values: [caller("id"), literal("x")] }],
    ["name = \"caller.id\"", eq("name", "caller.id")],
    ["plain = 1", eq("plain", "1")],
    ["", always]
  ], rules)
  refuses([
    ["name = caller.email", "value", "caller.email", "caller.tenant"],
    ["created_at = caller.id", "value", "caller.id"],
    ["id < caller.id", "operator", "<"],
    ["name:caller.id", "operator", ":"],
    ["caller.id = name", "unknown-field", "caller.id"]
  ], rules)
  accepts([["name = caller.id", eq("name", "caller.id")]])
  refuses([["id = caller.id", "value", "caller.id"]])
})

describe("places", () => {
  it("of functions that the database may refuse stay with the tree", () => {
    const text = "count = 1 AND NOT (regex(name, 'a') OR similar(note, \"b\"))"
    const tree = Result.getOrThrow(readFilter(text, filterScope))
    const spans = [...conditionsOf(tree, "regex"), ...conditionsOf(tree, "similar")].map(({ span }) => span!)
    expect(spans.map(({ end, start }) => text.slice(start, end))).toEqual(["regex(name, 'a')", "similar(note, \"b\")"])
  })
})

describe("limits", () => {
  const nested = (levels: number): string => "(".repeat(levels) + "a" + ")".repeat(levels)
  const one = eq("count", "1")
  it.each([
    ["parentheses", nested(32), search("a")],
    ["negations", "NOT ".repeat(32) + "a", search("a")],
    ["dashes", "-".repeat(31) + "a", not(search("a"))],
    ["conditions", "count=1 ".repeat(1_000), allOf(Array.from({ length: 1_000 }, () => one))],
    ["values", `in(count${",1".repeat(5_000)})`, within("count", ...Array.from({ length: 5_000 }, () => "1"))],
    ["characters", `name = ${"x".repeat(199_993)}`, eq("name", "x".repeat(199_993))],
    ["characters of a word", "a".repeat(10_000), search("a".repeat(10_000))],
    ["characters around stars", `name = *${"a".repeat(9_998)}*`, {
      op: "match",
      field: field("name"),
      parts: ["", "a".repeat(9_998), ""]
    }],
    // Characters are code points, in every limit.
    ["wide characters to find", `search('${"😀".repeat(10_000)}')`, search("😀".repeat(10_000))],
    ["wide characters around a star", `name = 😀*${"😀".repeat(9_998)}`, {
      op: "match",
      field: field("name"),
      parts: ["😀", "😀".repeat(9_998)]
    }],
    ["wide characters of a pattern", `regex(name, '${"😀".repeat(200)}')`, {
      op: "regex",
      field: field("name"),
      pattern: "😀".repeat(200),
      span: { start: 0, end: 415 }
    }]
  ])("of %s are reached", (_, text, tree) => {
    expect(readFilter(text, filterScope)).toEqual(Result.succeed(tree))
  })

  it.each(
    [
      ["parentheses", nested(33), 32, 33],
      ["10,000 parentheses", nested(10_000), 32, 33],
      ["open parentheses", "(".repeat(200_000), 32, 33],
      ["dashes", "-".repeat(200_000), 32, 33],
      ["negations", "NOT ".repeat(50_000), 128, 131],
      ["mixed levels", "NOT (".repeat(40_000), 80, 83],
      ["calls", "in(".repeat(60_000), 98, 99],
      ["groups", `count = ${"(".repeat(20_000)}`, 40, 41],
      ["conditions", "a ".repeat(100_000), 2_000, 2_001],
      ["alternatives", "a OR ".repeat(40_000), 5_000, 5_001],
      ["values", `in(count${",1".repeat(5_001)})`, 10_008, 10_009],
      ["many values", `in(count${",1".repeat(90_000)})`, 10_008, 10_009],
      ["characters", "a".repeat(200_001), 200_000, 200_001],
      ["characters of a word", "a".repeat(10_001), 0, 10_001],
      ["characters of a phrase", `search('${"a".repeat(10_001)}')`, 7, 10_010],
      ["characters to find", `name:${"a".repeat(10_001)}`, 5, 10_006],
      ["characters around stars", `name = "${"a".repeat(5_000)}*${"a".repeat(5_000)}"`, 7, 10_010],
      ["characters to compare by likeness", `similar(name, '${"a".repeat(10_001)}')`, 14, 10_017],
      ["wide characters to find", `search('${"😀".repeat(10_001)}')`, 7, 20_011],
      ["wide characters of a pattern", `regex(name, '${"😀".repeat(201)}')`, 12, 416]
    ] as const
  )("of %s are one error", async (_, text, start, end) => {
    let errors: ReturnType<typeof refusals> = []
    const took = await cpuMilliseconds(() => errors = refusals(text, filterScope))
    expect(errors.map((error) => [error.code, error.span])).toEqual([["limit", { start, end }]])
    // Linear time: single milliseconds on any machine; the bound only has to catch a square.
    expect(took).toBeLessThan(200)
  })

  it("reads a filter of 200,000 characters in linear time", async () => {
    const condition = `name = "${"x".repeat(180)}" `
    const text = condition.repeat(1_000)
    const took = await cpuMilliseconds(() => expect(Result.isSuccess(readFilter(text, filterScope))).toBe(true))
    expect(took).toBeLessThan(400)
  })
})

it("the hint of isNull() names fields, and not how to write what was written", () => {
  const hints = refusals("isNull(zzzz)", scopeOf([makeField({ name: "album_id", kind: "integer" }, 0)])).map((
    { hint }
  ) => hint)
  expect(hints).toEqual(["Fields that can be filtered: album_id."])
})
