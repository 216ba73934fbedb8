/**
 * The commands about files: `files cleanup` deletes due files, `files check` compares rows with the storage, `files copy` copies a provider to another
 * place. They follow every rule of the service: a file that a row holds is never deleted.
 */

import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { cleanup as runCleanup } from "../../core/app/file/cleanup.ts"
import type { Core } from "../../core/app/ground/core.ts"
import type { Files } from "../../core/app/ground/files.ts"
import { uploadDueMs } from "../../core/domain/file/cleanup.ts"
import { readProviderAddress } from "../../core/domain/file/provider.ts"
import { typeOfExtension } from "../../core/domain/file/type.ts"
import { extensionOf, isExternalUrl, pathsOf, readStored } from "../../core/domain/file/uri.ts"
import { always } from "../../core/domain/filter/tree.ts"
import type { Field, Model } from "../../core/domain/model/model.ts"
import { writeKey } from "../../core/domain/read/key.ts"
import type { Cell, Json } from "../../core/domain/value/kind.ts"
import { elementsOf } from "../../core/domain/value/list.ts"
import { fileFieldsOf } from "../../core/domain/write/file-values.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import type { Bytes, ListedFile, StorageError, StorageService } from "../../core/ports/storage.ts"
import { fileSettingsOf, filesSecretsOf } from "../assembly.ts"
import { storageOf } from "../files.ts"
import { makeFoundation } from "../foundation.ts"
import { withPostgres } from "../startup.ts"
import { CliFailure, note, print, printJson, printTable } from "./output.ts"
import { loadProject, type Project, type ProjectFlags, withDatabases } from "./project.ts"

interface Printed {
  readonly json: boolean
}

/** Runs work on the project's core, whose files are there. `log` takes lines about single files that fail. */
export const withCore = async <A>(
  flags: ProjectFlags,
  work: (core: Core, files: Files) => Effect.Effect<A, RecordsError | StorageError>,
  log?: (line: string) => void
): Promise<A> => {
  const project = await loadProject(flags)
  const filesSecret = filesSecretsOf(project, project.settings)
  return withDatabases(
    project.settings,
    project.config,
    ({ url }) =>
      withPostgres({ url, readConnections: 2, schemas: project.compiled.schemas }, (postgres) => {
        const { core } = makeFoundation({
          compiled: project.compiled,
          records: makeRecords(postgres),
          secret: project.secret,
          fileSettings: fileSettingsOf(project.settings),
          ...(log === undefined ? {} : { log }),
          ...(filesSecret === null ? {} : { filesSecret })
        })
        const { files } = core
        if (files === null) throw new CliFailure("No resource of this project has a file field.")
        return Effect.catch(work(core, files), (error) => failed(error))
      })
  )
}

/** A storage that fails ends the command; a database that does is explained by whoever opened it. */
const failed = (error: RecordsError | StorageError): Effect.Effect<never, RecordsError> =>
  error._tag === "RecordsError"
    ? Effect.fail(error)
    : Effect.sync(() => {
      throw new CliFailure(`The storage of files failed (${error.reason}). service doctor says more.`)
    })

/** `files cleanup`: one run, as the server does it. */
export const cleanup = async (flags: ProjectFlags & Printed): Promise<void> => {
  const result = await withCore(flags, (core) => runCleanup(core))
  if (result.failed > 0) process.exitCode = 1
  if (flags.json) return printJson(result)
  print(
    `Deleted ${result.deleted}, kept ${result.kept}${
      result.failed === 0 ? "" : `, failed ${result.failed}: see service doctor`
    }.`
  )
}

// ---------------------------------------------------------------------------------------------------------------- checking

/** Something about files that does not fit together. */
interface Mismatch {
  readonly problem: "missing" | "wrong size" | "unknown value" | "held by no row"
  readonly place: string
  readonly file: string
}

const pageSize = 1_000

/** An element of a list as text; nulls and arrays are values of no known file. */
const textOf = (element: Json): string => typeof element === "string" ? element : JSON.stringify(element)

/** Every value of a file field, with the record's key. */
const valuesOf = Effect.fnUntraced(function*(
  core: Core,
  model: Model,
  field: Field,
  each: (key: string, value: string) => void
): Effect.fn.Return<void, RecordsError> {
  const order = [...model.key, ...(model.tenant === null || model.key.includes(model.tenant) ? [] : [model.tenant])]
  const columns = [...order, field]
  const shape = {
    model,
    columns,
    where: always,
    order: order.map((sort) => ({ field: sort, descending: false })),
    limit: pageSize,
    checks: []
  }
  const bindings = { caller: { id: "", tenant: null, roles: [] }, now: 0n, params: [] }
  let after: readonly Cell[] | undefined
  for (;;) {
    const rows: readonly (readonly Cell[])[] = yield* core.records.page({
      shape,
      bindings,
      ...(after === undefined ? {} : { after })
    })
    for (const row of rows) {
      const value = row[order.length] ?? null
      const texts = value === null ? [] : field.kind === "list" ? elementsOf(value).map(textOf) : [value]
      for (const text of texts) each(writeKey(row.slice(0, model.key.length)), text)
    }
    if (rows.length < pageSize) return
    after = rows.at(-1)!.slice(0, order.length)
  }
})

const listAll = Effect.fnUntraced(
  function*(storage: StorageService): Effect.fn.Return<readonly ListedFile[], StorageError> {
    const all: ListedFile[] = []
    for (;;) {
      const page: readonly ListedFile[] = yield* storage.list({
        prefix: "",
        after: all.at(-1)?.path ?? null,
        limit: pageSize
      })
      all.push(...page)
      if (page.length < pageSize) return all
    }
  }
)

const checkAll = Effect.fnUntraced(
  function*(core: Core, files: Files): Effect.fn.Return<readonly Mismatch[], RecordsError | StorageError> {
    const stored = new Map<string, Map<string, ListedFile>>()
    for (const { name, storage } of files.providers.values()) {
      stored.set(
        name,
        new Map((yield* listAll(storage)).filter(({ path }) => !path.startsWith(".")).map((file) => [file.path, file]))
      )
    }
    const mismatches: Mismatch[] = []
    const held = new Set<string>()
    const versions = new Set([...core.models.values()].map(({ history }) => history))
    for (const model of core.models.values()) {
      if (versions.has(model.name)) continue
      for (const field of fileFieldsOf(model)) {
        yield* valuesOf(core, model, field, (key, value) => {
          const place = `${model.name}/${key} ${field.name}`
          const file = readStored(value)
          const listing = file === null ? undefined : stored.get(file.provider)
          if (file === null || listing === undefined) {
            if (!(field.file?.externalUrls === true && isExternalUrl(value))) {
              mismatches.push({ problem: "unknown value", place, file: value })
            }
            return
          }
          for (const path of pathsOf(file)) {
            held.add(`${file.provider}:${path}`)
            const there = listing.get(path)
            if (there === undefined) mismatches.push({ problem: "missing", place, file: `${file.provider}:${path}` })
            else if (path === file.path && file.size !== null && file.size !== there.size) {
              mismatches.push({
                problem: "wrong size",
                place,
                file: `${file.provider}:${path} (${there.size} bytes, not ${file.size})`
              })
            }
          }
        })
      }
    }
    // What was uploaded lately may still be attached.
    const young = files.now() - uploadDueMs
    for (const [provider, listing] of stored) {
      for (const { modified, path } of listing.values()) {
        const file = `${provider}:${path}`
        if (modified < young && !held.has(file)) mismatches.push({ problem: "held by no row", place: "", file })
      }
    }
    return mismatches
  }
)

/** `files check`: rows whose file is missing or of another size, values of no known file, files that no row holds. Exit code 1 for the first two. */
export const check = async (flags: ProjectFlags & Printed): Promise<void> => {
  const mismatches = await withCore(flags, checkAll)
  if (mismatches.some(({ problem }) => problem === "missing" || problem === "wrong size")) process.exitCode = 1
  if (flags.json) return printJson({ found: mismatches })
  printTable(
    ["PROBLEM", "RECORD", "FILE"],
    mismatches.map(({ file, place, problem }) => [problem, place, file]),
    "Every file that a row holds is there, and every stored file is held."
  )
}

// ----------------------------------------------------------------------------------------------------------------- copying

const hashed = async (bytes: Bytes): Promise<string> => {
  const hash = createHash("sha256")
  for await (const chunk of bytes) hash.update(chunk)
  return hash.digest("hex")
}

/** Copies one file and reads both back; answers whether it was copied now. */
const copyOne = Effect.fnUntraced(function*(
  from: StorageService,
  to: StorageService,
  { path, size }: ListedFile
): Effect.fn.Return<boolean, StorageError> {
  const there = yield* to.head(path)
  if (there?.size === size) return false
  const source = yield* from.read(path, null)
  // Deleted since it was listed.
  if (source === null) return false
  const hash = createHash("sha256")
  async function* counted(bytes: Bytes): Bytes {
    for await (const chunk of bytes) {
      hash.update(chunk)
      yield chunk
    }
  }
  const type = path.startsWith(".") ? "application/json" : typeOfExtension(extensionOf(path))
  const written = yield* to.put(path, counted(source.bytes), { type, size })
  const copy = yield* to.read(path, null)
  const same = copy !== null && written === size &&
    (yield* Effect.promise(() => hashed(copy.bytes))) === hash.digest("hex")
  if (!same) {
    yield* to.remove(path)
    throw new CliFailure(`${path} was not copied as it is; run the command again.`)
  }
  return true
})

const targetOf = (name: string, address: string, project: Project): StorageService => {
  const said: string[] = []
  const target = readProviderAddress(name, address, "The target", (message, fix) => said.push(`${message} ${fix}`))
  if (target === null) throw new CliFailure(said.join("\n"))
  const settings = fileSettingsOf(project.settings)
  if (target.place.of === "s3" && settings.keys(name) === null) {
    throw new CliFailure(`The target is a bucket without keys: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.`)
  }
  return storageOf(target, settings)
}

/** `files copy PROVIDER TARGET`: copies all files and scheduled deletes of a provider. What is there already in the same size is left alone. */
export const copy = async (
  flags: ProjectFlags & Printed & { readonly provider: string; readonly target: string }
): Promise<void> => {
  const { provider: name, target } = flags
  const project = await loadProject(flags)
  const provider = project.compiled.files.providers.get(name)
  if (provider === undefined) {
    throw new CliFailure(
      `There is no provider "${name}". There are: ${[...project.compiled.files.providers.keys()].join(", ") || "none"}.`
    )
  }
  const [from, to] = [storageOf(provider, fileSettingsOf(project.settings)), targetOf(name, target, project)]
  const result = await Effect.runPromise(Effect.catch(
    Effect.gen(function*() {
      const listed = (yield* listAll(from)).filter(({ path }) => !path.startsWith(".tmp/"))
      const done = yield* Effect.forEach(listed, (file) => copyOne(from, to, file), { concurrency: 4 })
      return { files: listed.length, copied: done.filter(Boolean).length }
    }),
    failed
  ))
  if (flags.json) return printJson(result)
  print(`Copied ${result.copied} of ${result.files} files; the others were there.`)
  note(
    `Set the provider's address to the target, restart the service, and run the command once more for what came meanwhile.`
  )
}
