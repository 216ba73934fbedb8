/** The types of the client over a large configuration: 50 resources of 30 fields, compiled by the compiler that users have. */

import { execFile } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, expect, it } from "vitest"

const root = join(import.meta.dirname, "../..")
// Below the project, so that the package finds itself by name.
const folders = join(root, "node_modules", ".cache", `scale-${process.pid}`)
afterAll(() => rmSync(folders, { recursive: true, force: true }))

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

const declare = "../../../../core/domain/declare"

/** Compiles a configuration of so many resources and a client of it. How often the compiler made a type of a generic one. */
const compile = async (count: number): Promise<number> => {
  const folder = join(folders, String(count))
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
    `import { createClient } from "../../../../web/client/index.ts"\nimport type config from "./config.ts"\n`
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
  return Number(/^Instantiations:\s+(\d+)/m.exec(stdout)?.[1])
}

it("compiles in bounded work", async () => {
  // What two resources take is nearly all work on our own sources, of which users have the declarations only.
  const [two, all] = [await compile(2), await compile(50)]
  process.stdout.write(`Instantiations: ${two} with two resources, ${all} with fifty\n`)
  // Work and not time, which depends on the machine: on the one where this was written it took about a second.
  expect(two).toBeGreaterThan(1_000)
  expect(all - two).toBeLessThan(540_000)
})
