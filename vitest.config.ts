// Decides which files are tests and how they run. It never decides what a test may reach: boundaries.mjs does.
import { defaultServerConditions } from "vite"
import { configDefaults, defineConfig } from "vitest/config"

// The package imports itself by name in examples and tests; "source" makes that the TypeScript, not the build.
// Packages are loaded as Node loads them, which knows no condition "module".
const conditions = ["source", ...defaultServerConditions.filter((condition) => condition !== "module")]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["source"] } },
  test: {
    include: ["core", "adapters", "composition", "web", "examples", "bench", "test"].map((folder) =>
      `${folder}/**/*.test.ts`
    ),
    exclude: [...configDefaults.exclude, "dist/**", "data/**"],
    environment: "node",
    pool: "forks",
    maxWorkers: 2,
    execArgv: ["--conditions=source"],
    // None of these says how fast something is: they only end a test that hangs, also on a machine that is many times slower.
    testTimeout: 180_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } }
  }
})
