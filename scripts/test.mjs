// Runs every check that `npm test` stands for: the types, and beside them all tests (or those named as arguments). It ends with
// one line, `N passed, N failed`, and with exit code 0 only if something was tested and nothing failed. A failure that
// is no test counts as one: wrong types, a test file that does not load, an error outside of any test. Tests that were
// skipped are listed, with the system programs that are missing for them; in CI a missing program is a failure.
// `--changed [REVISION]` runs only what a change since then touches, `--no-types` leaves the types out. `npm run test:deep` (deep.mjs) goes further.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { constants, setPriority, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { touched } from "./changed.mjs"
import { missingPrograms } from "./programs.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packages = join(root, "node_modules")

/** Starts a JavaScript program of a package. */
const start = (file, options, how) => spawn(process.execPath, [join(packages, file), ...options], { cwd: root, ...how })

/** The exit code of a program, where a signal is 1. */
const endOf = async (child) => (await once(child, "close"))[0] ?? 1

const section = (title) => process.stdout.write(`\n== ${title}\n`)

/**
 * Checks the types of all TypeScript projects, one after the other, with less right to a processor than the tests beside it. Gives whether they are right,
 * and what to print of it.
 */
export const checkTypes = async () => {
  let printed = ""
  let right = true
  for (const project of [".", "web", "test/browser/admin", "examples/plugin"]) {
    const options = ["--noEmit", "-p", project, ...(process.stdout.isTTY ? ["--pretty"] : [])]
    const child = start("typescript/bin/tsc", options, { stdio: ["ignore", "pipe", "pipe"] })
    setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => printed += text)
    if (await endOf(child) !== 0) right = false
  }
  return { right, printed: right ? "no errors\n" : printed }
}

/** Runs test files by vitest; `args` are its arguments. Gives what its reporter counted, and whether all is well. */
export const runTests = async (args, env = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "resource-admin-test-"))
  const summary = join(folder, "summary.json")
  try {
    // Loaded by Node itself, vitest's configuration needs no temporary file in a folder that may be somebody else's.
    const options = ["run", "--configLoader=native", "--allowOnly=false", "--reporter=./scripts/report.mjs", ...args]
    const child = start("vitest/vitest.mjs", options, {
      stdio: "inherit",
      env: { ...process.env, ...env, TEST_SUMMARY: summary }
    })
    const code = await endOf(child)
    const { errors, files } = existsSync(summary)
      ? JSON.parse(readFileSync(summary, "utf8"))
      : { errors: 0, files: [] }
    const sum = (key) => files.reduce((total, file) => total + file[key], 0)
    const failed = sum("failed") + errors
    return { files, passed: sum("passed"), failed: code !== 0 && failed === 0 ? 1 : failed }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Says which files took longest, and what did not run and why. */
export const explain = (files) => {
  if (files.length > 10) {
    section("Slowest files")
    for (const { name, seconds } of files.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10)) {
      process.stdout.write(`${seconds.toFixed(1).padStart(6)} s  ${name}\n`)
    }
  }
  const skipped = files.filter((file) => file.skipped.length > 0)
  const missing = missingPrograms()
  if (skipped.length === 0 && missing.length === 0) return
  section("Not run")
  for (const line of missing) process.stdout.write(`${line}\n`)
  for (const file of skipped) {
    const why = new Set(file.skipped.map(({ reason, title }) => reason ?? title))
    process.stdout.write(`${file.name}: ${file.skipped.length} skipped (${[...why].slice(0, 5).join("; ")})\n`)
  }
}

const main = async () => {
  if (Number(process.versions.node.split(".")[0]) < 24) {
    process.stderr.write(`Tests need Node 24, this is ${process.versions.node}: start them with \`npm test\`.\n`)
    process.exitCode = 1
    return
  }
  const given = process.argv.slice(2)
  const args = given.filter((argument) => argument !== "--no-types")
  const at = args.indexOf("--changed")
  let chosen = args
  if (at >= 0) {
    const revision = args[at + 1]?.startsWith("-") === false ? args[at + 1] : undefined
    const { files, why } = touched(root, revision)
    process.stdout.write(`${why}\n`)
    if (files.length === 0) {
      process.stdout.write("\n0 passed, 0 failed\n")
      return
    }
    chosen = [...args.slice(0, at), ...args.slice(at + (revision === undefined ? 1 : 2)), ...files]
  }
  const types = args.length < given.length ? null : checkTypes()
  section("Tests")
  const { failed: broken, files, passed } = await runTests(chosen)
  if (passed + broken === 0) process.stderr.write("No test ran, so nothing is known.\n")
  explain(files)
  let failed = broken
  if (types !== null) {
    const { printed, right } = await types
    section("Types")
    process.stdout.write(printed)
    if (!right) failed += 1
  }
  if (args.length === 0 && process.env.CI === "true" && missingPrograms().length > 0) {
    process.stdout.write("In CI nothing may be missing.\n")
    failed += 1
  }
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
