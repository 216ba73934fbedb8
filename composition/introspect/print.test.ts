import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import type { DraftedResource } from "./draft.ts"
import { printModule } from "./print.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

const drafted = (number: number): DraftedResource => ({
  name: `table_${number}`,
  table: null,
  description: null,
  key: ["id"],
  softDelete: null,
  version: null,
  readOnly: false,
  closed: [],
  bounds: number === 7 ? [["record.own_7 < 1 || record.own_7 > 9", "own_7", "Must be at least 1 and at most 9."]] : [],
  fields: ["id", `own_${number}`].map((name) => ({
    name,
    column: name,
    kind: { of: "kind", text: "f.integer()" },
    modifiers: []
  })),
  notes: [],
  view: { title: `own_${number}`, group: null, icon: number % 2 === 0 ? "box" : null }
})

it("type-checks as it is printed, however many tables there are", async () => {
  const folder = mkdtempSync(join(tmpdir(), "printed-"))
  try {
    mkdirSync(join(folder, "node_modules"))
    symlinkSync(root, join(folder, "node_modules/resource-admin"), "dir")
    writeFileSync(join(folder, "package.json"), "{\"type\":\"module\"}")
    writeFileSync(
      join(folder, "admin.resources.ts"),
      printModule({ resources: Array.from({ length: 1200 }, (_, number) => drafted(number)), left: [] }, {
        schemas: [],
        tables: [],
        exclude: [],
        views: false
      })
    )
    // Views and change hooks follow from the names of the resources, which one list of them all has to keep.
    writeFileSync(
      join(folder, "admin.config.ts"),
      `import { defineConfig, withResources } from "resource-admin"
import { resources, table_7, views } from "./admin.resources.ts"
export default defineConfig({ resources, views: { ...views, table_7: { ...views.table_7, columns: ["own_7"] } } })
export const plain = defineConfig({ resources, views })
export const replaced = defineConfig({ resources: withResources(resources, table_7) })
export const more = defineConfig({ resources: [...resources] })
// @ts-expect-error This field is another resource's.
export const wrong = defineConfig({ resources, views: { table_7: { columns: ["own_8"] } } })
`
    )
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: { noEmit: true, typeRoots: [join(root, "node_modules/@types")] },
        include: ["*.ts"]
      })
    )
    const child = spawn(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "."], {
      cwd: folder,
      stdio: ["ignore", "pipe", "inherit"]
    })
    const [complaints, [code]] = await Promise.all([text(child.stdout), once(child, "close")])
    expect(complaints).toBe("")
    expect(code).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

it("is plain JavaScript in a file of that name", () => {
  const text = printModule({ resources: [drafted(1)], left: [] }, {
    schemas: [],
    tables: [],
    exclude: [],
    views: false
  }, false)
  expect(text).toContain("export const resources = [\n  table_1\n]\n")
  expect(text).not.toContain(" as const")
})
