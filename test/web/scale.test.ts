/** The types of the client over a large configuration: 50 resources of 30 fields, compiled by the compiler that users have. */

import { execFile } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, expect, it } from "vitest"

const root = join(import.meta.dirname, "../..")
// Below the project, so that the package finds itself by name.
const folder = join(root, "node_modules", ".cache", `scale-${process.pid}`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const fields = [
  "id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable()",
  "kind: f.enum([\"a\", \"b\", \"c\"]).filterable().default(\"a\")",
  "updated_at: f.timestamp()",
  ...Array.from({ length: 9 }, (_, n) => `text${n}: f.text().max(100).optional().searched().filterable().sortable()`),
  ...Array.from(
    { length: 9 },
    (_, n) => `amount${n}: f.decimal({ precision: 12, scale: 2 }).filterable().default("0")`
  ),
  ...Array.from({ length: 6 }, (_, n) => `at${n}: f.timestamp().optional().filterable().sortable()`)
]

const resource = (n: number): string => {
  const to = [1, 2, 3].filter((back) => n - back >= 0)
    .map((back) => `to${back}_id: relation(r${n - back}).inverse("from${n}_${back}").filterable()`)
  const rest = Array.from({ length: 30 - fields.length - to.length }, (_, m) => `flag${m}: f.boolean().default(false)`)
  return `const r${n} = defineResource("r${n}", { primaryKey: "id", version: "updated_at", fields: {\n${
    [...fields, ...to, ...rest].join(",\n")
  } } })`
}

const count = 50
const declare = "../../../core/domain/declare"

it("compiles in bounded work", async () => {
  mkdirSync(folder, { recursive: true })
  const all = Array.from({ length: count }, (_, n) => n)
  writeFileSync(
    join(folder, "config.ts"),
    // The files that the published declarations are made of; the package's whole source is nobody's to check but ours.
    `import { defineConfig } from "${declare}/config.ts"\nimport { f, relation } from "${declare}/field.ts"\n`
      + `import { defineResource } from "${declare}/resource.ts"\n${all.map(resource).join("\n")}\n`
      + `export default defineConfig({ resources: [${all.map((n) => `r${n}`).join(", ")}] })\n`
  )
  writeFileSync(
    join(folder, "use.ts"),
    `import { createClient } from "../../../web/client/index.ts"\nimport type config from "./config.ts"\n`
      + `const client = createClient<typeof config>({ baseUrl: "http://x" })\n`
      + all.map((n) =>
        `{ const c = client.resource("r${n}"); const { items } = await c.list({ filter: (o) => o.kind.eq("a"), order_by: "text1 desc", expand: [${
          n > 2 ? `"to1", "to1.to2"` : ""
        }] }); await c.update(items[0]!.id, { text1: items[0]!.text2 }, { etag: items[0]!.etag })\n`
        + `// @ts-expect-error\nitems[0]!.nothing\n`
        + `// @ts-expect-error\nawait c.list({ filter: (o) => o.amount1.contains("x") })\n`
        + `// @ts-expect-error\nawait c.create({ kind: "d"${n > 0 ? ", to1_id: \"1\"" : ""} })\n}`
      ).join("\n")
  )
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      include: ["*.ts"],
      exclude: [],
      compilerOptions: { extendedDiagnostics: true }
    })
  )
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc")
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, "-p", folder])
    .catch((error: { readonly stdout: string }) => Promise.reject(new Error(error.stdout)))
  const figure = (name: string): number => Number(new RegExp(`^${name}:\\s+([\\d.]+)`, "m").exec(stdout)?.[1])
  // Work and not time, which depends on the machine: on the one where this was written it took about a second.
  process.stdout.write(
    stdout.split("\n").filter((line) => /Instantiations|Total time|Memory/.test(line)).join("\n") + "\n"
  )
  expect(figure("Instantiations")).toBeGreaterThan(1_000)
  expect(figure("Instantiations")).toBeLessThan(650_000)
})
