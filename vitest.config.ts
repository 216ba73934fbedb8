// Decides which files are tests and how they run. It never decides what a test may reach: boundaries.mjs does.
import { availableParallelism } from "node:os"
import { defaultServerConditions } from "vite"
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config"

// The package imports itself by name in examples and tests; "source" makes that the TypeScript, not the build.
// Packages are loaded as Node loads them, which knows no condition "module".
const conditions = ["source", ...defaultServerConditions.filter((condition) => condition !== "module")]

const deep = process.env["TEST_DEPTH"] === "deep"

const usual: ViteUserConfig["test"] = {
  environment: "node",
  pool: "forks",
  execArgv: ["--conditions=source"],
  // None of these says how fast something is: they only end a test that hangs, also on a machine that is many times slower.
  testTimeout: 180_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } }
}

const excluded = [...configDefaults.exclude, "dist/**", "data/**", ...(deep ? [] : ["**/*.deep.test.ts"])]

/** One part of the tests. Its files share processes: each process loads the code once, and a test leaves nothing behind. */
const part = (name: string, include: string[], exclude: readonly string[] = [], more: ViteUserConfig["test"] = {}) => ({
  extends: true as const,
  test: { ...usual, name, isolate: false, include, exclude: [...excluded, ...exclude], ...more }
})

const browser = ["test/browser/**/*.test.ts"]
const chaos = ["test/chaos/**/*.test.ts"]
/** Files of these folders do not share yet: what one of them makes for its process goes away with the file. */
const alone = ["embedded", "cli", "web", "mail", "examples", "forms"].map((folder) => `test/${folder}/**/*.test.ts`)
const everything = ["core", "adapters", "composition", "web", "examples", "bench", "test"].map((folder) =>
  `${folder}/**/*.test.ts`
)

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["source"] } },
  test: {
    maxWorkers: Math.max(2, availableParallelism()),
    projects: [
      // What one file has prepared in the database serves all files of this run, and none of another.
      part("browser", browser, [], { env: { TEST_RUN: `${process.pid}_${Date.now()}` } }),
      part("chaos", chaos),
      part("alone", alone, [], { isolate: true }),
      part("code", everything, [...browser, ...chaos, ...alone])
    ]
  }
})
