// Runs every check that `npm test` stands for: the types, then all tests (or those named as arguments). It ends with
// one line, `N passed, N failed`, and with exit code 0 only if something was tested and nothing failed. A failure that
// is no test counts as one: wrong types, a test file that does not load, an error outside of any test. Tests that were
// skipped are listed, with the system programs that are missing for them; in CI a missing program is a failure.
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { missingPrograms } from "./programs.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packages = join(root, "node_modules")

/** Runs a JavaScript program; gives its exit code, where a signal is 1. */
const run = (file, options) => {
  const ended = spawnSync(process.execPath, [file, ...options], { cwd: root, stdio: "inherit" })
  if (ended.error) throw ended.error
  return ended.status ?? 1
}

const section = (title) => process.stdout.write(`\n== ${title}\n`)

if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(`Tests need Node 24, this is ${process.versions.node}: start them with \`npm test\`.\n`)
  process.exit(1)
}

section("Types")
const compiler = join(packages, "typescript", "bin", "tsc")
const types = run(compiler, ["--noEmit", "-p", "."]) + run(compiler, ["--noEmit", "-p", "web"]) +
  run(compiler, ["--noEmit", "-p", "test/browser/admin"])
if (types === 0) process.stdout.write("no errors\n")

section("Tests")
const folder = mkdtempSync(join(tmpdir(), "resource-admin-test-"))
const report = join(folder, "report.json")
// Loaded by Node itself, vitest's configuration needs no temporary file in a folder that may be somebody else's.
const options = [
  "run",
  "--configLoader=native",
  "--allowOnly=false",
  "--reporter=default",
  "--reporter=json",
  `--outputFile.json=${report}`
]
let passed = 0
let failed = types === 0 ? 0 : 1
/** Skipped tests: how many of each file, and what they are called there. */
const skipped = new Map()
try {
  const code = run(join(packages, "vitest", "vitest.mjs"), [...options, ...process.argv.slice(2)])
  if (existsSync(report)) {
    const result = JSON.parse(readFileSync(report, "utf8"))
    for (const file of result.testResults) {
      const count = (...states) => file.assertionResults.filter((each) => states.includes(each.status)).length
      passed += count("passed")
      const left = file.assertionResults.filter(({ status }) =>
        ["skipped", "pending", "todo", "disabled"].includes(status)
      )
      if (left.length > 0) {
        const titles = new Set(left.map(({ ancestorTitles, title }) => [...ancestorTitles, title][0] ?? title))
        skipped.set(relative(root, file.name), { count: left.length, titles: [...titles] })
      }
      failed += count("failed")
      if (file.status === "failed" && count("failed") === 0) failed += 1
    }
  }
  if (code !== 0 && failed === (types === 0 ? 0 : 1) && passed > 0) failed += 1
  if (passed + failed === 0) process.stderr.write("No test ran, so nothing is known.\n")
  process.exitCode = code === 0 && failed === 0 && passed > 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

const named = process.argv.length > 2
const missing = missingPrograms()
if (skipped.size > 0 || (missing.length > 0 && !named)) {
  section("Not run")
  for (const line of missing) process.stdout.write(`${line}\n`)
  for (const [file, { count, titles }] of skipped) {
    process.stdout.write(`${file}: ${count} skipped (${titles.join("; ")})\n`)
  }
  if (missing.length > 0 && !named && process.env.CI === "true") {
    process.stdout.write("In CI nothing may be missing.\n")
    failed += 1
    process.exitCode = 1
  }
}
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
