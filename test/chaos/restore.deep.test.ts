// Backup and restore as the guide of operations has them, in the middle of load: a base backup and the log of the database, then a copy of the files. Both are
// lost, and restored to a moment. What was there at that moment is there again with its files, also what was deleted later.
import { spawnSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Client } from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeProject } from "../cli/support.ts"
import { openCluster, type TestCluster } from "../support/cluster.ts"
import { startService, testSecret } from "../support/composed.ts"
import { filesConfig, filesSchema } from "./files-server.ts"
import { admin, call, filesIn, killFiles, startFiles, textOf, upload } from "./files-stage.ts"
import { untilTrue } from "./fixture.ts"

let outer: string
let archive: string
let files: string
let cluster: TestCluster
beforeAll(async () => {
  outer = mkdtempSync(join(tmpdir(), "chaos-restore-"))
  archive = join(outer, "archive")
  files = join(outer, "files")
  mkdirSync(archive)
  mkdirSync(files)
  // The server is another user than the test.
  for (const folder of [outer, archive]) chmodSync(folder, 0o777)
  cluster = await openCluster({
    settings: {
      archive_mode: "on",
      archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`
    }
  })
  await cluster.execute(filesSchema)
})
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
  rmSync(outer, { recursive: true, force: true })
})

/** A file for the server, of the server's user. */
const writeFor = (path: string, text: string): void => {
  appendFileSync(path, text)
  const { gid, uid } = statSync(cluster.data)
  chownSync(path, uid, gid)
}

/** Copies a folder as it is. What goes away while it is read is not needed. */
const copy = (from: string, to: string): void => {
  const { status, stderr } = spawnSync("cp", ["-a", from, to], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C" }
  })
  const wrong = stderr.split("\n").filter((line) => line !== "" && !line.endsWith("No such file or directory"))
  expect(wrong).toEqual([])
  expect([0, 1]).toContain(status)
}

/** A base backup while the server works, as `pg_basebackup` makes it. */
const backUp = async (to: string): Promise<void> => {
  const client = new Client({ connectionString: cluster.url })
  await client.connect()
  try {
    await client.query("select pg_backup_start('restore test', fast => true)")
    copy(cluster.data, to)
    const { rows: [row] } = await client.query<{ labelfile: string }>(
      "select * from pg_backup_stop(wait_for_archive => false)"
    )
    rmSync(join(to, "postmaster.pid"), { force: true })
    for (const name of readdirSync(join(to, "pg_wal"))) rmSync(join(to, "pg_wal", name), { recursive: true })
    writeFor(join(to, "backup_label"), row!.labelfile)
  } finally {
    await client.end()
  }
}

const scalar = async (sql: string): Promise<string> => (await cluster.rows(sql))[0]![0]!

/** A create or a delete of a record. Numbers tell the order of what happened in this process. */
interface Step {
  readonly id: string
  readonly text: string
  readonly created: readonly [number, number]
  deleted: readonly [begun: number, done: number] | null
}

it("brings back what was there at a moment, with its files", async () => {
  let clock = 0
  const tick = (): number => ++clock
  const steps: Step[] = []
  let server = await startFiles(cluster.url, files)
  let going = true
  const work = async (number: number): Promise<void> => {
    for (let at = 0; going; at++) {
      const begun = tick()
      const text = textOf(20_000 + 1_000 * at, `${number} ${at}`)
      const file = await upload(server.url, "file", text)
      const { id } = await call(server.url, "POST", "docs", { file })
      steps.push({ id: id as string, text, created: [begun, tick()], deleted: null })
      const old = steps.find((step) => step.deleted === null && Number(step.id) % 4 === number)
      if (at % 3 !== 2 || old === undefined) continue
      const started = tick()
      old.deleted = [started, Number.POSITIVE_INFINITY]
      await call(server.url, "DELETE", `docs/${old.id}`)
      old.deleted = [started, tick()]
    }
  }
  const isDone = (count: number, from: number) => async (): Promise<boolean> =>
    steps.filter(({ created: [begun] }) => begun > from).length >= count &&
    steps.some(({ deleted }) => deleted !== null && deleted[0] > from && deleted[1] < clock)
  const load = Promise.all([0, 1, 2, 3].map(work))

  await untilTrue(isDone(8, 0))
  await backUp(join(outer, "base"))
  await untilTrue(isDone(8, clock))
  const before = tick()
  const moment = await scalar("select clock_timestamp()::text")
  const after = tick()
  await untilTrue(isDone(12, after))
  going = false
  await load

  // The files after the database: they hold whatever the database names.
  copy(files, join(outer, "files-backup"))
  const last = await scalar("select pg_walfile_name(pg_switch_wal())")
  await untilTrue(async () => existsSync(join(archive, last)))

  await killFiles(server)
  await cluster.stop("kill")
  rmSync(cluster.data, { recursive: true })
  rmSync(files, { recursive: true })

  copy(join(outer, "base"), cluster.data)
  copy(join(outer, "files-backup"), files)
  writeFor(join(cluster.data, "recovery.signal"), "")
  writeFor(
    join(cluster.data, "postgresql.auto.conf"),
    `restore_command = 'cp ${archive}/%f %p'
recovery_target_time = '${moment}'
recovery_target_action = 'promote'
`
  )
  await cluster.start()
  await untilTrue(async () => await scalar("select pg_is_in_recovery()") === "false")

  const rows = new Set((await cluster.rows("select id from docs")).map(([id]) => id!))
  const there = steps.filter(({ created, deleted }) => created[1] < before && (deleted === null || deleted[0] > after))
  const gone = steps.filter(({ created, deleted }) => created[0] > after || (deleted !== null && deleted[1] < before))
  expect(there.filter(({ id }) => !rows.has(id))).toEqual([])
  expect(gone.filter(({ id }) => rows.has(id))).toEqual([])
  // The load was such that both are more than nothing, and records that were deleted later came back.
  expect(there.some(({ deleted }) => deleted !== null)).toBe(true)
  expect(gone.length).toBeGreaterThan(4)

  server = await startFiles(cluster.url, files)
  for (const id of rows) {
    const { file } = await call(server.url, "GET", `docs/${id}`)
    const answer = await fetch(server.url + (file as { readonly url: string }).url)
    expect([id, answer.status]).toEqual([id, 200])
    const text = await answer.text()
    const step = steps.find((step) => step.id === id)
    if (step !== undefined) expect(text === step.text, id).toBe(true)
  }
  const file = await upload(server.url, "file", "a new one")
  const { id } = await call(server.url, "POST", "docs", { file })
  // No key is given twice, also none of a record that is gone.
  expect(rows.has(id as string)).toBe(false)

  await using project = makeProject({ DATABASE_URL: cluster.url, AUTH_SECRET: testSecret })
  project.write(
    "admin.config.ts",
    `import { filesConfig } from ${JSON.stringify(join(dirname(import.meta.filename), "files-server.ts"))}
export default filesConfig(${JSON.stringify(files)})
`
  )
  const check = await project.quick("files", "check", "--json")
  expect([check.code, check.stdout]).toEqual([0, expect.stringContaining("\"found\":")])
  await killFiles(server)

  // Deletes that were due after the moment are in the copy of the files. They take nothing that a record holds again.
  const later = await startService("postgres", { config: filesConfig(files), schema: filesSchema, rows: {} }, {
    through: async () => ({ url: cluster.url, close: async () => {} }),
    files: { now: () => Date.now() + 26 * 3_600_000 }
  })
  try {
    expect((await later.call(admin, "POST", "/api/files:cleanup")).status).toBe(200)
  } finally {
    await later.close()
  }
  const held = (await cluster.rows("select file from docs")).map(([value]) => /^private:([^?]+)/.exec(value!)![1]!)
  const left = new Set(filesIn(files))
  expect(held.filter((path) => !left.has(path))).toEqual([])
})
