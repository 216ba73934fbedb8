// Finds the tests that a change touches. A change is followed through the part it is in (core, one adapter, one package of web, composition, test), to the
// tests beside the code there. Tests elsewhere count that import a changed file, or a file of its folder that it reaches. Through the composed service nearly
// every test imports nearly every file: those tests are what `npm test` as a whole is for.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { dirname } from "node:path/posix"
import { checkTree } from "./boundaries.mjs"

/** The part of the project that a file is in, as the beginning of its path. */
const partOf = (path) => /^(?:adapters|web|examples)\/[^/]+\/|^[^/]+\//.exec(path)?.[0] ?? ""

/** Tests that no import leads to: they read files as text, run them as programs, or reach them over HTTP. */
const readers = [
  { files: /^(docs\/|README\.md$)/, tests: /^test\/(docs|cli\/docs|http\/docs)/ },
  { files: /^(scripts\/|\.oxlintrc)/, tests: /^test\/lint\// },
  { files: /^examples\//, tests: /^test\/examples\// },
  { files: /^core\/app\//, tests: /^test\/(app|http)\// },
  { files: /^adapters\/http\//, tests: /^test\/http\/edge/ },
  { files: /^web\/admin\//, tests: /^test\/browser\/admin\/(list|record|form)/ }
]
/** What changes how every test runs. */
const everything = /^(package(-lock)?\.json|vitest\.config\.ts|tsconfig\.json|scripts\/(test|report)\.mjs)$/

const isTest = (path) => /\.test\.tsx?$/.test(path)

const git = (root, ...args) => {
  const { status, stderr, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" })
  if (status !== 0) throw new Error(`git ${args.join(" ")} failed: ${stderr}`)
  return stdout.split("\n").filter((line) => line !== "")
}

/** Files that differ from a revision, those that git does not know yet included. */
const changedFiles = (root, revision) => [
  ...new Set([
    ...git(root, "diff", "--name-only", revision),
    ...git(root, "ls-files", "--others", "--exclude-standard")
  ])
]

/** The tests that a change of `files` touches, in the order of the graph. `graph`: what each file of the project imports, see `checkTree`. */
export const testsOf = (graph, files) => {
  const importers = new Map()
  for (const [path, imports] of graph) {
    for (const [target, { types }] of imports) {
      if (!types) importers.set(target, [...importers.get(target) ?? [], path])
    }
  }
  const reached = new Set()
  for (const start of files) {
    const part = partOf(start)
    const way = new Set([start])
    for (const path of way) {
      for (const importer of importers.get(path) ?? []) {
        if (importer.startsWith(part)) way.add(importer)
        else if (isTest(importer) && dirname(path) === dirname(start)) reached.add(importer)
      }
    }
    for (const path of way) reached.add(path)
    const port = /^core\/ports\/(.+)\.ts$/.exec(start)?.[1]
    if (port !== undefined) reached.add(`test/contracts/${port}.test.ts`)
  }
  for (const { files: read, tests } of readers) {
    if (files.some((file) => read.test(file))) {
      for (const path of graph.keys()) if (tests.test(path)) reached.add(path)
    }
  }
  const all = files.some((file) => everything.test(file))
  return [...graph.keys()].filter((path) => isTest(path) && (all || reached.has(path)))
}

/** The tests that a change since `revision` (the last commit unless given) touches, and a line that says so. */
export const touched = (root, revision = "HEAD") => {
  const { graph } = checkTree(root)
  const changed = changedFiles(root, revision)
  const files = testsOf(graph, changed).filter((path) => existsSync(join(root, path)))
  return {
    files,
    why: `${changed.length} files changed since ${revision}; ${files.length} of ${
      [...graph.keys()].filter(isTest).length
    } test files stand close to them. All others run with \`npm test\`.`
  }
}
