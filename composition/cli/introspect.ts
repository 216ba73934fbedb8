/**
 * The `introspect` command: reads the database's tables and writes them as one generated file of resources, beside a configuration that
 * belongs to people. A generated file that somebody edited is not replaced unless that is asked for.
 */

import * as Effect from "effect/Effect"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { basename, join, relative, resolve } from "node:path"
import { parseEnv } from "node:util"
import { makeFacts } from "../../adapters/postgres/facts.ts"
import type { FunctionFacts, TableFacts } from "../../core/domain/compile/catalogue.ts"
import { rowsOf } from "../../core/domain/compile/function-facts.ts"
import { printRefusals } from "../../core/domain/declare/refusal.ts"
import { configNames } from "../config-file.ts"
import { envFile, type Settings, settingsOf } from "../environment.ts"
import { draftResources, type Drafts } from "../introspect/draft.ts"
import { printModule, provenance, selectionOf } from "../introspect/print.ts"
import { select, type TableSelection } from "../introspect/select.ts"
import { same, type ViewKey, viewKeys } from "../introspect/table-key.ts"
import { traceViews, withForeignKeys } from "../introspect/trace.ts"
import { refusalsOf } from "../introspect/verify.ts"
import { StartupError } from "../startup-error.ts"
import { withPostgres } from "../startup.ts"
import { CliFailure, print, printJson } from "./output.ts"
import { type ProjectFlags, withDatabases } from "./project.ts"
import { exampleConfig, introspectedConfig, type NewFile, projectFiles } from "./scaffold.ts"

const namesOf = (text: string | undefined): readonly string[] =>
  (text ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "")

/** The functions whose rows are asked for: those that the patterns of tables choose. */
const chosenOf = (functions: readonly FunctionFacts[], selection: TableSelection): readonly FunctionFacts[] => {
  const rows = new Map(functions.map((each) => [rowsOf(each), each]))
  return select([...rows.keys()], selection).tables.map((table) => rows.get(table)!)
}

/** Everything in the given schemas, and a key for each view that has one, where views are asked for. */
const readTables = (
  url: string,
  schemas: readonly string[],
  views: boolean
): Promise<{
  readonly tables: readonly TableFacts[]
  readonly views: readonly ViewKey[]
  readonly functions: readonly FunctionFacts[]
}> =>
  withPostgres({ url, readConnections: 1 }, (postgres) =>
    Effect.gen(function*() {
      const facts = makeFacts(postgres)
      const all = yield* facts.all(schemas)
      if (!views) return { tables: all, views: [], functions: [] }
      const traced = traceViews(yield* facts.trees())
      const tracedOf = (table: TableFacts) => traced.find((each) => same(table, each)) ?? null
      const tables = all.map((table) => {
        const own = tracedOf(table)
        return own === null ? table : withForeignKeys(table, own, all)
      })
      const keys: ViewKey[] = []
      for (const table of tables) {
        if (!table.privileges.select) continue
        for (const columns of viewKeys(table, tables, tracedOf(table))) {
          const holds = yield* facts.identifies({ schema: table.schema, table: table.name }, columns)
          if (holds === false) continue
          keys.push({ table, columns, holds })
          break
        }
      }
      return { tables, views: keys, functions: yield* facts.rowFunctions(schemas) }
    }))

/** The tables to read: those named in this call, else those that the existing file was made from. */
const selectionFor = (
  asked: TableSelection,
  stored: TableSelection | null
): TableSelection => {
  if (stored === null || asked.schemas.length > 0 || asked.tables.length > 0) return asked
  return {
    ...stored,
    exclude: asked.exclude.length > 0 ? asked.exclude : stored.exclude,
    views: stored.views || asked.views
  }
}

/** Replaces a file as a whole, so that a reader never sees half of it. */
const replace = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

/** Writes the project files that do not exist yet; gives their names, and the names of replaced files. */
const completeProject = (
  folder: string,
  module: string
): { readonly written: readonly string[]; readonly replaced: string | null } => {
  const written: string[] = []
  for (const { path, secret, text } of projectFiles(folder)) {
    if (existsSync(join(folder, path))) continue
    writeFileSync(join(folder, path), text, { flag: "wx", mode: secret === true ? 0o600 : 0o644 })
    written.push(path)
  }
  const config = configNames.find((name) => existsSync(join(folder, name)))
  // The unchanged example of a new project is replaced by the real thing.
  if (config === undefined || readFileSync(join(folder, config), "utf8") === exampleConfig) {
    replace(join(folder, config ?? configNames[0]), introspectedConfig(module))
    if (config !== undefined) return { written, replaced: config }
    written.push(configNames[0])
  }
  return { written, replaced: null }
}

/** A line for each table that has no resource, with the reason. */
const leftOut = ({ frameworks, left }: Pick<Drafts, "frameworks" | "left">): readonly string[] => [
  ...left,
  ...(frameworks ?? []).map(({ of, table }) => `${table}: ${of} keeps it for itself; name it with --tables to have it`)
]

/** The resources of what is selected in a project's database. Throws a `CliFailure` where there is nothing to declare. */
const readDrafts = async (settings: Settings, selection: TableSelection) => {
  const schemas = selection.schemas.length === 0 ? ["public"] : selection.schemas
  const { functions, tables, views } = await withDatabases(
    settings,
    null,
    ({ url }) => readTables(url, schemas, selection.views)
  )
  const { frameworks, missing, tables: chosen } = select(tables, selection)
  if (missing.length > 0) {
    throw new CliFailure(
      `There is no table ${missing.join(", ")} in ${
        schemas.map((name) => `schema ${name}`).join(", ")
      }; --schema names other schemas to look in.`
    )
  }
  const drafts = {
    ...draftResources(chosen, selection.views ? views : null, chosenOf(functions, selection)),
    frameworks
  }
  if (drafts.resources.length === 0) {
    throw new CliFailure(
      `There is no table with a primary key in ${schemas.map((name) => `schema ${name}`).join(", ")}${
        settings.databaseUrl === null ? ` of the embedded database in ${settings.data}: DATABASE_URL is not set` : ""
      }.${drafts.left.length === 0 ? "" : `\n${drafts.left.map((line) => `  ${line}`).join("\n")}`}`
    )
  }
  const empty = schemas.filter((name) => !tables.some(({ schema }) => schema === name))
  const refused = refusalsOf(printModule(drafts, selection, false))
  if (refused.length > 0) {
    throw new CliFailure(
      `Nothing was written: the file would be refused. This is a fault of the command; --exclude leaves tables out.\n${
        printRefusals(refused)
      }`
    )
  }
  return { drafts, empty, schemas }
}

/** The result of `init` for a database: the generated file, its configuration, and the objects that were left out. */
export const filesOf = async (
  folder: string,
  url: string
): Promise<{ readonly files: readonly NewFile[]; readonly left: readonly string[] }> => {
  const { refusals, settings } = settingsOf({ folder, env: { ...process.env, DATABASE_URL: url } })
  if (refusals.length > 0) throw new StartupError(refusals)
  const selection = { schemas: [], tables: [], exclude: [], views: false }
  const { drafts } = await readDrafts(settings, selection)
  const path = "admin.resources.ts"
  return {
    files: [
      { path, text: printModule(drafts, selection, true) },
      { path: configNames[0], text: introspectedConfig(path) }
    ],
    left: leftOut(drafts)
  }
}

export const introspectCommand = async (
  flags: ProjectFlags & {
    readonly schema: string | undefined
    readonly tables: string | undefined
    readonly exclude: string | undefined
    readonly out: string | undefined
    readonly views: boolean
    readonly check: boolean
    readonly force: boolean
    readonly json: boolean
  }
): Promise<void> => {
  const { refusals, settings } = settingsOf({ folder: flags.project })
  if (refusals.length > 0) throw new StartupError(refusals)
  if (!existsSync(settings.folder)) throw new CliFailure(`There is no folder ${settings.folder}.`)
  const path = resolve(settings.folder, flags.out ?? "admin.resources.ts")
  const before = existsSync(path) ? readFileSync(path, "utf8") : null
  const selection = selectionFor({
    schemas: namesOf(flags.schema),
    tables: namesOf(flags.tables),
    exclude: namesOf(flags.exclude),
    views: flags.views
  }, before === null ? null : selectionOf(before))
  const { drafts, empty, schemas } = await readDrafts(settings, selection)
  const text = printModule(drafts, selection, !/\.[cm]?js$/.test(path))
  const state = before === null ? "missing" : before === text ? "current" : provenance(before)
  const left = leftOut(drafts)
  const report = (change: "written" | "unchanged" | "outdated", files: readonly string[]): void => {
    const short = relative(settings.folder, path)
    if (flags.json) {
      printJson({
        file: short,
        change,
        files,
        resources: drafts.resources.map(({ fields, name }) => ({ name, fields: fields.length })),
        left
      })
      return
    }
    for (const file of files) print(`Wrote ${file}`)
    if (change === "unchanged") print(`${short} is up to date: ${drafts.resources.length} resources.`)
    if (change === "written") print(`${drafts.resources.length} resources from ${schemas.join(", ")}.`)
    if (change === "outdated") print(`${short} is not up to date. Run: service introspect`)
    for (const line of left) print(`  left out ${line}`)
    for (const name of empty) print(`  nothing found in schema ${name}`)
  }

  if (flags.check) {
    report(state === "current" ? "unchanged" : "outdated", [])
    if (state !== "current") process.exitCode = 1
    return
  }
  if ((state === "edited" || state === "foreign") && !flags.force) {
    throw new CliFailure(
      state === "foreign"
        ? `${path} was not written by this command. Choose another file with --out, or replace it with --force.`
        : `${path} was edited by hand since it was generated. Move the changes to admin.config.ts (extendResource), then run the command again with --force.`
    )
  }
  const files: string[] = []
  if (state !== "current") {
    replace(path, text)
    files.push(relative(settings.folder, path))
  }
  const { replaced, written: made } = completeProject(
    settings.folder,
    relative(settings.folder, path).replaceAll("\\", "/")
  )
  files.push(...made, ...(replaced === null ? [] : [replaced]))
  report(state === "current" ? "unchanged" : "written", files)
  if (flags.json) return
  if (replaced !== null) {
    print(`${replaced} was the unchanged example of init. It now has the resources of your tables.`)
  }
  const config = configNames.map((name) => join(settings.folder, name)).find((file) => existsSync(file))
  const declared = config === undefined ? null : readFileSync(config, "utf8")
  const used = declared === null || declared.includes(basename(path).replace(/\.[cm]?ts$/, ""))
  if (config !== undefined && (!used || !/\bviews\b/.test(declared ?? ""))) {
    print(
      `\n${basename(config)} does not use ${
        used ? "its views" : "it"
      } yet. Add:\n  import { resources, views } from "./${
        relative(settings.folder, path)
      }"\n  … defineConfig({ resources, views, … })`
    )
  }
  if (!made.includes("package.json")) return
  // A variable set in this terminal only is lost with it. The service would then begin an empty database of its own.
  const isInFile = existsSync(envFile(settings.folder)) &&
    parseEnv(readFileSync(envFile(settings.folder), "utf8"))["DATABASE_URL"] !== undefined
  print(`
Next:
${settings.databaseUrl === null || isInFile ? "" : "  write DATABASE_URL into .env\n"}  npm install
  npx service migration --apply
  npx service users create <EMAIL> --generate-password
  npx service dev`)
}
