// Proves that the tests find faults: each row of test/faults/*.mjs plants one in a copy of the project (a text in place of another) and names the tests that
// must fail then. A row whose text is no longer in its file fails: write it anew for the code as it is. `node scripts/faults.mjs WORD …` runs the rows that
// contain a word; `--tree FOLDER` plants them in another checkout, which has its packages installed.
import { spawn, spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const longestMs = 300_000

const args = process.argv.slice(2)
const at = args.indexOf("--tree")
const tree = at < 0 ? root : resolve(args[at + 1])
const words = at < 0 ? args : [...args.slice(0, at), ...args.slice(at + 2)]

const folder = join(root, "test", "faults")
const tables = await Promise.all(
  readdirSync(folder).filter((name) => name.endsWith(".mjs")).map((name) =>
    import(pathToFileURL(join(folder, name)).href)
  )
)
/** Each: `rule` that the fault breaks, `file`, the text `old` that stands there once, the text `new` in its place, and the `tests` that find it. */
const faults = tables.flatMap((table) => table.faults).filter((fault) =>
  words.length === 0 || words.some((word) => JSON.stringify(fault).includes(word))
)

/** A copy of what git knows of the tree; packages are those of the tree. */
const copyTree = () => {
  const copy = mkdtempSync(join(tmpdir(), "resource-admin-faults-"))
  const { stdout } = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: tree })
  for (const path of stdout.toString().split("\0")) {
    if (path === "" || !existsSync(join(tree, path))) continue
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    cpSync(join(tree, path), join(copy, path))
  }
  symlinkSync(join(tree, "node_modules"), join(copy, "node_modules"), "junction")
  return copy
}

// The tests find the faults as `npm test` runs them: with its seeds and its number of cases, also where a deep run plants them.
const { TEST_DEPTH: _depth, TEST_SEED: _seed, ...env } = process.env

/** Runs tests in a copy; gives what failed, as titles, and what was printed. */
const failures = async (copy, tests) => {
  const report = join(copy, "faults-report.json")
  rmSync(report, { force: true })
  const child = spawn(
    process.execPath,
    [
      join(copy, "node_modules", "vitest", "vitest.mjs"),
      "run",
      "--configLoader=native",
      "--bail=1",
      "--maxWorkers=1",
      "--reporter=json",
      `--outputFile=${report}`,
      ...tests
    ],
    { cwd: copy, env, stdio: ["ignore", "pipe", "pipe"], timeout: longestMs, killSignal: "SIGKILL" }
  )
  let printed = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => void (printed += text))
  await new Promise((done) => child.once("close", done))
  if (!existsSync(report)) return { titles: [], printed }
  const { testResults } = JSON.parse(readFileSync(report, "utf8"))
  const titles = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName)
  )
  // A set-up that fails is a finding too; a file that does not load is none.
  const broken = testResults.filter((file) =>
    file.status === "failed" && file.assertionResults.length > 0 && titles.length === 0
  )
  return { titles: [...titles, ...broken.map(({ message }) => message.split("\n", 1)[0])], printed }
}

/** Plants one fault and says why it was not found; null when it was. */
const tryFault = async (copy, fault) => {
  const path = join(copy, fault.file)
  const text = existsSync(path) ? readFileSync(path, "utf8") : ""
  const places = text.split(fault.old).length - 1
  if (places !== 1) return `${fault.file} has the text ${places} times`
  writeFileSync(path, text.replace(fault.old, () => fault.new))
  try {
    const { printed, titles } = await failures(copy, fault.tests)
    return titles.length > 0 ? null : `no test of ${fault.tests.join(", ")} failed\n${printed.slice(-600)}`
  } finally {
    writeFileSync(path, text)
  }
}

let found = 0
const missed = []
const waiting = [...faults]
const work = async () => {
  const copy = copyTree()
  try {
    for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
      const began = Date.now()
      const why = await tryFault(copy, fault)
      if (why === null) found += 1
      else missed.push(`${fault.rule} (${fault.file}): ${why}`)
      const seconds = Math.round((Date.now() - began) / 1000)
      process.stdout.write(`${why === null ? "found " : "MISSED"} ${String(seconds).padStart(3)} s  ${fault.rule}\n`)
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
await Promise.all(Array.from({ length: Math.min(2, availableParallelism(), faults.length) }, work))
for (const line of missed) process.stdout.write(`\n${line}\n`)
process.exitCode = missed.length === 0 && found > 0 ? 0 : 1
process.stdout.write(`\n${found} passed, ${missed.length} failed\n`)
