/**
 * Makes variants, placeholders and derived values that existing files lack because their field was declared differently when they were uploaded. It
 * reads records in pages by their keys and asks the stores outside of any transaction. It writes a record only while the record holds the value that
 * was read; a list of files is written whole, once for each of its files. A run that ends early loses nothing, because the next run skips finished
 * files. A new variant has a scheduled delete before it is visible, and loses it when a record lists it.
 *
 * Such a write is no change of a person. It raises the version, but it makes no event and no version of a history, and no hook runs.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { uploadDueMs, variantsEntry } from "../../domain/file/cleanup.ts"
import { lackingOf, partOf, withVariants } from "../../domain/file/lacking.ts"
import type { Lacking } from "../../domain/file/lacking.ts"
import { typeOfExtension } from "../../domain/file/type.ts"
import { extensionOf, maxStored, readStored, tenantFolder, variantPath, writeStored } from "../../domain/file/uri.ts"
import type { StoredFile, StoredVariant } from "../../domain/file/uri.ts"
import { extensionOfFormat } from "../../domain/file/variant.ts"
import { always } from "../../domain/filter/tree.ts"
import { derivedNames } from "../../domain/model/file.ts"
import type { FileField } from "../../domain/model/file.ts"
import type { Field, Model } from "../../domain/model/model.ts"
import { Problem } from "../../domain/problem.ts"
import { writeKey } from "../../domain/read/key.ts"
import type { Cell, Row } from "../../domain/value/kind.ts"
import { withText } from "../../domain/value/list.ts"
import { fileFieldsOf, fileTexts } from "../../domain/write/file-values.ts"
import type { RecordsError, RecordsTransaction } from "../../ports/records.ts"
import type { Bytes } from "../../ports/storage.ts"
import type { Core } from "../ground/core.ts"
import { ask, askMs, schedule, storageProblem } from "../ground/files.ts"
import type { FileProvider, Files } from "../ground/files.ts"
import { claimFiles } from "../write/attach.ts"
import { inTransaction } from "../write/transaction.ts"
import { roomForCopies } from "./room.ts"
import { derive, headWanted, render } from "./stored.ts"
import { concat } from "./upload-body.ts"

/** A field whose files are looked at. */
export interface DeriveTarget {
  readonly model: Model
  readonly field: Field
  readonly file: FileField
}

/** The file fields that make something of their files. Versions in a history name files that their records hold. */
export const deriveTargets = ({ models }: Pick<Core, "models">): readonly DeriveTarget[] => {
  const versions = new Set([...models.values()].map(({ history }) => history))
  return [...models.values()].filter(({ name }) => !versions.has(name)).flatMap((model) =>
    fileFieldsOf(model).flatMap((field) => {
      const { file } = field
      return file === null || (file.variants.length === 0 && derivedNames(file).length === 0)
        ? []
        : [{ model, field, file }]
    })
  )
}

/** A target as people name it: `resource.field`. */
export const placeOf = ({ field, model }: Pick<DeriveTarget, "field" | "model">): string =>
  `${model.name}.${field.name}`

/** What was found and done. */
export interface DeriveCounts {
  /** Records that were read. */
  readonly records: number
  /** Their files that lack something. Each of them is counted once more below. */
  readonly lacking: number
  readonly made: number
  /** Nothing could be made: the image cannot be read, or a processor has no value for this file. */
  readonly nothing: number
  /** The record has changed meanwhile, or a cleanup is deleting what would be listed: for the next run. */
  readonly left: number
  /** There is no file. */
  readonly missing: number
  /** It failed; `report` was told why. */
  readonly failed: number
}

export const noCounts: DeriveCounts = {
  records: 0,
  lacking: 0,
  made: 0,
  nothing: 0,
  left: 0,
  missing: 0,
  failed: 0
}

type Fate = "made" | "nothing" | "left" | "missing" | "failed"

/** Records of a page. Lists are long: the cells of a page have to fit into one answer of the database. */
const pageSize = 100
const pageOfLists = 20

/** Records that are worked on at once, each with one image at a time. More of them would only wait in the line of images. */
const atOnce = 2

/** Failures in a row after which a run ends: something is wrong with more than one file. */
const mostFailures = 5

/**
 * The cell that a record must still hold for a result to be written: first the cell as it was read, then the cell as this run wrote it. Null: somebody
 * changed it.
 */
interface ExpectedCell {
  cell: Cell
}

/** A file that lacks something. */
interface Candidate {
  readonly key: readonly string[]
  readonly tenant: string | null
  readonly held: ExpectedCell
  /** Its text in the cell. */
  readonly text: string
  readonly stored: StoredFile
  readonly provider: FileProvider
  readonly lacking: Lacking
}

/** The columns of a page: its order, the file, and the fields that are written with it. */
const columnsOf = ({ field, file, model }: DeriveTarget) => {
  const order = [...model.key, ...(model.tenant === null || model.key.includes(model.tenant) ? [] : [model.tenant])]
  const targets = derivedNames(file).flatMap((name) => model.byName.get(name) ?? [])
  return { order, targets, columns: [...order, field, ...targets] }
}

type Columns = ReturnType<typeof columnsOf>

const candidateOf = (
  { file, model }: DeriveTarget,
  files: Files,
  { columns, order, targets }: Columns,
  row: Row,
  held: ExpectedCell,
  text: string
): Candidate | null => {
  const stored = readStored(text)
  const provider = stored === null ? undefined : files.providers.get(stored.provider)
  const key = row.slice(0, model.key.length)
  if (stored === null || provider === undefined || !key.every((cell) => cell !== null)) return null
  // A file elsewhere than below its tenant is not served either.
  const tenant = model.tenant === null ? null : row[columns.indexOf(model.tenant)] ?? null
  if (model.tenant !== null && tenant === null) return null
  if (!stored.path.startsWith(`${tenantFolder(tenant)}/`)) return null
  const cells = new Map(targets.map((target, i) => [target.name, row[order.length + 1 + i] ?? null]))
  const lacking = lackingOf(file, stored, (name) => cells.get(name) ?? null)
  return lacking === null ? null : { key, tenant, held, text, stored, provider, lacking }
}

/** The beginning of a stored file, for processors. */
const headOf = Effect.fnUntraced(function*(
  files: Files,
  { name, storage }: FileProvider,
  path: string,
  length: number
): Effect.fn.Return<Uint8Array, Problem> {
  if (length === 0) return new Uint8Array(0)
  const unavailable = storageProblem(files, name)
  const body = yield* Effect.catch(storage.read(path, { start: 0, end: length - 1 }), unavailable)
  return body === null ? new Uint8Array(0) : yield* Effect.promise(() => whole(body.bytes))
})

const whole = async (bytes: Bytes): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of bytes) {
    chunks.push(chunk)
    size += chunk.length
  }
  return concat(chunks, size)
}

/** What was made of a file, to be written to its record. */
interface Derivation {
  readonly text: string
  readonly cells: ReadonlyMap<Field, string>
  readonly variants: readonly StoredVariant[]
}

/** What became of a write: the cell that was written, that the record has changed, or that it waits for the next run. */
type WriteOutcome = { readonly cell: string } | "changed" | "left"

/** Writes what was made, if the record still holds the whole cell that was read and cells that were null still are. */
const write = Effect.fnUntraced(function*(
  files: Files,
  { field, model }: DeriveTarget,
  { held, key, stored, tenant, text }: Candidate,
  made: Derivation,
  tx: RecordsTransaction
): Effect.fn.Return<WriteOutcome, RecordsError> {
  const targets = [...made.cells.keys()]
  const bindings = {
    caller: { id: "", tenant, roles: [] },
    now: BigInt(files.now()) * 1_000n,
    params: []
  }
  const row = yield* tx.lock({ model, key, where: always, columns: [field, ...targets], checks: [], bindings })
  const before = row?.[0] ?? null
  if (row === null || before === null || before !== held.cell) return "changed"
  const cell = field.kind === "list" ? withText(before, text, made.text) : made.text
  const variants = made.variants.map(({ extension, name }) => ({
    provider: stored.provider,
    path: variantPath(stored.path, name, extension)
  }))
  if (variants.length > 0 && !(yield* claimFiles(files, tx, variants))) return "left"
  const set: Array<readonly [Field, Cell]> = targets.flatMap((target, i) =>
    row[i + 1] === null ? [[target, made.cells.get(target)!] as const] : []
  )
  if (made.text !== text) set.push([field, cell])
  if (set.length === 0) return "left"
  yield* tx.update({ model, key, set, touch: true, columns: [], checks: [], note: { of: "nothing" }, bindings })
  return { cell }
})

/** Does one file. */
const deriveOne = Effect.fnUntraced(function*(
  core: Core,
  files: Files,
  target: DeriveTarget,
  candidate: Candidate
): Effect.fn.Return<Fate, Problem | RecordsError> {
  const { held, lacking, provider, stored } = candidate
  const { field, model } = target
  if (held.cell === null) return "left"
  const { storage } = provider
  const unavailable = storageProblem(files, provider.name)
  const head = yield* Effect.catch(ask(files, provider, storage.head(stored.path), askMs.upload), unavailable)
  if (head === null) return "missing"
  const file = partOf(target.file, lacking)
  const use = { access: { model }, field, file, files, provider }
  const sized = { ...stored, size: head.size }
  const type = typeOfExtension(extensionOf(stored.path))
  const now = files.now()
  const promised = lacking.variants.map(({ format, name }) => ({
    name,
    extension: extensionOfFormat(format),
    width: null,
    height: null
  }))
  const entry = promised.length === 0
    ? null
    : yield* Effect.catch(
      schedule(files, provider, variantsEntry(stored, promised, now + uploadDueMs), askMs.upload),
      unavailable
    )
  const room = yield* roomForCopies(files, provider)
  return yield* Effect.ensuring(
    Effect.gen(function*(): Effect.fn.Return<Fate, Problem | RecordsError> {
      const rendered = yield* render(use, { ...sized, variants: [] }, type, room)
      const start = lacking.derived.length === 0
        ? new Uint8Array(0)
        : yield* headOf(files, provider, stored.path, Math.min(head.size, headWanted(file)))
      const derived = yield* derive(use, sized, type, start, rendered?.image ?? null)
      const variants = rendered?.file.variants ?? []
      const { file: next, replaced } = withVariants(stored, variants)
      const text = variants.length === 0 ? candidate.text : writeStored(next)
      const cells = new Map([...derived.cells].flatMap(([name, cell]) => {
        const written = model.byName.get(name)
        return written === undefined || cell === null ? [] : [[written, cell] as const]
      }))
      const forget = entry === null
        ? Effect.void
        : Effect.ignore(ask(files, provider, storage.remove(entry), askMs.upload))
      if (variants.length === 0 && cells.size === 0) {
        yield* forget
        return "nothing"
      }
      if (text.length > maxStored) {
        files.report("file-derive-failed", {
          resource: model.name,
          key: writeKey(candidate.key),
          field: field.name,
          reason: "TooLong"
        })
        return "failed"
      }
      // A variant that is listed no more goes later: its links are still valid. While a row lists it, the entry does nothing.
      if (replaced.length > 0) {
        const later = variantsEntry(stored, replaced, now + provider.retention)
        yield* Effect.catch(schedule(files, provider, later, askMs.upload), unavailable)
      }
      const done = yield* inTransaction(
        core,
        (tx) => write(files, target, candidate, { text, cells, variants }, tx)
      )
      if (typeof done === "string") {
        if (done === "changed") held.cell = null
        return "left"
      }
      held.cell = done.cell
      // Of the file and its copies the copies are new.
      if (variants.length > 0) room.keep({ ...sized, variants: variants.slice(1) }, true)
      yield* forget
      return "made"
    }),
    Effect.sync(() => room.release())
  )
})

/** What one file costs at most is that file: its failure is reported and counted. A database or a full storage ends the run. */
const tryFile = (
  core: Core,
  files: Files,
  target: DeriveTarget,
  candidate: Candidate
): Effect.Effect<Fate, Problem | RecordsError> =>
  Effect.flatMap(Effect.exit(deriveOne(core, files, target, candidate)), (exit) => {
    if (Exit.isSuccess(exit)) return Effect.succeed(exit.value)
    if (Exit.hasInterrupts(exit)) return Effect.failCause(exit.cause)
    const [reason] = exit.cause.reasons
    const failure = reason?._tag === "Fail" ? reason.error : null
    const isRows = failure !== null && !(failure instanceof Problem)
    const ends = isRows ? !rowReasons.has(failure.reason._tag) : failure?.slug === "insufficient-storage"
    if (ends) return Effect.failCause(exit.cause)
    files.report("file-derive-failed", {
      resource: target.model.name,
      key: writeKey(candidate.key),
      field: target.field.name,
      reason: isRows ? failure.reason._tag : failure === null ? "Defect" : failure.slug,
      cause: reason?._tag === "Die" ? reason.defect : undefined
    })
    return Effect.succeed<Fate>("failed")
  })

/** Refusals of the database that are about one row. */
const rowReasons: ReadonlySet<RecordsError["reason"]["_tag"]> = new Set([
  "Unique",
  "ForeignKey",
  "NotNull",
  "Check",
  "NoPartition",
  "Conflict",
  "BadValue"
])

/** One page of records. */
export interface DerivedPage {
  readonly counts: DeriveCounts
  /** Where the next page begins; null: this was the last one. */
  readonly next: readonly Cell[] | null
  /** Too much failed in a row. */
  readonly gaveUp: boolean
}

/** The rows of a page whose files do not exceed a number, and the first one in any case: records may hold many files, and a job does a page as a whole. */
const cutPage = <A>(rows: ReadonlyArray<readonly A[]>, most: number): ReadonlyArray<readonly A[]> => {
  let count = 0
  const end = rows.findIndex((files, i) => (count += files.length) > most && i > 0)
  return end < 0 ? rows : rows.slice(0, end)
}

/**
 * Looks at one page of records and makes what their files lack; `check`: only counts it, by the records alone. `after`: where the page before ended, null
 * for the first one. `limit`: most records, and where records hold several files most files that lack something.
 */
export const derivePage = Effect.fnUntraced(function*(
  core: Core,
  files: Files,
  target: DeriveTarget,
  after: readonly Cell[] | null,
  check: boolean,
  limit = target.field.kind === "list" ? pageOfLists : pageSize
): Effect.fn.Return<DerivedPage, Problem | RecordsError> {
  const columns = columnsOf(target)
  const shape = {
    model: target.model,
    columns: columns.columns,
    where: always,
    order: columns.order.map((sort) => ({ field: sort, descending: false })),
    limit,
    checks: []
  }
  const bindings = { caller: { id: "", tenant: null, roles: [] }, now: 0n, params: [] }
  const rows = yield* core.records.page({ shape, bindings, ...(after === null ? {} : { after }) })
  const all = rows.map((row) => {
    const held: ExpectedCell = { cell: row[columns.order.length] ?? null }
    return [...new Set(fileTexts(target.field, held.cell))].flatMap((text) =>
      candidateOf(target, files, columns, row, held, text) ?? []
    )
  })
  const candidates = check ? all : cutPage(all, limit)
  let [failures, gaveUp] = [0, false]
  const one = (candidate: Candidate): Effect.Effect<Fate, Problem | RecordsError> =>
    Effect.suspend(() =>
      gaveUp
        ? Effect.succeed<Fate>("left")
        : Effect.tap(tryFile(core, files, target, candidate), (fate) =>
          Effect.sync(() => {
            failures = fate === "failed" ? failures + 1 : 0
            gaveUp ||= failures >= mostFailures
          }))
    )
  // The files of a record one after the other: each changes the list that the next one has to find.
  const fates = check
    ? []
    : (yield* Effect.forEach(candidates, (own) => Effect.forEach(own, one), { concurrency: atOnce })).flat()
  const count = (fate: Fate): number => fates.filter((each) => each === fate).length
  const done = candidates.length
  return {
    counts: {
      records: done,
      lacking: candidates.flat().length,
      made: count("made"),
      nothing: count("nothing"),
      left: count("left"),
      missing: count("missing"),
      failed: count("failed")
    },
    next: rows.length < limit && done === rows.length ? null : rows[done - 1]!.slice(0, columns.order.length),
    gaveUp
  }
})

/** The sum of two counts. */
export const plus = (a: DeriveCounts, b: DeriveCounts): DeriveCounts => ({
  records: a.records + b.records,
  lacking: a.lacking + b.lacking,
  made: a.made + b.made,
  nothing: a.nothing + b.nothing,
  left: a.left + b.left,
  missing: a.missing + b.missing,
  failed: a.failed + b.failed
})
