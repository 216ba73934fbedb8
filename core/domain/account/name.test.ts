import { expect, it } from "vitest"
import { shownName } from "./name.ts"

it.each([
  ["Mira", "Mira"],
  ["  Mira\n\tFuchs ", "Mira Fuchs"],
  ["Zoë 👩‍💻", "Zoë 👩 💻"],
  ["אורי", "אורי"],
  // What turns the words around a name, or is not seen.
  ["\u202eariM", "ariM"],
  ["Mi\u2066ra\u2069", "Mi ra"],
  ["\u200b\u3164\u0000", null],
  ["", null],
  ["mira@example.org", null],
  ["Mira <mira@example.org>", null],
  ["mira @ example.org", null],
  ["mira\u200b@example.org", null],
  ["@mira", "@mira"],
  ["x".repeat(100), "x".repeat(100)],
  ["😀".repeat(5_000), `${"😀".repeat(49)}…`],
  ["a\ud800b", "a b"]
])("shows %j as %j", (name, shown) => {
  expect(shownName(name)).toBe(shown)
})
