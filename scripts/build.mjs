// Builds the JavaScript and the type declarations that the package ships, into an empty dist/: what an earlier build
// left there would be published too. It never checks: `npm run typecheck` and `npm test` do. An argument names another folder than dist/, and `--quick` after it
// takes the admin app as browser tests have it, which is less well compressed.
import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { slimTypes, vendorInto } from "./vendor.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const out = resolve(root, process.argv[2] ?? "dist")
rmSync(out, { recursive: true, force: true })

const compiler = join(root, "node_modules", "typescript", "bin", "tsc")
const asked = [compiler, "-p", "tsconfig.build.json", "--outDir", out, "--noCheck"]
const built = spawnSync(process.execPath, asked, { cwd: root, stdio: "inherit" })
if (built.error) throw built.error
if (built.status !== 0) process.exit(built.status ?? 1)

// Bundlers find the worker of the forms by this very text, which the compiler leaves as it is.
const forms = join(out, "web", "client", "form.js")
writeFileSync(forms, readFileSync(forms, "utf8").replace("new URL(\"./worker.ts\"", "new URL(\"./worker.js\""))

await vendorInto(root, out)
slimTypes(root, out)

// The interactive reference, with its license: copied, so that the package it is from need not be installed.
const reference = join(out, "adapters", "http", "swagger-ui")
mkdirSync(reference, { recursive: true })
const parts = ["swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css", "LICENSE", "NOTICE"]
for (const part of parts) copyFileSync(join(root, "node_modules", "swagger-ui-dist", part), join(reference, part))

const { buildWeb, ensureWeb } = await import("./web.mjs")
const app = join(out, "web", "app")
if (process.argv[3] === "--quick") {
  cpSync(await ensureWeb(), app, { recursive: true })
} else {
  // The admin app, as small as it can be, with its sizes checked.
  await buildWeb(app, { whole: true })
}

// `npm link` and a checkout run the command straight from dist.
const command = join(out, "composition", "cli", "main.js")
if (existsSync(command)) chmodSync(command, 0o755)
