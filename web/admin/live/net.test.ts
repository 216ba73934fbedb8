import { expect, it } from "vitest"
import { netOf, type Pending } from "./net.ts"

const pending = (kind: Pending["kind"]): Pending => ({ kind, operation: "update" })

it.each<[Pending["kind"] | undefined, Pending["kind"], Pending["kind"]]>([
  [undefined, "entered", "entered"],
  [undefined, "changed", "changed"],
  [undefined, "left", "left"],
  [undefined, null, null],
  ["entered", "changed", "entered"],
  // It may have been there before it was told as entered.
  ["entered", "left", "left"],
  ["changed", "changed", "changed"],
  ["changed", "left", "left"],
  ["left", "entered", "changed"],
  ["changed", "entered", "changed"],
  // What is not known is asked.
  [null, "left", "left"],
  ["left", null, null]
])("%s, then %s: %s", (before, now, net) => {
  expect(netOf(before === undefined ? undefined : pending(before), pending(now)).kind).toBe(net)
})
