// Builds the admin app into dist/web/app, once per change of what it is made of: a hash of the sources stands beside the result. It runs before
// `npm start` and the browser tests, and in full, with the sizes checked, when the package is built. For `dev` it serves the app from its
// sources instead. Users of the package never run it.
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:net"
import { dirname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { guides } from "./guides.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** What the app is made of besides packages, whose versions are in the lock. */
const made = ["web", "core/domain", "docs", "scripts/web.mjs", "scripts/guides.mjs", "package-lock.json"]
const compressible = /\.(?:js|css|html|svg|json|md)$/
const stamp = "-/stamp"

/** What the server replaces in each page that it answers with: the nonce of that answer. */
const nonceMark = "__NONCE__"

const app = join(root, "web", "admin")

const shared = {
  configFile: false,
  envDir: false,
  logLevel: "warn",
  root: app,
  html: { cspNonce: nonceMark },
  css: { transformer: "lightningcss" }
}

/**
 * Files of modules that several parts need. The bundler makes one for each set of parts, which were thirty for the first list. Here a module is in the file
 * of the first part that needs it, and all icons are in one, as is the code for queries. What the form of strangers needs is as small as the bundler makes it.
 */
const sharedFiles = () => {
  const roots = [
    "first/entry.ts",
    "form/main.ts",
    "main.tsx",
    "first/plain.ts",
    "shell/shell.tsx",
    "list/page.tsx",
    "record/page.tsx"
  ]
    .map((name) => join(app, name))
  const isOwn = (id) => id.startsWith(root) && !id.includes("node_modules")
  let reached
  return {
    debugName: "shared",
    includeDependenciesRecursively: false,
    name: (id, bundle) => {
      if (id.includes("/lucide-react/dist/esm/")) return "icons"
      if (id.includes("/node_modules/react/")) return "base"
      if (id.includes("/node_modules/@tanstack/")) return "queries"
      if (id.includes("/node_modules/effect/")) return "fields"
      if (!isOwn(id) || roots.includes(id)) return null
      const from = (start) => {
        const seen = new Set()
        const visit = (each) => {
          if (seen.has(each)) return
          seen.add(each)
          for (const next of bundle.getModuleInfo(each)?.importedIds ?? []) if (isOwn(next)) visit(next)
        }
        visit(start)
        return seen
      }
      reached ??= roots.map(from)
      const [entry, form, gate, plain, frame, list, record] = reached.map((seen) => seen.has(id))
      if (entry) return id.endsWith(".module.css") ? "looks" : null
      if (form) return plain && !gate ? "values" : null
      if (gate) return plain ? "base" : "gate"
      return plain ? "plain" : frame ? "frame" : list ? (record ? "fields" : "rows") : null
    }
  }
}

/** Hashed files below `-/assets`. Addresses are relative, since the server decides the path at which the app lives. */
const settings = (out) => ({
  ...shared,
  base: "./",
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
      input: { app: join(app, "index.html"), form: join(app, "form.html") },
      output: { codeSplitting: { groups: [sharedFiles()] } }
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

/** Names the files that draw the first rows of a list, beside those of the page. The server has browsers ask for them early. */
const nameFirst = (out) => {
  const manifest = JSON.parse(readFileSync(join(out, "-", "manifest.json"), "utf8"))
  const filesOf = (key) => {
    const seen = new Set()
    const visit = (each) => {
      if (seen.has(each)) return
      seen.add(each)
      for (const next of manifest[each].imports ?? []) visit(next)
    }
    visit(key)
    return [...seen].flatMap((each) => [manifest[each].file, ...manifest[each].css ?? []])
  }
  const ofPage = filesOf("index.html")
  const names = [...new Set(filesOf("first/plain.ts"))].filter((file) => !ofPage.includes(file))
  writeFileSync(join(out, "-", "first.json"), JSON.stringify(names.map((file) => file.replace("-/assets/", ""))))
}

/** Vite and its plugin for React, which only a checkout has. While it makes or starts something, it sees the environment named. */
const withVite = async (environment, work) => {
  const [vite, { default: react }] = await Promise.all([import("vite"), import("@vitejs/plugin-react")])
  const { NODE_ENV: before } = process.env
  process.env.NODE_ENV = environment
  try {
    return await work(vite, react)
  } finally {
    if (before === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = before
  }
}

/** Builds into a folder. `whole`: for the package, with the best compression and the sizes checked. */
export const buildWeb = async (out, { whole }) => {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  // Whoever builds (a test, for one) may run as something else: the app is React's production build.
  await withVite("production", ({ build }, react) => build({ ...settings(out), plugins: [react(), guides()] }))
  nameFirst(out)
  await compress(out, whole)
  const sizes = await measureSizes(out)
  if (!whole) return
  for (const { name, kilobytes, most, exceeded } of sizes) {
    process.stdout.write(`${exceeded ? "TOO LARGE " : ""}${name}: ${kilobytes.toFixed(1)} of ${most} KB\n`)
  }
  if (sizes.some(({ exceeded }) => exceeded)) throw new Error("The admin app is larger than web/budgets.json allows.")
}

/** Builds dist/web/app when the sources are not those it was built from. Gives the folder. */
export const ensureWeb = async (say = (text) => process.stderr.write(`${text}\n`)) => {
  const out = join(root, "dist", "web", "app")
  const wanted = sourceHash()
  const stampFile = join(out, stamp)
  const isBuilt = () => existsSync(stampFile) && readFileSync(stampFile, "utf8") === wanted
  if (isBuilt()) return out
  say("Building the admin app …")
  const started = performance.now()
  // Beside it and then in its place: a server that runs keeps what it has read, and two builds do not mix.
  const draft = join(root, "dist", `web-${process.pid}`)
  await buildWeb(draft, { whole: false })
  writeFileSync(join(draft, stamp), wanted)
  mkdirSync(dirname(out), { recursive: true })
  // Another process may have put its build there meanwhile. One of the same sources stays.
  while (!isBuilt()) {
    rmSync(out, { recursive: true, force: true })
    try {
      renameSync(draft, out)
    } catch (error) {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
    }
  }
  rmSync(draft, { recursive: true, force: true })
  say(`Admin app built in ${((performance.now() - started) / 1000).toFixed(1)} s.`)
  return out
}

const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

/**
 * Serves the app from its sources on a port of this machine, where it begins at `base`. Pages hear of changes at that port and replace what
 * changed. The bundler starts with the first request: `ready` waits for it.
 */
export const serveWeb = async (base) => {
  const port = await freePort()
  const start = () =>
    withVite("development", async (vite, react) => {
      const server = await vite.createServer({
        ...shared,
        base,
        appType: "custom",
        cacheDir: join(root, "dist", "vite"),
        server: {
          host: "127.0.0.1",
          port,
          strictPort: true,
          // A page asks its own service for modules. Only the socket comes straight here.
          ws: { protocol: "ws", host: "127.0.0.1", clientPort: port },
          // What the service passes on, anybody may read who reaches it: no configuration, no data.
          fs: {
            allow: [
              join(root, "web"),
              join(root, "docs", "pictures"),
              join(root, "core", "domain"),
              realpathSync(join(root, "node_modules"))
            ]
          }
        },
        plugins: [react(), guides()]
      })
      return server.listen()
    })
  let started
  const ready = () =>
    started ??= start().catch((error) => {
      started = undefined
      throw error
    })
  return {
    port,
    ready,
    page: async (file) => {
      // Relative to the page, which stands at many addresses: Vite puts the base before what begins with a slash.
      const html = readFileSync(join(app, file), "utf8").replaceAll("\"./", "\"/")
      return (await ready()).transformIndexHtml(`/${file}`, html)
    },
    close: async () => (await started)?.close()
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await ensureWeb()
