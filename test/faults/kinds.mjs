// Faults in the kinds of PostgreSQL: how their values are read, compared and written. See scripts/faults.mjs.

export const faults = [
  {
    rule: "intervals compare by months of thirty days",
    file: "core/domain/value/interval.ts",
    old: "(parts.months * 30n + parts.days)",
    new: "(parts.months * 31n + parts.days)",
    tests: ["core/domain/value/exact.test.ts"]
  },
  {
    rule: "an interval holds what the database can hold",
    file: "core/domain/value/interval.ts",
    old: "!isInt(parts.months, 32)",
    new: "!isInt(parts.months, 64)",
    tests: ["core/domain/value/exact.test.ts"]
  },
  {
    rule: "networks compare by their common part before their prefixes",
    file: "core/domain/value/network.ts",
    old: "differ(Math.min(left.bits, right.bits)) || left.bits - right.bits ||",
    new: "left.bits - right.bits ||",
    tests: ["core/domain/value/exact.test.ts"]
  },
  {
    rule: "the last integer is contained without a value after it",
    file: "core/domain/value/range.ts",
    old: "after === null ? `[${cell},)`",
    new: "after === null ? `[${cell},${cell}]`",
    tests: ["core/domain/value/exact.test.ts"]
  },
  {
    rule: "an open lower end begins behind its value",
    file: "core/domain/value/range.ts",
    old: "isIn ? 0 : isLow ? 1 : -1",
    new: "isIn ? 0 : isLow ? -1 : -1",
    tests: ["core/domain/value/exact.test.ts"]
  },
  {
    rule: "money is compared without rounding",
    file: "adapters/postgres/compile-filter.ts",
    old: "field.kind === \"money\" && (value.of !== \"literal\" || !fitsMoney(field, value.text))",
    new: "field.kind === \"money\" && value.of !== \"literal\"",
    tests: ["test/http/kinds.test.ts"]
  },
  {
    rule: "intervals are read as durations, whatever the database's style is",
    file: "adapters/postgres/connection.ts",
    old: "  intervalstyle: \"iso_8601\",\n",
    new: "",
    tests: ["test/postgres/kinds.test.ts"]
  },
  {
    rule: "changes are captured with intervals as durations",
    file: "adapters/postgres/capture.ts",
    old: "has(\"interval\", \"native\") ?",
    new: "has() ?",
    tests: ["test/postgres/changes.test.ts"]
  },
  {
    rule: "empty bytes and no bytes have different versions",
    file: "core/domain/read/etag.ts",
    old: "  kind === \"bytes\" || kind === \"native\"\n",
    new: "  kind === \"native\"\n",
    tests: ["core/domain/read/etag.test.ts"]
  },
  {
    rule: "a type whose input is no plain refusal is not written",
    file: "core/domain/compile/field.ts",
    old: "!readOnly && !isWritableNative(type)",
    new: "!readOnly && type === \"\"",
    tests: ["core/domain/compile/field.test.ts"]
  },
  {
    rule: "the digits of money are those of the database",
    file: "core/domain/compile/facts.ts",
    old: "column.scale !== null && column.scale !== field.scale",
    new: "column.scale !== null && column.scale === -1",
    tests: ["core/domain/compile/facts.test.ts"]
  }
]
