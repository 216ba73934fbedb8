// What a run of the tests says while it runs, and what it leaves for scripts/test.mjs: a line every ten seconds (on a terminal one line that changes),
// each failure at once, and a summary as JSON in the file that TEST_SUMMARY names. It decides nothing about success.
import { writeFileSync } from "node:fs"
import { relative } from "node:path"
import { MinimalReporter } from "vitest/node"

const everyMs = 10_000

/** Why a test did not run, where it says so; else null. */
const reasonOf = (test) => test.result().note ?? null

export default class Report extends MinimalReporter {
  #files = []
  #running = new Map()
  #passed = 0
  #failed = 0
  #expected = 0
  #began = Date.now()
  #timer

  #say() {
    const seconds = Math.round((Date.now() - this.#began) / 1000)
    const now = [...this.#running].map(([file, since]) => `${file} (${Math.round((Date.now() - since) / 1000)} s)`)
    const line = `${seconds} s: ${this.#files.length} of ${this.#expected} files, ${this.#passed} passed, ` +
      `${this.#failed} failed${now.length === 0 ? "" : `. Now ${now.join(", ")}`}`
    if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${line.slice(0, process.stdout.columns - 1)}`)
    else process.stdout.write(`${line}\n`)
  }

  #nameOf(path) {
    return relative(this.ctx.config.root, path)
  }

  onTestRunStart(specifications) {
    super.onTestRunStart(specifications)
    this.#began = Date.now()
    this.#expected = specifications.length
    this.#timer = setInterval(() => this.#say(), process.stdout.isTTY ? 1_000 : everyMs)
    this.#timer.unref()
  }

  onTestModuleStart(module) {
    super.onTestModuleStart?.(module)
    this.#running.set(this.#nameOf(module.moduleId), Date.now())
  }

  onTestModuleEnd(module) {
    const name = this.#nameOf(module.moduleId)
    this.#running.delete(name)
    const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } = module.diagnostic()
    const count = { passed: 0, failed: 0 }
    const skipped = []
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === "skipped") skipped.push({ title: test.fullName, reason: reasonOf(test) })
      else if (state === "passed") count.passed += 1
      // Also one that never came to an end.
      else count.failed += 1
    }
    // A file that does not load, or whose set-up fails, is a failure of its own.
    if (module.state() === "failed" && count.failed === 0) count.failed = 1
    this.#passed += count.passed
    this.#failed += count.failed
    const seconds = (collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration) / 1000
    this.#files.push({ name, seconds, ...count, skipped })
    if (process.stdout.isTTY) process.stdout.write("\r\u001b[K")
    super.onTestModuleEnd(module)
  }

  onTestRunEnd(modules, errors, reason) {
    clearInterval(this.#timer)
    this.#say()
    process.stdout.write("\n")
    super.onTestRunEnd(modules, errors, reason)
    const file = process.env.TEST_SUMMARY
    if (file !== undefined) writeFileSync(file, JSON.stringify({ files: this.#files, errors: errors.length }))
  }
}
