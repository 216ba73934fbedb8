// Copies the libraries that the package carries inside, so that nobody who installs it installs them: only the modules
// that our own code reaches, without comments, types and source maps. They come from npm as 85 MB and are some 3 MB so.
// What these modules import from other packages must be among the dependencies of package.json.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, posix, relative, sep } from "node:path"
import { build } from "vite"

/** The libraries, by the beginning of what is imported. `scripts/boundaries.mjs` takes them as shipped. */
export const vendored = ["effect", "@effect/platform-node", "@effect/platform-node-shared", "@effect/sql-pg"]

const isVendored = (specifier) => vendored.some((name) => specifier === name || specifier.startsWith(`${name}/`))

/** `from "…"` and `import("…")` in what the compiler wrote. */
const imports = /(\bfrom\s*|\bimport\s*\(\s*)"([^"]+)"/g

function* written(folder, ending) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && entry.name.endsWith(ending)) yield join(entry.parentPath, entry.name)
  }
}

/** Moves the imports of a built file from the libraries to the copies in `folder`. */
const redirect = (file, folder, target) => {
  const text = readFileSync(file, "utf8")
  const moved = text.replace(imports, (whole, before, specifier) => {
    if (!isVendored(specifier)) return whole
    const path = relative(dirname(file), join(folder, target(specifier))).split(sep).join("/")
    return `${before}"${path.startsWith(".") ? path : `./${path}`}"`
  })
  if (moved !== text) writeFileSync(file, moved)
}

/**
 * Puts the libraries into `out/vendor`, where the compiler has written everything else to `out`. Throws when they need
 * a package that is no dependency.
 */
export const vendorInto = async (root, out) => {
  const folder = join(out, "vendor")
  const specifiers = new Set()
  const scripts = [...written(out, ".js")]
  for (const file of scripts) {
    for (const [, , specifier] of readFileSync(file, "utf8").matchAll(imports)) {
      if (isVendored(specifier)) specifiers.add(specifier)
    }
  }

  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const foreign = new Set()
  await build({
    root,
    configFile: false,
    envDir: false,
    logLevel: "warn",
    publicDir: false,
    ssr: { noExternal: true, target: "node" },
    build: {
      ssr: true,
      target: "node24",
      outDir: folder,
      emptyOutDir: true,
      minify: false,
      rollupOptions: {
        input: Object.fromEntries([...specifiers].map((each) => [each.replaceAll("@", ""), each])),
        external: (id) => {
          if (id.startsWith(".") || id.startsWith("/") || id.startsWith("\0") || isVendored(id)) return false
          if (specifiers.has(id) || /^[A-Za-z]:[\\/]/.test(id)) return false
          if (!id.startsWith("node:")) foreign.add(id)
          return true
        },
        output: {
          entryFileNames: "[name].js",
          chunkFileNames: "parts/[name]-[hash].js",
          minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } }
        }
      }
    }
  })
  const missing = [...foreign].filter((id) =>
    dependencies[posix.join(...id.split("/").slice(0, id.startsWith("@") ? 2 : 1))] === undefined
  )
  if (missing.length > 0) throw new Error(`The libraries that are carried inside need ${missing.join(", ")}.`)

  for (const name of vendored) {
    const license = join(root, "node_modules", name, "LICENSE")
    if (!existsSync(license)) continue
    mkdirSync(join(folder, "licenses"), { recursive: true })
    copyFileSync(license, join(folder, "licenses", `${name.replaceAll("@", "").replaceAll("/", "-")}.txt`))
  }
  for (const file of scripts) redirect(file, folder, (specifier) => `${specifier.replaceAll("@", "")}.js`)
}

/**
 * Drops the declarations that no entry of package.json reaches, and points those that are left to `vendor/types.d.ts`
 * instead of the libraries' own types. Who uses the package then needs none of these libraries to check types.
 */
export const slimTypes = (root, out) => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const waiting = Object.values(exports).flatMap(({ types }) =>
    types === undefined ? [] : [join(out, relative("dist", types))]
  )
  const reached = new Set()
  while (waiting.length > 0) {
    const file = waiting.pop()
    if (reached.has(file)) continue
    reached.add(file)
    for (const [, , specifier] of readFileSync(file, "utf8").matchAll(imports)) {
      if (specifier.startsWith(".")) waiting.push(join(dirname(file), specifier.replace(/\.[jt]sx?$/, ".d.ts")))
    }
  }
  for (const file of written(out, ".d.ts")) if (!reached.has(file)) rmSync(file)
  const types = join(out, "vendor", "types")
  for (const file of reached) {
    const text = readFileSync(file, "utf8")
    const path = relative(dirname(file), `${types}.js`).split(sep).join("/")
    const from = path.startsWith(".") ? path : `./${path}`
    const moved = text
      .replace(/import (?:type )?\* as (\w+) from "(?:@?effect\/[^"]+)"/g, `import type { $1 } from "${from}"`)
      .replace(/import (?:type )?\{ ([\w, ]+) \} from "(?:@?effect\/(?:\w+\/)*)(\w+)";?/g, (_, names, module) =>
        [
          `import { ${module} as ${module}$ } from "${from}";`,
          ...names.split(", ").map((name) => `import ${name} = ${module}$.${name};`)
        ].join("\n"))
      .replace(/import\("(?:@?effect\/(?:\w+\/)*)(\w+)"\)/g, `import("${from}").$1`)
    if (moved !== text) writeFileSync(file, moved)
  }
  copyFileSync(join(root, "scripts", "vendor.d.ts"), `${types}.d.ts`)
}
