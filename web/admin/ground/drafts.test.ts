// Where tenants stand at paths, one tab and one person may have the apps of several: what is kept of one form is not another's.
import { beforeEach, expect, it, vi } from "vitest"

beforeEach(() => {
  const storage = {}
  const hidden = { enumerable: false }
  Object.defineProperties(storage, {
    getItem: { ...hidden, value: (name: string) => Reflect.get(storage, name) ?? null },
    setItem: { ...hidden, value: (name: string, text: string) => Reflect.set(storage, name, text) },
    removeItem: { ...hidden, value: (name: string) => Reflect.deleteProperty(storage, name) }
  })
  vi.stubGlobal("sessionStorage", storage)
})

/** The app as it is loaded at a path. */
const appAt = async (path: string) => {
  vi.stubGlobal("document", { documentElement: { dataset: { config: JSON.stringify({ path }) } } })
  vi.resetModules()
  return { ...await import("./drafts.ts"), ...await import("../record/draft-store.ts") }
}

const input = { base: { etag: "e1" }, drafts: { title: { value: "of acme", problem: null } }, rows: {} }

it("unsaved input of one tenant is not in the form of another, for the same person too", async () => {
  const acme = await appAt("/t/acme")
  acme.keepDraftsOf("ann")
  acme.keepDrafts("notes/1", input)
  const globex = await appAt("/t/globex")
  globex.keepDraftsOf("ann")
  expect(globex.keptDrafts("notes/1")).toBeNull()
  expect(globex.hasDrafts()).toBe(false)
  globex.keepDraftsOf(null)
  expect((await appAt("/t/acme")).keptDrafts("notes/1")).toEqual(input)
})

it("unsaved input ends when another person signs in, or nobody is", async () => {
  const app = await appAt("/")
  for (const next of ["bob", null]) {
    app.keepDraftsOf("ann")
    app.keepDrafts("notes/1", input)
    expect(app.hasDrafts()).toBe(true)
    app.keepDraftsOf(next)
    expect([app.keptDrafts("notes/1"), app.hasDrafts()]).toEqual([null, false])
  }
})
