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

const browser = ["test/browser/**/*.test.ts"]

/** Files that change what all code of a process shares, or measure it: each has a process of its own. */
const own: readonly string[] = []

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["source"] } },
  test: {
    maxWorkers: Math.max(2, availableParallelism()),
    projects: [
      {
        extends: true,
        test: {
          ...usual,
          name: "shared",
          isolate: false,
          include: ["core", "adapters", "composition", "web", "examples", "bench", "test"].map((folder) =>
            `${folder}/**/*.test.ts`
          ),
          exclude: [...excluded, ...browser, ...own]
        }
      },
      { extends: true, test: { ...usual, name: "own", include: [...own], exclude: excluded } },
      {
        extends: true,
        test: {
          ...usual,
          name: "browser",
          isolate: false,
          include: browser,
          exclude: excluded,
          // What one file has prepared in the database serves all files of this run, and none of another.
          env: { TEST_RUN: `${process.pid}_${Date.now()}` }
        }
      }
    ]
  }
})
