// The addresses of the app's own pages: the service answers each that the app leads to with the app, and not with a 404.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { ownPages } from "../../adapters/http/web-app.ts"

const app = join(import.meta.dirname, "../../web/admin")

it("are all known to the service", () => {
  const led = globSync("**/*.{ts,tsx}", { cwd: app, exclude: (name) => name.includes(".test.") }).flatMap((file) =>
    [...readFileSync(join(app, file), "utf8").matchAll(/["'`/]\/?-\/([a-z][a-z-]*)/g)].map(([, name]) => name!)
  )
  // Files of the app, and the mails of development, are no pages of the app.
  const pages = new Set(led.filter((name) => name !== "assets" && name !== "mail"))
  expect([...pages].filter((name) => !ownPages.has(name))).toEqual([])
  expect([...pages]).toEqual(
    expect.arrayContaining(["account", "audit", "import", "jobs", "tasks", "users", "webhooks"])
  )
})
