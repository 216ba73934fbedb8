/** What may be said of plugins: addresses of manifests, and components of views. */

import { expect, it } from "vitest"
import { app, refusalLines } from "../../../test/support/refusals.ts"

const fix = "Write plugins: [\"https://plugins.example.com/map/manifest.json\"], or false."

it("takes https, http of this machine, and paths of the own host", () => {
  const plugins = [
    "https://plugins.example.com/map/manifest.json",
    "http://localhost:5180/manifest.json",
    "http://127.0.0.1:5180/a/manifest.json",
    "/plugins/map/manifest.json"
  ]
  expect(refusalLines(app({ options: { plugins } }))).toEqual([])
  expect(refusalLines(app({ options: { plugins: false } }))).toEqual([])
})

it.each([
  "http://plugins.example.com/manifest.json",
  "//plugins.example.com/manifest.json",
  "/../\\plugins",
  "ftp://plugins.example.com/manifest.json",
  "https://ann:secret@plugins.example.com/manifest.json",
  "https://plugins.example.com/manifest.json?v=1",
  "https://plugins.example.com/manifest.json#a",
  "https://plugins.example.com/a;script-src *",
  "https://plugins.example.com/a b/manifest.json",
  "javascript:alert(1)",
  "manifest.json",
  7,
  null
])("refuses %j", (address) => {
  const [line, ...more] = refusalLines(app({ options: { plugins: [address] } }))
  expect(line).toMatch(/^config: options\.plugins\[0\] /)
  expect(line?.endsWith(fix)).toBe(true)
  expect(line).not.toContain("secret")
  expect(more).toEqual([])
})

it("refuses a manifest that is listed twice, and what is no list", () => {
  const twice = ["/map/manifest.json", "/map/manifest.json"]
  expect(refusalLines(app({ options: { plugins: twice } }))[0]).toContain("options.plugins[1] is listed twice.")
  expect(refusalLines(app({ options: { plugins: "x" } }))[0]).toContain("not a list of at most 50 manifests")
})

it("refuses components of fields that are none, and names that are none", () => {
  const views = (view: object): readonly string[] => refusalLines(app({ views: { a: view } }))
  expect(views({ cells: { name: "map" }, inputs: { total: "stars" } })).toEqual([])
  expect(views({ cells: { nmae: "map" } })[0]).toContain("which is not a field")
  expect(views({ inputs: { name: "<b>" } })[0]).toContain("inputs.name is")
  expect(views({ cells: ["name"] })[0]).toContain("not an object")
})
