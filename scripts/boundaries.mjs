// Decides who may import whom, and the few other rules about whole files that the linter cannot express: the tables
// below are the rule, and test/lint/boundaries.test.ts proves each row with a planted violation. It never judges a
// style, and it has no comment that switches it off: an exception is a row here.
import { readdirSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join, posix } from "node:path"
import { pathToFileURL } from "node:url"
import { parseSync } from "vite"
import { vendored } from "./vendor.mjs"

const words = (text) => text.trim().split(/\s+/)

/** Effect modules that are data and functions over data: no clock, no fibers, no services. */
const data = words(`
  Array BigDecimal BigInt Boolean Brand Chunk Combiner Cron Data DateTime Duration Equal Equivalence Filter Formatter
  Function HKT Hash HashMap HashSet Inspectable Iterable JsonPointer Match MutableHashMap MutableHashSet MutableList
  MutableRef NonEmptyIterable Number Option Order Ordering Pipeable Predicate Record Redacted Reducer RegExp Result
  Schema SchemaAST SchemaGetter SchemaIssue SchemaParser SchemaTransformation StandardSchema String Struct Symbol Trie
  Tuple Types UndefinedOr Unify
`)
/** Effect modules that reach the outside world, which in core only a port may do. */
const outside = words("Console FileSystem Path PlatformError Stdio Terminal")
/** What the signature of a port is made of. */
const contract = ["Effect", "Context", "Stream", "Scope", ...data]

/**
 * The layers. `files`: the folders and files of this project that a layer may import besides its own folder.
 * `effect`: which `effect/<Module>` it may import. `open`: whether it may import declared packages that `packages`
 * says nothing about. An adapter is one folder, so it never sees another adapter.
 */
const adapter = { files: ["core/domain/", "core/ports/"], effect: () => true, open: false }
const layers = [
  { folder: "core/domain/", files: [], effect: (name) => data.includes(name), open: false },
  { folder: "core/ports/", files: ["core/domain/"], effect: (name) => contract.includes(name), open: false },
  {
    folder: "core/app/",
    files: ["core/domain/", "core/ports/"],
    effect: (name) => !outside.includes(name),
    open: false
  },
  { folder: "adapters/http/", ...adapter, files: [...adapter.files, "core/app/"] },
  { folder: "adapters/*/", ...adapter },
  { folder: "composition/", files: ["core/", "adapters/", "web/", "package.json"], effect: () => true, open: true },
  {
    folder: "web/*/",
    files: words(
      "core/domain/value/ core/domain/model/ core/domain/filter/ core/domain/declare/ core/domain/meta/ core/domain/job/state.ts core/domain/task/task.ts web/client/ web/react/ web/plugin/"
    ),
    effect: (name) => data.includes(name),
    open: true
  }
]

/**
 * The floors of domain, use cases and admin app, from the ground up. A folder of a row may import the folders of the rows before it, but none of a later row and no
 * other folder of its own row. `*` stands for the files beside the folders that no row names.
 */
const domain = [
  "*",
  "value", // kinds, cells, instants, codes, exact numbers, JSON
  "account model", // model: compiled data, without rules
  "filter",
  "access",
  "audit file mail", // parts that know no plan of a read or write
  "job", // a job may send mail
  "read",
  "write",
  "event form function saved-view source task", // parts that stand on reads and writes
  "hook", // what others send is signed as events are, and enqueues as functions do
  "declare", // what people write
  "compile", // from declarations to models, or to refusals
  "meta" // the documents about the models
]
const uses = [
  "ground", // what every use case stands on
  "app.ts", // the use cases as one value: types
  "read",
  "write",
  "audit file form function hook saved-view", // parts that stand on reads and writes
  "event", // a delivery may call a function
  "job", // the queue shows events
  "refresh task",
  "make-app.ts" // puts them together
]
const pages = [
  "* style", // which service and where; colours, sizes and the frame of a page
  "messages", // texts, formats and what a person prefers
  "model", // the client, resources and records as the app knows them; nothing here draws
  "sources", // what other services say of themselves
  "ground", // what every page stands on: session, address, dialogs, problems
  "live place plugin sign-in",
  "field", // a plugin may draw a field
  "action chart filter form grid guide merge palette saved task", // parts of pages, and pages with none below them
  "range", // cells of a list as a table, and changes of many
  "list",
  "audit board jobs layout record users webhooks", // a block and a record show rows as a list does
  "account", // the same accounts as among the users
  "shell", // the gate, the frame, and which page is at an address
  "main.tsx",
  "first" // what stands in the page before the app is run
]
const storeys = [
  { folder: "core/domain/", floors: domain.map(words) },
  { folder: "core/app/", floors: uses.map(words) },
  { folder: "web/admin/", floors: pages.map(words) }
]

/**
 * The packages, and the folders that may import each; the first row that fits decides. A star stands for any rest.
 * Core and adapters import nothing that has no row, so a new technology is a new row.
 */
const packages = [
  { name: "effect", in: [], instead: "import effect/<Module>: the barrel costs about a second of cold start" },
  { name: "effect/http*", in: ["adapters/http/", "composition/"] },
  { name: "effect/sql*", in: ["adapters/postgres/", "adapters/queue/"] },
  { name: "effect/cli*", in: ["composition/"] },
  { name: "effect/testing*", in: [], instead: "only tests may import it" },
  // The rest of the young modules: they may still change, so core does without.
  { name: "effect/[a-z]*", in: ["adapters/", "composition/"] },
  { name: "@effect/platform-node*", in: ["adapters/http/", "composition/"] },
  { name: "@effect/sql-pg*", in: ["adapters/postgres/", "adapters/queue/"] },
  { name: "pg*", in: ["adapters/postgres/", "adapters/queue/", "composition/"] },
  { name: "jose*", in: ["adapters/auth/"] },
  { name: "better-auth*", in: ["adapters/auth/"] },
  { name: "@better-auth/*", in: ["adapters/auth/"] },
  { name: "kysely*", in: ["adapters/auth/"] },
  { name: "re2js*", in: ["core/domain/filter/"] },
  {
    name: "react*",
    in: ["web/admin/", "web/react/", "web/plugin/"],
    instead: "only web/admin, web/react and plugins draw pages"
  },
  { name: "@tanstack/*", in: ["web/admin/", "web/react/"] },
  { name: "@codemirror/*", in: ["web/admin/filter/"] },
  { name: "lucide*", in: ["web/admin/"] },
  { name: "sharp*", in: ["adapters/images/"] },
  { name: "thumbhash*", in: ["adapters/images/", "web/admin/"] },
  { name: "@aws-sdk/*", in: ["adapters/storage-s3/"] },
  { name: "file-type*", in: ["adapters/detector/"] },
  { name: "@fastify/busboy*", in: ["adapters/http/"] },
  { name: "croner*", in: ["core/domain/job/"] },
  { name: "graphile-worker*", in: ["adapters/queue/"] },
  { name: "nodemailer*", in: ["adapters/mail/"] },
  { name: "node:*", in: ["adapters/", "composition/"] }
]

/** What a `*.test.ts` beside the code may import on top of its layer. */
const tests = {
  files: ["test/"],
  packages: ["vitest", "@effect/vitest*", "effect/testing*", "effect/[A-Z]*", "node:*"]
}

/** Names that say nothing about what a file decides. */
const vague = words("utils helpers common types manager service")

const roots = words("core adapters composition web examples bench test")
const layered = words("core adapters composition web")

/** `*` is any text, `[a-z]` one letter; in a folder `*` is one segment. A prefix like `pg*` stops at a `-` or `/`. */
const pattern = (text, rest) =>
  new RegExp(`^${text.replace(/[.@/]/g, "\\$&").replace(/(\w)?\*/g, (_, before) => (before ?? "") + rest(before))}`)
const fitsFolder = (path, folder) => pattern(folder, () => "[^/]+").test(path)
const fitsPackage = (name, row) =>
  pattern(`${row}$`, (before) => (before === undefined ? ".*" : "(?:[-/].*)?")).test(name)

const isTest = (path) => /\.test\.tsx?$/.test(path)
const layerOf = (path) => layers.find((layer) => fitsFolder(path, layer.folder))
const packageOf = (specifier) => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

function* sources(root, folder) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === "node_modules" || entry.name === "dist" || entry.name.startsWith(".")) continue
    const path = posix.join(folder, entry.name)
    if (entry.isDirectory()) yield* sources(root, path)
    else if (/\.[cm]?[jt]sx?$/.test(entry.name)) yield path
  }
}

/** Every node of a syntax tree, parents first; a loop and not a recursion, because an expression may be long. */
function* nodes(program) {
  const waiting = [program]
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (typeof node.type === "string") yield node
    for (const value of Object.values(node)) {
      if (value !== null && typeof value === "object" && !(value instanceof RegExp)) waiting.push(value)
    }
  }
}

/** The module that a node imports, as the node that names it; undefined when it imports none. */
const importedBy = (node) => {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return node.source
    case "ExportNamedDeclaration":
      return node.source ?? undefined
    case "TSExternalModuleReference":
      return node.expression
    case "CallExpression":
      return node.callee.type === "Identifier" && node.callee.name === "require" ? node.arguments[0] : undefined
    default:
      return undefined
  }
}

const textOf = (node) => {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value
  if (node?.type === "TemplateLiteral" && node.expressions.length === 0) return node.quasis[0].value.cooked
  return undefined
}

/** The file of this project that `path` imports as `specifier`; undefined for anything else. */
const targetOf = (project, path, specifier) =>
  specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : project.entries.get(specifier)

/** The room that a file stands in, a folder or a file of its own, and its floor: -1 where the table has no place for it. Undefined where there are no floors. */
const roomOf = (path) => {
  const storey = storeys.find(({ folder }) => path.startsWith(folder))
  if (storey === undefined) return undefined
  const [first, ...rest] = path.slice(storey.folder.length).split("/")
  const name = rest.length > 0 || storey.floors.some((row) => row.includes(first)) ? first : "*"
  return { storey, name, floor: storey.floors.findIndex((row) => row.includes(name)) }
}

/** Why `path` may not import `target`, both files of one house with floors; undefined when it may. Tests may: nobody imports them. */
const floorRefusal = (path, target) => {
  const [from, to] = [roomOf(path), roomOf(target)]
  if (
    from?.storey !== to?.storey || from === undefined || from.name === to.name || isTest(path) || to.floor < from.floor
  ) {
    return undefined
  }
  return `${
    from.name === "*" ? "the ground" : from.name
  } is not above ${to.name}: move what both need to a floor below them`
}

/** Why `path` may not import `specifier`; undefined when it may. */
const refusal = (project, layer, path, specifier) => {
  if (specifier.startsWith(".") || specifier.startsWith("/") || packageOf(specifier) === project.name) {
    const target = targetOf(project, path, specifier) ?? specifier
    if (isTest(target)) return `${target} is a test`
    const own = layer.folder.includes("*") ? path.split("/").slice(0, 2).join("/") + "/" : layer.folder
    const allowed = [own, ...layer.files, ...(isTest(path) ? tests.files : [])]
    if (allowed.some((each) => (each.endsWith("/") ? target.startsWith(each) : target === each))) {
      return floorRefusal(path, target)
    }
    return `${own} may import only ${allowed.join(", ")} but not ${target}`
  }

  // The build of the app makes it, from pages of docs/ (scripts/guides.mjs).
  if (specifier === "virtual:guides" && path.startsWith("web/admin/guide/")) return undefined
  const builtin = builtinModules.includes(specifier) ? `node:${specifier}` : specifier
  if (isTest(path) && tests.packages.some((row) => fitsPackage(builtin, row))) return undefined
  const row = packages.find((each) => fitsPackage(builtin, each.name))
  if (row !== undefined) {
    if (!row.in.some((folder) => path.startsWith(folder))) {
      return `${specifier}: ${row.instead ?? `only ${row.in.join(", ")} may import it`}`
    }
  } else if (/^effect\/[A-Z]/.test(builtin)) {
    if (!layer.effect(builtin.slice("effect/".length))) return `${specifier} is not for ${layer.folder}`
  } else if (!layer.open) return `${specifier} is not listed in the table of packages`

  const name = packageOf(builtin)
  const bundled = path.startsWith("web/")
  if (
    !builtin.startsWith("node:") && !project.shipped.has(name) &&
    !(project.declared.has(name) && (bundled || isTest(path)))
  ) {
    return `${name} is not among the dependencies of package.json`
  }
  return undefined
}

const isClock = (node) =>
  (node.type === "NewExpression" || node.type === "CallExpression") && node.callee.type === "Identifier"
  && node.callee.name === "Date" && (node.type === "CallExpression" || node.arguments.length === 0)

/** Whether an import is gone when the program runs. */
const isOfTypes = (node) => node.importKind === "type" || node.exportKind === "type" || node.type === "TSImportType"

/**
 * Judges one file. Gives the files of this project that it imports, each with the place of its first import and whether only types are imported.
 */
const checkFile = (project, path, text, report) => {
  const stems = path.split("/").map((part) => part.split(".")[0])
  if (stems.some((stem) => vague.includes(stem.toLowerCase()))) {
    report(0, "file-name", `say what it is about, not ${vague.join(", ")}`)
  }

  const language = /\.([cm]?[jt]sx?)$/.exec(path)[1].replace(/^[cm]/, "")
  const parsed = parseSync(path, text, { lang: language, sourceType: "module" })
  for (const error of parsed.errors) report(error.labels?.[0]?.start ?? 0, "syntax", error.message)

  const layer = layerOf(path)
  const inLayers = layered.includes(stems[0])
  if (inLayers && layer === undefined) report(0, "layer", "belongs to no layer, so nothing says what it may import")
  const room = roomOf(path)
  if (room !== undefined && room.floor === -1 && !isTest(path)) {
    report(0, "floor", `${room.storey.folder}${room.name} is on no floor: give it a place in the table of floors`)
  }

  const entry = project.sources.has(path)
  const imports = new Map()
  for (const node of nodes(parsed.program)) {
    if (node.type === "ExportAllDeclaration" && node.exported === null && !entry) {
      report(node.start, "export-all", "export * hides what a file gives; only a package entry may")
    }
    if (path.startsWith("core/") && !isTest(path) && isClock(node)) {
      report(node.start, "clock", "reads the clock; take the time as an argument")
    }
    const source = importedBy(node)
    if (source === undefined) continue
    const specifier = textOf(source)
    const target = specifier === undefined ? undefined : targetOf(project, path, specifier)
    if (target !== undefined) {
      const { start, types } = imports.get(target) ?? { start: Infinity, types: true }
      imports.set(target, { start: Math.min(source.start, start), types: types && isOfTypes(node) })
    }
    if (layer === undefined) continue
    if (specifier === undefined) {
      // composition loads the config of the user, whose path nobody knows before.
      if (!layer.open) report(node.start, "import", "imports a module whose name is computed")
      continue
    }
    const reason = refusal(project, layer, path, specifier)
    if (reason !== undefined) report(source.start, "import", reason)
  }
  return imports
}

/** The shortest way from a file back to itself, as its files in order; null when there is none. `graph`: what each file imports. */
const circleFrom = (graph, start) => {
  const before = new Map()
  const waiting = [start]
  for (const file of waiting) {
    for (const next of graph.get(file)?.keys() ?? []) {
      if (next === start) {
        const circle = [file]
        while (circle[0] !== start) circle.unshift(before.get(circle[0]))
        return circle
      }
      if (before.has(next)) continue
      before.set(next, file)
      waiting.push(next)
    }
  }
  return null
}

/** Circles between files, imports of types included: a shortest one for each file that is on none reported before. */
const circlesOf = (graph) => {
  const circles = []
  const reported = new Set()
  for (const start of graph.keys()) {
    const circle = reported.has(start) ? null : circleFrom(graph, start)
    if (circle === null) continue
    circles.push(circle)
    for (const file of circle) reported.add(file)
  }
  return circles
}

const readProject = (root) => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const entries = new Map()
  for (const [name, target] of Object.entries(manifest.exports ?? {})) {
    const source = typeof target === "string" ? target : target.source
    entries.set(posix.join(manifest.name, name), posix.normalize(source))
  }
  const shipped = new Set([
    ...Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies }),
    ...vendored
  ])
  const declared = new Set([...shipped, ...Object.keys(manifest.devDependencies ?? {})])
  return { name: manifest.name, entries, sources: new Set(entries.values()), shipped, declared }
}

const placeOf = (text, offset) => {
  const before = text.slice(0, offset).split("\n")
  return { line: before.length, column: before.at(-1).length + 1 }
}

/**
 * Checks a tree. Gives how many files it read, what each imports, and the violations:
 * `{ path, line, column, rule, message }`, lines and columns from 1, in the order of paths and places; circles come last.
 */
export const checkTree = (root) => {
  const project = readProject(root)
  const violations = []
  const graph = new Map()
  const texts = new Map()
  let files = 0
  const present = readdirSync(root)
  for (const folder of roots.filter((each) => present.includes(each))) {
    for (const path of sources(root, folder)) {
      files += 1
      const text = readFileSync(join(root, path), "utf8")
      const found = []
      texts.set(path, text)
      graph.set(path, checkFile(project, path, text, (offset, rule, message) => found.push({ offset, rule, message })))
      for (const { offset, rule, message } of found.sort((a, b) => a.offset - b.offset)) {
        violations.push({ path, ...placeOf(text, offset), rule, message })
      }
    }
  }
  for (const circle of circlesOf(graph)) {
    const [path, next = path] = circle
    const message = `${[...circle, path].join(" -> ")}: move what both sides need into a file below them`
    violations.push({ path, ...placeOf(texts.get(path), graph.get(path).get(next).start), rule: "circle", message })
  }
  return { files, graph, violations }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { files, violations } = checkTree(process.cwd())
  for (const each of violations) {
    process.stdout.write(`${each.path}:${each.line}:${each.column} ${each.rule}: ${each.message}\n`)
  }
  process.stdout.write(`boundaries: ${files} files, ${violations.length} violations\n`)
  if (violations.length > 0 || files === 0) process.exitCode = 1
}
