// Builds the JavaScript and the type declarations that the package ships, into an empty dist/: what an earlier build
// left there would be published too. It never checks: `npm run typecheck` and `npm test` do.
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
rmSync(join(root, "dist"), { recursive: true, force: true })

const compiler = join(root, "node_modules", "typescript", "bin", "tsc")
const built = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" })
if (built.error) throw built.error

// `npm link` and a checkout run the command straight from dist.
const command = join(root, "dist", "composition", "cli", "main.js")
if (existsSync(command)) chmodSync(command, 0o755)
process.exitCode = built.status ?? 1
