// Decides which files are tests and how they run. It never decides what a test may reach: boundaries.mjs does.
import { availableParallelism } from "node:os"
import { defaultServerConditions } from "vite"
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

// The package imports itself by name in examples and tests; "source" makes that the TypeScript, not the build.
// Packages are loaded as Node loads them, which knows no condition "module".
const conditions = ["source", ...defaultServerConditions.filter((condition) => condition !== "module")]

const deep = process.env["TEST_DEPTH"] === "deep"

const usual: ViteUserConfig["test"] = {
  environment: "node",
  pool: "forks",
  execArgv: ["--conditions=source"],
  // None of these says how fast something is: they only end a test that hangs, also on a machine that is many times slower.
  testTimeout: deep ? 1_800_000 : 360_000,
  hookTimeout: deep ? 1_800_000 : 360_000,
  expect: { poll: { timeout: 60_000 } }
}

const excluded = [...configDefaults.exclude, "dist/**", "data/**", ...(deep ? [] : ["**/*.deep.test.ts"])]

/** Two where there is one. */
const processors = Math.max(2, availableParallelism())

/**
 * One part of the tests; the parts run one after the other. Its files share processes: each process loads the code once, and a test leaves nothing behind. Many
 * files wait for a process, a clock or a server: with two files more than there are processors, none of these stands idle.
 */
const part = (name: string, include: string[], exclude: readonly string[] = [], more: ViteUserConfig["test"] = {}) => ({
  extends: true as const,
  test: {
    ...usual,
    name,
    isolate: false,
    include,
    exclude: [...excluded, ...exclude],
    maxWorkers: processors + 2,
    sequence: { groupOrder: 1 },
    ...more
  }
})

/** Files that take longest in their part. A clone that has run no tests yet knows only how large a file is, and would begin some of these last. */
const longest =
  /\/(?:reach|hostile|installed|shop|crash|queue\/faults|webhooks\/(?:delivery|extension)|matrix|bucket|memory|loop|readme|contracts\/(?:queue|records))\.test\.ts$/

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const parts = Map.groupBy(await super.sort(files), ({ project }) => project.name)
    return [...parts.values()].flatMap((files) =>
      files.toSorted((a, b) => Number(longest.test(b.moduleId)) - Number(longest.test(a.moduleId)))
    )
  }
}

/** Vitest has an order of its own for who asks for a random one. */
const shuffled = process.argv.some((argument) => argument.startsWith("--sequence.shuffle"))

const browser = ["test/browser/**/*.test.ts"]
const chaos = ["test/chaos/**/*.test.ts"]
/** Whole clusters of servers: one at a time. */
const cluster = ["test/cluster/**/*.test.ts"]
/** Files of these folders do not share yet: what one of them makes for its process goes away with the file. */
const alone = ["embedded", "cli", "web", "mail", "examples", "forms"].map((folder) => `test/${folder}/**/*.test.ts`)
const everything = ["core", "adapters", "composition", "web", "examples", "bench", "test"].map((folder) =>
  `${folder}/**/*.test.ts`
)

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["source"] } },
  test: {
    ...(shuffled ? {} : { sequence: { sequencer: LongestFirst } }),
    projects: [
      part("browser", browser, [], {
        // What one file has prepared in the database serves all files of this run, and none of another.
        env: { TEST_RUN: `${process.pid}_${Date.now()}` },
        // A browser keeps a processor busy: more of them at once take longer in sum.
        maxWorkers: processors,
        sequence: { groupOrder: 0 }
      }),
      part("chaos", chaos),
      part("cluster", cluster, [], { maxWorkers: 1, sequence: { groupOrder: 2 } }),
      part("alone", alone, [], { isolate: true }),
      part("code", everything, [...browser, ...chaos, ...cluster, ...alone])
    ]
  }
})
