// `npm run test:deep`: what `npm test` has no time for, in parts that can be named (`npm run test:deep -- chaos npm`). Random tests run all their cases from
// a fresh seed, which is printed; TEST_SEED repeats it. The whole takes at most 60 minutes on two processors: what is not done by then has failed.
// It ends with one line, `N passed, N failed`.
import { spawn, spawnSync } from "node:child_process"
import { randomInt } from "node:crypto"
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { findProgram, programs } from "./programs.mjs"
import { checkTypes, explain, runTests } from "./test.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const seed = process.env.TEST_SEED ?? String(randomInt(2 ** 31))
const env = { TEST_DEPTH: "deep", TEST_SEED: seed }
const endsAt = Date.now() + 3_600_000

const allFiles = []

const tests = async (args, more = {}) => {
  const { failed, files, passed } = await runTests(args, { ...env, ...more })
  allFiles.push(...files)
  return { passed, failed }
}

/** A program of this project that says by its exit code whether all is well: it counts as one test. */
const program = (file, args = []) => {
  const { error, status } = spawnSync(process.execPath, [...process.execArgv, join(root, file), ...args], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
    timeout: Math.max(1, endsAt - Date.now())
  })
  if (error !== undefined) process.stderr.write(`${file}: ${error.message}\n`)
  return status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }
}

/** Where Debian and others put each version of PostgreSQL. */
const homes = ["/usr/lib/postgresql", "/usr/local/pgsql"].filter(existsSync).flatMap((
  folder
) => [folder, ...readdirSync(folder).map((version) => join(folder, version))]).filter((folder) =>
  existsSync(join(folder, "bin", "initdb"))
)

/** Gives the tests that need a database a server of one installed version, for as long as they run. */
const onServer = async (home) => {
  // PostgreSQL refuses to run as root.
  const ids = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const folder = mkdtempSync(join(tmpdir(), "resource-admin-postgres-"))
  const data = join(folder, "data")
  mkdirSync(data)
  if (ids.uid !== undefined) { for (const path of [folder, data]) chownSync(path, ids.uid, ids.gid) }
  let server
  try {
    const made = spawnSync(
      join(home, "bin", "initdb"),
      ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"],
      { cwd: folder, encoding: "utf8", ...ids }
    )
    if (made.status !== 0) throw new Error(`initdb of ${home}: ${made.stderr}`)
    const settings = { listen_addresses: "", unix_socket_directories: folder, max_connections: 200, fsync: "off" }
    server = spawn(
      join(home, "bin", "postgres"),
      ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      { cwd: folder, stdio: ["ignore", "ignore", "ignore"], ...ids }
    )
    const socket = join(folder, ".s.PGSQL.5432")
    while (!existsSync(socket) && server.exitCode === null) await new Promise((done) => setTimeout(done, 50))
    return await tests(
      ["test/contracts", "test/postgres", "test/queue", "test/auth", "test/http/reads", "test/http/writes"],
      {
        TEST_POSTGRES_URL: `postgres://postgres@/postgres?host=${folder}&port=5432`
      }
    )
  } finally {
    if (server !== undefined && server.exitCode === null) {
      const ended = new Promise((done) => server.once("exit", done))
      server.kill("SIGQUIT")
      await ended
    }
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The parts, in the order in which they run. */
const parts = {
  tests: {
    what: "all tests but those of the other parts, with all random cases",
    run: () => tests(["--project=code", "--project=alone"])
  },
  browser: {
    what: "the admin app: every page in every look, in a whole browser",
    run: () => {
      const whole = findProgram("chromium", programs.chromium.names.filter((name) => !name.includes("headless")))
      return tests(["--project=browser"], whole === null ? {} : { CHROMIUM_PATH: whole })
    }
  },
  chaos: { what: "every fault many times and for longer", run: () => tests(["--project=chaos"]) },
  cluster: {
    what: "the primary of a cluster is lost under load, three times, or twenty where only this is run",
    run: () => tests(["--project=cluster"], { CLUSTER_ROUNDS: names.includes("cluster") ? "20" : "3" })
  },
  faults: { what: "faults planted in the code: each is found", run: () => program("scripts/faults.mjs") },
  npm: { what: "every npm on every Node", run: () => program(".ci/npm.mjs", ["--all"]) },
  postgres: {
    what: "what touches the database, on every PostgreSQL installed here",
    run: async () => {
      if (homes.length === 0) {
        process.stdout.write("No other PostgreSQL is installed (on Debian: apt-get install postgresql).\n")
      }
      const sum = { passed: 0, failed: 0 }
      for (const home of homes) {
        process.stdout.write(`\n-- ${home}\n`)
        const { failed, passed } = await onServer(home)
        sum.passed += passed
        sum.failed += failed
      }
      return sum
    }
  },
  replicas: {
    what: "the HTTP tests with every read on the way to a replica, which is the database itself",
    run: () => tests(["test/http/reads", "test/http/writes"], { TEST_REPLICAS: "self" })
  },
  soak: {
    what: "five minutes of mixed traffic; nothing may grow",
    run: () => program("test/chaos/soak.ts", ["300"])
  }
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0) {
  process.stderr.write(`There is no part ${unknown.join(", ")}. The parts are:\n`)
  for (const [name, { what }] of Object.entries(parts)) process.stderr.write(`  ${name.padEnd(9)} ${what}\n`)
  process.exit(1)
}

process.stdout.write(`Seed ${seed}. TEST_SEED=${seed} repeats this run.\n`)
const types = await checkTypes()
process.stdout.write(`\n== Types\n${types.printed}`)
const sum = { passed: 0, failed: types.right ? 0 : 1 }
const lines = []
for (const [name, { run, what }] of Object.entries(parts)) {
  if (names.length > 0 && !names.includes(name)) continue
  process.stdout.write(`\n==== ${name}: ${what}\n`)
  const began = Date.now()
  const late = began > endsAt
  const { failed, passed } = late ? { failed: 1, passed: 0 } : await run()
  const minutes = ((Date.now() - began) / 60_000).toFixed(1)
  lines.push(
    `${name.padEnd(9)} ${minutes.padStart(5)} min  ${late ? "no time left" : `${passed} passed, ${failed} failed`}`
  )
  sum.passed += passed
  sum.failed += failed
}
explain(allFiles)
process.stdout.write(`\n== Parts (seed ${seed})\n${lines.join("\n")}\n`)
process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1
process.stdout.write(`\n${sum.passed} passed, ${sum.failed} failed\n`)
