/** The commands of the guides to projects are true: pasted one after the other, they make a project, serve it, and print what the pages say. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { findProgram } from "../../scripts/programs.mjs"
import { musicSchema } from "../cli/music.ts"
import { freePort } from "../support/cluster.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"
import { examplesOf } from "./blocks.ts"
import { runLines } from "./shell.ts"

let folder = ""
const databases: TestDatabase[] = []

const open = async (schema = ""): Promise<TestDatabase> => {
  const database = await openDatabase(schema)
  databases.push(database)
  return database
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "guides-"))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  for (const database of databases) await database.drop()
})

describe.skipIf(findProgram("curl") === null)("a project", () => {
  it("begins empty or from a database, and is built and served", async () => {
    const port = String(await freePort())
    const mine = await open()
    const existing = await open(musicSchema)
    const start = examplesOf("docs/guides/getting-started.md", "sh")
    const deployed = examplesOf("docs/guides/deployment.md", "sh")
    const printed = await runLines([...start.slice(0, 2), ...deployed, ...start.slice(2)], {
      folder,
      env: { DATABASE_URL: mine.url, PORT: port },
      given: { "localhost:5173": `localhost:${port}`, "postgres://me:secret@localhost/shop": `'${existing.url}'` }
    })
    expect(printed[1]).toMatch(/"title":"First".*\n?.*"items":\[\{.*"title":"First"/)
    expect(readFileSync(join(folder, "shop/shop/admin.resources.ts"), "utf8")).toContain("defineResource(\"artist\"")
  })

  it("is an existing database's, and follows its changes", async () => {
    const port = String(await freePort())
    const music = await open(`${musicSchema}
      alter table invoice add column billing_state varchar(40);
      ${examplesOf("docs/guides/existing-database.md", "sql").map(({ text }) => text).join("\n")}`)
    const printed = await runLines(examplesOf("docs/guides/existing-database.md", "sh"), {
      folder,
      env: { PORT: port },
      given: { "localhost:5173": `localhost:${port}`, "postgres://app:secret@localhost:5432/music": `'${music.url}'` }
    })
    const [notes, refused] = examplesOf("docs/guides/existing-database.md", "text").map(({ text }) => text)
    for (const line of notes!.trimEnd().split("\n")) expect(printed[4]).toContain(line)

    const generated = join(folder, "music-admin/admin.resources.ts")
    const declared = readFileSync(generated, "utf8")
    writeFileSync(
      generated,
      declared.replace(
        /^( *composer: .*)\.optional\(\)(.*)$/m,
        "$1$2\n    price: f.decimal({ precision: 10, scale: 2 }),"
      )
    )
    const [said] = await runLines([{
      ...examplesOf("docs/guides/existing-database.md", "sh")[0]!,
      text: "npx service serve 2>&1 || true\n"
    }], {
      folder: join(folder, "music-admin"),
      env: { PORT: port, DATABASE_URL: music.url }
    })
    expect(said).toContain(refused)
  })
})
