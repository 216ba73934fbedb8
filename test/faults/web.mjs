// Faults in modules of the app and its client that need no browser. See scripts/faults.mjs.

export const faults = [
  {
    rule: "integers of 64 bits are exact in the app",
    file: "web/admin/field/parse.ts",
    old: "return fine(bits === 64 ? value.toString() : Number(value))",
    new: "return fine(Number(value))",
    tests: ["web/admin/field/parse.test.ts"]
  },
  {
    rule: "a comma before three digits divides thousands",
    file: "web/admin/field/parse.ts",
    old: "return bare.indexOf(\",\") === comma && !/^-?\\d{1,3},\\d{3}$/.test(bare)",
    new: "return bare.indexOf(\",\") === comma",
    tests: ["web/admin/field/parse.test.ts"]
  },
  {
    rule: "sums are exact",
    file: "web/admin/field/decimal.ts",
    old: "  return print(all.reduce((total, each) => total + each, 0n), scale)",
    new: "  return String(Number(print(all.reduce((total, each) => total + each, 0n), scale)))",
    tests: ["web/admin/field/decimal.test.ts"]
  },
  {
    rule: "averages of negative numbers are rounded half away from zero",
    file: "web/admin/field/decimal.ts",
    old: "(scaled < 0n ? scaled - half : scaled + half)",
    new: "(scaled + half)",
    tests: ["web/admin/field/decimal.test.ts"]
  },
  {
    rule: "amounts of several currencies are not added up in the app",
    file: "web/admin/field/sums.ts",
    old: "currency === null ? null : record[currency.name] ?? null",
    new: "null",
    tests: ["web/admin/field/sums.test.ts"]
  },
  {
    rule: "a merge asks where both sides changed the same field",
    file: "web/admin/merge/merge.ts",
    old: "overlap: theirsChanged && mineChanged && !isSame(current[field], mine)",
    new: "overlap: false",
    tests: ["web/admin/merge/merge.test.ts"]
  },
  {
    rule: "a merge keeps what only others have changed",
    file: "web/admin/merge/merge.ts",
    old: "!mineChanged || isSame(mine, theirs)",
    new: "isSame(mine, theirs)",
    tests: ["web/admin/merge/merge.test.ts"]
  },
  {
    rule: "a draft that waits for a file is not kept as a value",
    file: "web/admin/record/draft-store.ts",
    old: "draft.value === undefined ? [] : [[name, {",
    new: "draft.value === null ? [] : [[name, {",
    tests: ["web/admin/record/draft-store.test.ts"]
  },
  {
    rule: "a row that was removed twice is there again",
    file: "web/admin/record/rows.ts",
    old: "if (before?.removed === true) {",
    new: "if (before?.removed === false) {",
    tests: ["web/admin/record/rows.test.ts"]
  },
  {
    rule: "a row that is as it was is not saved",
    file: "web/admin/record/rows.ts",
    old: "const keep = Object.keys(drafts).length > 0 || before.removed",
    new: "const keep = Object.keys(drafts).length >= 0 || before.removed",
    tests: ["web/admin/record/rows.test.ts"]
  },
  {
    rule: "all but some are selected without those",
    file: "web/admin/list/selection.ts",
    old: "toggled(selection.except, keys, !selected)",
    new: "toggled(selection.except, keys, selected)",
    tests: ["web/admin/list/selection.test.ts"]
  },
  {
    rule: "a second press on a head turns the order around",
    file: "web/admin/list/state.ts",
    old: ": [{ field, descending: true }]\n",
    new: ": [{ field, descending: false }]\n",
    tests: ["web/admin/list/state.test.ts"]
  },
  {
    rule: "a column stands once in a list",
    file: "web/admin/list/state.ts",
    old: "    if (choices.some((choice) => choice.field === field)) continue\n",
    new: "",
    tests: ["web/admin/list/state.test.ts"]
  },
  {
    rule: "a row that entered and changed is one that entered",
    file: "web/admin/live/net.ts",
    old: "before.kind === \"entered\" ? \"entered\" : \"changed\"",
    new: "\"changed\"",
    tests: ["web/admin/live/net.test.ts"]
  },
  {
    rule: "a link of a record has its values encoded",
    file: "web/admin/action/link.ts",
    old: "return encodeURIComponent(text.toWellFormed())",
    new: "return text",
    tests: ["web/admin/action/link.test.ts"]
  },
  {
    rule: "a link with a missing value is not shown",
    file: "web/admin/action/link.ts",
    old: "if (text === \"\" || text === \".\" || text === \"..\") missing = true",
    new: "if (text === \".\" || text === \"..\") missing = true",
    tests: ["web/admin/action/link.test.ts"]
  },
  {
    rule: "a scrolled list of millions reaches its last row",
    file: "web/admin/grid/scale.ts",
    old: "if (top >= physical - edge) return virtual - (physical - top)",
    new: "if (top > physical) return virtual - (physical - top)",
    tests: ["web/admin/grid/scale.test.ts"]
  },
  {
    rule: "the active cell goes the way of the writing",
    file: "web/admin/grid/place.ts",
    old: "return { column: column + forward }",
    new: "return { column: column + 1 }",
    tests: ["web/admin/grid/place.test.ts"]
  },
  {
    rule: "a code is found by a word of its name",
    file: "web/admin/field/codes.ts",
    old: "some((word) => word.startsWith(wanted)) ? 3 : 4",
    new: "some((word) => word === wanted) ? 3 : 4",
    tests: ["web/admin/field/codes.test.ts"]
  },
  {
    rule: "a change of several records lacks no required value",
    file: "web/admin/task/changed.ts",
    old: "draft === null ? field.optional : draft.problem === null",
    new: "draft === null || draft.problem === null",
    tests: ["web/admin/task/changed.test.ts"]
  },
  {
    rule: "a total that is an estimate says so",
    file: "web/admin/list/total.ts",
    old: ": accuracy === \"estimate\"\n    ? t.list.about(format.count(count))",
    new: ": accuracy === \"estimate\"\n    ? format.count(count)",
    tests: ["web/admin/list/total.test.ts"]
  },
  {
    rule: "values in filters of the client are quoted",
    file: "web/client/filter.ts",
    old: "const quoted = (text: string, special = /[\\\\\"*\\n\\r\\t]/g)",
    new: "const quoted = (text: string, special = /[\\\\\"\\n\\r\\t]/g)",
    tests: ["test/web/filter.test.ts"]
  },
  {
    rule: "an OR within an AND is in brackets",
    file: "web/client/filter.ts",
    old: "return this.#joint === \"\" || this.#joint === joint ? this.#text : `(${this.#text})`",
    new: "return this.#text",
    tests: ["test/web/filter.test.ts"]
  },
  {
    rule: "an OR with a filter of everything keeps everything",
    file: "web/client/filter.ts",
    old: "given.some((each) => String(each) === \"\") ? new Filter(\"\") : join(\"OR\", given)",
    new: "join(\"OR\", given)",
    tests: ["test/web/filter.test.ts"]
  },
  {
    rule: "a part of a key is encoded",
    file: "web/client/key.ts",
    old: "parts.map((part) => encodeURIComponent(part)).join(\",\")",
    new: "parts.join(\",\")",
    tests: ["web/client/key.test.ts"]
  },
  {
    rule: "a batch writes to one service",
    file: "web/client/routed.ts",
    old: "if (at !== null && at !== to) {",
    new: "if (at !== null && at === null) {",
    tests: ["web/client/routed.test.ts"]
  }
]
