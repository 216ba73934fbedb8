// Builds the admin app into dist/web/app, once per change of what it is made of: a hash of the sources stands beside the result. It runs before
// `npm start` and the browser tests, and in full, with the sizes checked, when the package is built. Users of the package never run it.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** What the app is made of besides packages, whose versions are in the lock. */
const made = ["web", "core/domain", "scripts/web.mjs", "package-lock.json"]
const compressible = /\.(?:js|css|html|svg|json|md)$/
const stamp = "-/stamp"

/** What the server replaces in each page that it answers with: the nonce of that answer. */
const nonceMark = "__NONCE__"

/** Hashed files below `-/assets`. Addresses are relative, since the server decides the path at which the app lives. */
const settings = (out) => ({
  configFile: false,
  logLevel: "warn",
  root: join(root, "web", "admin"),
  base: "./",
  html: { cspNonce: nonceMark },
  css: { transformer: "lightningcss" },
  build: {
    outDir: out,
    emptyOutDir: true,
    assetsDir: "-/assets",
    // Nothing is inlined as data: the policy would refuse fonts and scripts from there.
    assetsInlineLimit: 0,
    target: ["chrome123", "firefox121", "safari17.5"],
    cssMinify: "lightningcss",
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: "-/licenses.md" },
    manifest: "-/manifest.json",
    rolldownOptions: {
      input: { app: join(root, "web", "admin", "index.html"), form: join(root, "web", "admin", "form.html") }
    }
  }
})

const filesIn = function*(path) {
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    if (entry.isDirectory()) yield* filesIn(join(path, entry.name))
    else yield join(path, entry.name)
  }
}

const sourceHash = () => {
  const hash = createHash("sha256")
  for (const part of made) {
    const path = join(root, part)
    for (const file of part.includes(".") ? [path] : filesIn(path)) {
      if (/\.test\.tsx?$/.test(file)) continue
      hash.update(relative(root, file)).update("\0").update(readFileSync(file)).update("\0")
    }
  }
  return hash.digest("hex")
}

const compressed = {
  br: (bytes, whole) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: whole ? 11 : 5 } }),
  gz: (bytes, whole) => promisify(gzip)(bytes, { level: whole ? 9 : 6 })
}

/** Puts the compressed copies beside the files. `whole`: as small as can be, for the package. */
const compress = async (out, whole) => {
  for (const file of Array.from(filesIn(out))) {
    // The page itself changes with each answer, by its nonce.
    if (!compressible.test(file) || file.endsWith(".html")) continue
    const bytes = readFileSync(file)
    if (bytes.length < 512) continue
    await Promise.all(
      Object.entries(compressed).map(async ([end, by]) => writeFileSync(`${file}.${end}`, await by(bytes, whole)))
    )
  }
}

/** What loads together with a page or a lazily imported part, in KB (gzip): what it is measured by and what it may be. */
const budgets = JSON.parse(readFileSync(join(root, "web", "budgets.json"), "utf8"))

/** Measures the built parts against their budgets; gives a line for each and whether one is exceeded. */
export const measureSizes = (out) => {
  const manifest = JSON.parse(readFileSync(join(out, "-", "manifest.json"), "utf8"))
  const sizes = new Map()
  const sizeOf = async (file) => {
    if (!sizes.has(file)) sizes.set(file, (await promisify(gzip)(readFileSync(join(out, file)), { level: 9 })).length)
    return sizes.get(file)
  }
  const withImports = (key, seen = new Set()) => {
    const chunk = manifest[key]
    if (chunk === undefined || seen.has(key)) return seen
    seen.add(key)
    for (const next of chunk.imports ?? []) withImports(next, seen)
    return seen
  }
  const total = async (keys, kind) => {
    const files = new Set()
    for (const key of keys) {
      for (const each of withImports(key)) {
        const chunk = manifest[each]
        if (kind === "js") files.add(chunk.file)
        else for (const css of chunk.css ?? []) files.add(css)
      }
    }
    let bytes = 0
    for (const file of files) if (file.endsWith(kind)) bytes += await sizeOf(file)
    return bytes
  }
  return Promise.all(budgets.map(async ({ name, parts, over = [], kind = "js", most }) => {
    const missing = parts.filter((part) => manifest[part] === undefined)
    if (missing.length > 0) throw new Error(`The build has no ${missing.join(", ")}, which web/budgets.json names.`)
    const bytes = await total([...over, ...parts], kind) - (over.length === 0 ? 0 : await total(over, kind))
    return { name, kilobytes: bytes / 1000, most, exceeded: bytes > most * 1000 }
  }))
}

/** Builds into a folder. `whole`: for the package, with the best compression and the sizes checked. */
export const buildWeb = async (out, { whole }) => {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const [{ build }, { default: react }] = await Promise.all([import("vite"), import("@vitejs/plugin-react")])
  // Whoever builds (a test, for one) may run as something else: the app is React's production build.
  const { NODE_ENV: before } = process.env
  process.env.NODE_ENV = "production"
  try {
    await build({ ...settings(out), plugins: [react()] })
  } finally {
    if (before === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = before
  }
  await compress(out, whole)
  const sizes = await measureSizes(out)
  if (!whole) return
  for (const { name, kilobytes, most, exceeded } of sizes) {
    process.stdout.write(`${exceeded ? "TOO LARGE " : ""}${name}: ${kilobytes.toFixed(1)} of ${most} KB\n`)
  }
  if (sizes.some(({ exceeded }) => exceeded)) throw new Error("The admin app is larger than web/budgets.json allows.")
}

/** Builds dist/web/app when the sources are not those it was built from. */
export const ensureWeb = async (say = (text) => process.stderr.write(`${text}\n`)) => {
  const out = join(root, "dist", "web", "app")
  const wanted = sourceHash()
  const stampFile = join(out, stamp)
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === wanted) return
  say("Building the admin app …")
  const started = performance.now()
  // Beside it and then in its place: a server that runs keeps what it has read, and two builds do not mix.
  const draft = join(root, "dist", `web-${process.pid}`)
  await buildWeb(draft, { whole: false })
  writeFileSync(join(draft, stamp), wanted)
  rmSync(out, { recursive: true, force: true })
  mkdirSync(dirname(out), { recursive: true })
  renameSync(draft, out)
  say(`Admin app built in ${((performance.now() - started) / 1000).toFixed(1)} s.`)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await ensureWeb()
