import { expect, it } from "vitest"
import type { MetaField } from "../../client/meta.ts"
import { isLong } from "./kind.ts"

it.each([
  [{ kind: "text" }, true],
  [{ kind: "text", max: 254 }, false],
  [{ kind: "text", max: 4000 }, true],
  [{ kind: "text", multiline: false }, false],
  [{ kind: "text", max: 4000, multiline: false }, false],
  [{ kind: "text", max: 254, multiline: true }, true],
  [{ kind: "text", relation: "tags" }, false],
  [{ kind: "json" }, true],
  [{ kind: "enum" }, false]
])("shows %o in several lines: %s", (field, long) => {
  expect(isLong(field as unknown as MetaField)).toBe(long)
})
