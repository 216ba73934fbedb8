// Runs every check that `npm test` stands for: the types, then all tests (or those named as arguments). It ends with
// one line, `N passed, N failed`, and with exit code 0 only if something was tested and nothing failed. A failure that
// is no test counts as one: wrong types, a test file that does not load, an error outside of any test. Tests that were
// skipped are listed, with the system programs that are missing for them; in CI a missing program is a failure.
// `--changed [REVISION]` runs only what a change since then touches. `npm run test:deep` (deep.mjs) goes further.
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { touched } from "./changed.mjs"
import { missingPrograms } from "./programs.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packages = join(root, "node_modules")

/** Runs a JavaScript program; gives its exit code, where a signal is 1. */
const run = (file, options, env = {}) => {
  const ended = spawnSync(process.execPath, [file, ...options], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env }
  })
  if (ended.error) throw ended.error
  return ended.status ?? 1
}

const section = (title) => process.stdout.write(`\n== ${title}\n`)

/** The types of all TypeScript projects; gives whether they are right. */
export const checkTypes = () => {
  section("Types")
  const compiler = join(packages, "typescript", "bin", "tsc")
  const projects = [".", "web", "test/browser/admin", "examples/plugin"]
  const wrong = projects.filter((project) => run(compiler, ["--noEmit", "-p", project]) !== 0)
  if (wrong.length === 0) process.stdout.write("no errors\n")
  return wrong.length === 0
}

/** Runs test files by vitest; `args` are its arguments. Gives what its reporter counted, and whether all is well. */
export const runTests = (args, env = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "resource-admin-test-"))
  const summary = join(folder, "summary.json")
  try {
    // Loaded by Node itself, vitest's configuration needs no temporary file in a folder that may be somebody else's.
    const code = run(join(packages, "vitest", "vitest.mjs"), [
      "run",
      "--configLoader=native",
      "--allowOnly=false",
      "--reporter=./scripts/report.mjs",
      ...args
    ], { ...env, TEST_SUMMARY: summary })
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

const main = () => {
  if (Number(process.versions.node.split(".")[0]) < 24) {
    process.stderr.write(`Tests need Node 24, this is ${process.versions.node}: start them with \`npm test\`.\n`)
    process.exitCode = 1
    return
  }
  const args = process.argv.slice(2)
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
  const typed = checkTypes()
  section("Tests")
  const { failed: broken, files, passed } = runTests(chosen)
  if (passed + broken === 0) process.stderr.write("No test ran, so nothing is known.\n")
  explain(files)
  let failed = broken + (typed ? 0 : 1)
  if (args.length === 0 && process.env.CI === "true" && missingPrograms().length > 0) {
    process.stdout.write("In CI nothing may be missing.\n")
    failed += 1
  }
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
