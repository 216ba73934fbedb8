/**
 * Imports. A file is parsed during its upload, and stored in parts of one batch each. Then a person assigns columns to fields, checks all lines with a dry
 * run, and starts the import. Each line is a create or an update through the pipeline of a single write.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { printBytes } from "../../domain/file/size.ts"
import type { Bindings } from "../../domain/filter/tree.ts"
import { always, both } from "../../domain/filter/tree.ts"
import type { Field } from "../../domain/model/model.ts"
import { notFound, Problem, problem } from "../../domain/problem.ts"
import { etagOf } from "../../domain/read/etag.ts"
import { keyed } from "../../domain/read/key.ts"
import { visibleRows } from "../../domain/read/list.ts"
import { createBody, guessMapping, readLine, updateBody } from "../../domain/task/mapping.ts"
import type { LineError } from "../../domain/task/mapping.ts"
import { readImport } from "../../domain/task/request.ts"
import type { ImportParameters } from "../../domain/task/request.ts"
import { batchSize, beatSeconds, matchNames, taskDocument } from "../../domain/task/task.ts"
import type { ImportPlan, ImportRequest } from "../../domain/task/task.ts"
import { UploadReader } from "../../domain/task/upload.ts"
import type { UploadedLine, UploadProblem } from "../../domain/task/upload.ts"
import type { Cell, Json, Row } from "../../domain/value/kind.ts"
import { invalidRecord } from "../../domain/write/body.ts"
import type { RecordsError, RecordsTransaction } from "../../ports/records.ts"
import { json } from "../ground/call.ts"
import type { Accesses, Call, Incoming, Reply } from "../ground/call.ts"
import { permitted, pipeline } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import { recordsProblem } from "../ground/refusal.ts"
import { ownKey, prepareCreate, prepareUpdate } from "../write/intent.ts"
import type { Write } from "../write/intent.ts"
import type { Item } from "./task-batch.ts"
import { keepTask, newTask, taskPath } from "./tasking.ts"
import type { Tasking } from "./tasking.ts"

/** Characters of the lines of one part. */
const partCharacters = 2_000_000
const mostSamples = 3
const longestSample = 100

/** The access that a mode needs. Null: no mode is chosen yet, so create or update is enough. */
export const importAccess = function*(
  call: { readonly access: Accesses },
  resource: string,
  mode: ImportPlan["mode"] | null
): Checks<Access> {
  if (mode === null) {
    const create = permitted(call, resource, "create")
    return Result.isSuccess(create) ? create.success : yield* permitted(call, resource, "update")
  }
  if (mode === "create") return yield* permitted(call, resource, "create")
  yield* permitted(call, resource, "read")
  if (mode === "upsert") yield* permitted(call, resource, "create")
  return yield* permitted(call, resource, "update")
}

const misread = ({ column, line, message }: UploadProblem): Problem => {
  const detail = `Line ${line}: ${message}`
  return problem("invalid-parameter", detail, { line, column, errors: [{ parameter: "body", message: detail }] })
}

const tooLarge = (most: number): Problem =>
  problem("payload-too-large", `The file is larger than ${printBytes(most)}, the maximum for an import.`)

const cancelled = (): Problem => problem("conflict", "The task was cancelled while its file was sent.")

/** Removes a task whose upload failed. One that was cancelled stays in the list. */
const removeUnfinished = (use: Tasking, id: string): Effect.Effect<void, RecordsError> =>
  Effect.flatMap(
    use.tasks.find(id),
    (task) => task?.state === "uploading" ? use.tasks.remove(id) : Effect.void
  )

/** Says now and then that an upload goes on, however slowly it arrives: what a killed service received must not count for long. */
const beats = (use: Tasking, id: string): Effect.Effect<never> =>
  Effect.forever(Effect.andThen(Effect.sleep(beatSeconds * 1_000), Effect.ignore(use.tasks.beat(id))))

/** Collects lines into parts, and the first values of each column. */
class Parts {
  readonly samples: string[][] = []
  lines: UploadedLine[] = []
  total = 0
  count = 0
  #characters = 0

  /** Adds a line. True if the part is full now. */
  add(line: UploadedLine, columns: readonly string[]): boolean {
    this.lines.push(line)
    this.total++
    this.#characters += JSON.stringify(line).length
    if (this.total <= 100) {
      for (const [index, name] of columns.entries()) {
        const value: Json | undefined = "values" in line ? line.values[index] : line.record[name]
        const samples = this.samples[index] ??= []
        if (value === null || value === undefined || samples.length >= mostSamples) continue
        const text = typeof value === "string" ? value : JSON.stringify(value)
        if (text !== "") samples.push(text.slice(0, longestSample))
      }
    }
    return this.lines.length >= batchSize || this.#characters >= partCharacters
  }

  /** Takes the lines of the current part. */
  take(): { readonly part: number; readonly text: string } {
    const text = JSON.stringify(this.lines)
    this.lines = []
    this.#characters = 0
    return { part: this.count++, text }
  }
}

const receive = Effect.fnUntraced(function*(
  use: Tasking,
  id: string,
  incoming: Incoming,
  { delimiter, format }: ImportParameters
): Effect.fn.Return<{ readonly reader: UploadReader; readonly parts: Parts }, Problem | RecordsError> {
  const file = yield* incoming.open
  const source = file.bytes[Symbol.asyncIterator]()
  const reader = new UploadReader(format, delimiter)
  const parts = new Parts()
  const store = Effect.suspend(() => {
    const { part, text } = parts.take()
    return Effect.flatMap(
      use.tasks.addPart(id, part, text),
      (isOpen) => isOpen ? Effect.void : Effect.fail(cancelled())
    )
  })
  const keep = Effect.fnUntraced(function*(
    read: Result.Result<readonly UploadedLine[], UploadProblem>
  ): Effect.fn.Return<void, Problem | RecordsError> {
    if (Result.isFailure(read)) return yield* Effect.fail(misread(read.failure))
    for (const line of read.success) {
      if (!parts.add(line, reader.columns)) continue
      yield* store
    }
  })
  const body = Effect.gen(function*() {
    let bytes = 0
    for (;;) {
      const next = yield* Effect.tryPromise({
        try: () => source.next(),
        catch: (error) =>
          error instanceof Problem ? error : problem("malformed-request", "The file ended before it was complete.")
      })
      if (next.done === true) break
      bytes += next.value.length
      if (bytes > use.maxImportBytes) return yield* Effect.fail(tooLarge(use.maxImportBytes))
      yield* keep(reader.read(next.value))
    }
    yield* keep(reader.end())
    if (parts.lines.length > 0) yield* store
    if (parts.total === 0) {
      return yield* Effect.fail(misread({ line: 1, column: 1, message: "The file has no records." }))
    }
  })
  // After a refusal, the rest of the body is discarded, so that the answer can be sent.
  yield* Effect.onExit(
    body,
    (exit) =>
      Exit.isSuccess(exit) ? Effect.void : Effect.promise(() => Promise.resolve(source.return?.()).catch(() => {}))
  )
  return { reader, parts }
})

const planImport = function*(use: Tasking, call: Call, resource: string, incoming: Incoming): Checks<{
  readonly access: Access
  readonly parameters: ImportParameters
}> {
  const access = yield* importAccess(call, resource, null)
  const parameters = yield* readImport(call.query, incoming)
  // The bytes of the form around the file do not count.
  if (incoming.length !== null && incoming.length > use.maxImportBytes + (incoming.isForm ? 65_536 : 0)) {
    return yield* Result.fail(tooLarge(use.maxImportBytes))
  }
  return { access, parameters }
}

/** `POST :import`: stores the lines of a file. 201 with the task and a guessed field for each column. */
export const importFile = (
  use: Tasking,
  call: Call,
  resource: string,
  incoming: Incoming
): Effect.Effect<Reply, Problem> =>
  pipeline(
    () => Result.gen(() => planImport(use, call, resource, incoming)),
    ({ access, parameters }) => {
      const { format, formulas, name } = parameters
      const stored = Effect.gen(function*(): Effect.fn.Return<Reply, Problem | RecordsError> {
        const begun: ImportRequest = {
          kind: "import",
          format,
          delimiter: parameters.delimiter ?? "comma",
          formulas,
          name,
          columns: [],
          plan: null
        }
        const task = yield* newTask(use, call, { resource, request: begun, state: "uploading", total: null })
        yield* keepTask(use, task)
        const { parts, reader } = yield* Effect.onExit(
          Effect.raceFirst(receive(use, task.id, incoming, parameters), beats(use, task.id)),
          (exit) => Exit.isSuccess(exit) ? Effect.void : Effect.ignore(removeUnfinished(use, task.id))
        )
        const { columns, delimiter } = reader
        const guesses = guessMapping(access, columns)
        const request: ImportRequest = {
          ...begun,
          delimiter,
          columns: columns.map((column, index) => ({
            name: column,
            samples: parts.samples[index] ?? [],
            guess: guesses[index] ?? null
          }))
        }
        const isOpen = yield* use.tasks.change(task.id, ["uploading"], {
          state: "uploaded",
          request,
          total: parts.total
        })
        if (!isOpen) return yield* Effect.fail(cancelled())
        const done = { ...task, request, state: "uploaded" as const, total: parts.total }
        return json(201, JSON.stringify(taskDocument(done, [])), { location: taskPath(use, task.id) })
      })
      return Effect.catch(
        stored,
        (error): Effect.Effect<never, Problem> => error instanceof Problem ? Effect.fail(error) : recordsProblem(error)
      )
    }
  )

// ------------------------------------------------------------------------------------------------------------------ batches

/** Values of several fields as one text. */
const together = (cells: readonly Cell[]): string => JSON.stringify(cells)

/** Records that the caller can see, by values of the fields. Of several records with the same values at least two are found. */
const findRows = Effect.fnUntraced(function*(
  tx: RecordsTransaction,
  access: Access,
  fields: readonly Field[],
  values: ReadonlyArray<readonly string[]>,
  bindings: Bindings
): Effect.fn.Return<ReadonlyMap<string, readonly Row[]>, RecordsError> {
  const { model } = access
  const byValue = new Map<string, readonly Row[]>()
  let left = values
  while (left.length > 0) {
    const limit = left.length * 2
    const shape = {
      model,
      columns: model.columns,
      where: both(visibleRows(access, always, false), keyed({ key: fields }, left)),
      order: model.key.map((each) => ({ field: each, descending: false })),
      limit,
      checks: []
    }
    const rows = yield* tx.page({ shape, bindings })
    const same = Map.groupBy(rows, (row) => together(fields.map((field) => row[field.index] ?? null)))
    for (const [value, group] of same) byValue.set(value, group)
    // Records that share their values may have left no room for others, which are looked for again without them.
    const single = left.filter((value) => (same.get(together(value))?.length ?? 0) < 2)
    left = rows.length < limit || single.length === left.length ? [] : single
  }
  return byValue
})

const valueProblem = (errors: readonly LineError[]): Problem =>
  invalidRecord(errors.map(({ field, message }) => ({ field, code: "invalid", message })))

/** The lines of one part as writes. Records to update are looked up in the transaction. */
export const importItems = Effect.fnUntraced(function*(
  core: Core,
  tx: RecordsTransaction,
  access: Access,
  request: ImportRequest,
  plan: ImportPlan,
  lines: readonly UploadedLine[],
  bindings: Bindings
): Effect.fn.Return<readonly Item[], RecordsError> {
  const columns = new Map<string, string>()
  for (const [index, name] of plan.mapping.entries()) if (name !== null) columns.set(name, request.columns[index]!.name)
  const read = lines.map((line) => ({ line, body: readLine(access, request, plan, line) }))
  const names = matchNames(plan)
  const fields = names.map((name) => access.restricted.byName.get(name)!)
  const wanted = new Map<string, readonly string[]>()
  for (const { body } of read) {
    if (fields.length > 0 && Result.isSuccess(body)) wanted.set(together(body.success.match), body.success.match)
  }
  const byValue = yield* findRows(tx, access, fields, [...wanted.values()], bindings)
  const writeOf = (body: { readonly [name: string]: Json }, rows: readonly Row[]): Write | Problem => {
    if (rows.length > 1) return problem("conflict", "More than one record has this value.")
    const [row] = rows
    if (row === undefined) {
      if (plan.mode === "update") return notFound()
      const create = prepareCreate(access, createBody(body))
      return Result.isSuccess(create) ? create.success : create.failure
    }
    const precondition = etagOf(access.restricted, row, core.seal)
    const update = prepareUpdate(access, ownKey(access.model, row), updateBody(body, names), precondition)
    return Result.isSuccess(update) ? update.success : update.failure
  }
  const seen = new Set<string>()
  return read.map(({ body, line }): Item => {
    const item = {
      place: { key: null, line: line.line },
      columnOf: (name: string) => columns.get(name) ?? null,
      access
    }
    if (Result.isFailure(body)) return { ...item, write: valueProblem(body.failure) }
    const { body: values, match } = body.success
    if (fields.length === 0) return { ...item, write: writeOf(values, []) }
    const value = together(match)
    // An earlier line may have created or changed the record.
    if (seen.has(value)) {
      return {
        ...item,
        write: (now) =>
          Effect.flatMap(findRows(now, access, fields, [match], bindings), (rows) => {
            const write = writeOf(values, rows.get(value) ?? [])
            return write instanceof Problem ? Effect.fail(write) : Effect.succeed(write)
          })
      }
    }
    seen.add(value)
    return { ...item, write: writeOf(values, byValue.get(value) ?? []) }
  })
})
