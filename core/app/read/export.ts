/**
 * `:export`: all records of a list, as CSV or as NDJSON. Its parameters pass the same checks as those of a list. Rows are read page by page, as fast as the
 * client takes them, so that only one page is in memory.
 */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { keptFilter } from "../../domain/audit/entry.ts"
import type { Field } from "../../domain/model/model.ts"
import { ownJson } from "../../domain/own-json.ts"
import { accessDenied, invalidParameter, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { itemWith, untagged } from "../../domain/read/item.ts"
import type { PagePlan } from "../../domain/read/plan.ts"
import { exportRequest } from "../../domain/read/request.ts"
import type { ExportRequest } from "../../domain/read/request.ts"
import { csvValue, delimiterOf } from "../../domain/task/csv.ts"
import type { Cell, Row } from "../../domain/value/kind.ts"
import { RecordsError } from "../../ports/records.ts"
import { Asked, note } from "../ground/audit.ts"
import { stillHeld } from "../ground/call.ts"
import type { Call, StreamedReply } from "../ground/call.ts"
import { bindingsOf, permitted, pipeline, withArguments } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import { allWarnings, guardPlan } from "../ground/guard.ts"
import { readProblem } from "../ground/refusal.ts"
import { clockOf, during } from "../ground/timing.ts"
import type { ExpandWay, Expansion } from "./expand-plan.ts"
import { expandRows, turnChars } from "./expand.ts"
import type { Expanded, RelatedRecord } from "./expand.ts"
import { judgedPage, laterPage } from "./hasty.ts"
import { checkList, positionCells } from "./list.ts"
import type { Checked } from "./list.ts"

/** Most exports at once: of one caller, and of this process. */
const mostOfOne = 2
const mostOfAll = 16
/** Longest time of an export. */
const mostMs = 3_600_000
/** Most bytes of one read, if the rows of a page are too large for one answer. */
const pageBytes = 4 * 1024 * 1024

export interface Exporting {
  readonly run: (core: Core, call: Call, resource: string) => Effect.Effect<StreamedReply, Problem>
  /** The number of running exports. */
  readonly count: () => number
}

/** A checked export. */
interface Plan extends Checked {
  readonly call: Call
  readonly request: ExportRequest
}

const planExport = function*(core: Core, given: Call, resource: string): Checks<Plan> {
  const access = yield* permitted(given, resource, "read")
  const call = yield* withArguments(given, access)
  const request = yield* exportRequest(call.query)
  const checked = yield* checkList(core, call, access, request.list, false)
  yield* checkWays(checked.expansion, "")
  return { ...checked, call, request }
}

/** A column has one value: its path leads to one record. */
const checkWays = function*(expansion: Expansion, before: string): Checks<void> {
  for (const way of expansion) {
    if ("maker" in way) continue
    const path = before + way.relation.name
    if (way.relation.many) {
      yield* Result.fail(
        invalidParameter("fields", `"${path}" leads to several records. A path of an export leads to one.`)
      )
    }
    yield* checkWays(way.below, `${path}.`)
  }
}

/** Rows that were read, and what they relate to. */
interface ReadPage {
  readonly rows: readonly Row[]
  readonly more: boolean
  readonly expanded: Expanded | null
}

/** Formats an export: the head, then each row. */
interface Writer {
  readonly type: string
  readonly head: string
  readonly row: (row: Row, at: number, expanded: Expanded | null) => string
}

const jsonLines = ({ shape }: Plan, bindings: PagePlan["bindings"]): Writer => ({
  type: "application/x-ndjson; charset=utf-8",
  head: "",
  row: (row, at, expanded) =>
    `${itemWith(untagged(shape.write(row, bindings).open), expanded?.membersOf(at) ?? null)}\n`
})

type ShownRecord = { readonly [name: string]: unknown }
type ShownFile = Partial<{ readonly [member: string]: string }>

/**
 * A file as a list shows it, in columns: what is stored, its name, and where that is asked for its absolute address. Of several files each column has a
 * list as JSON.
 */
const fileCells = (
  record: ShownRecord,
  { kind, name }: Field,
  origin: string | null
): readonly Cell[] => {
  const members: ReadonlyArray<(file: ShownFile) => Cell> = [
    ({ uri }) => uri ?? null,
    (file) => file.name ?? null,
    ...(origin === null ? [] : [({ url }: ShownFile) => url === undefined ? null : new URL(url, origin).href])
  ]
  const value = record[name]
  if (value == null) return members.map(() => null)
  return kind === "list"
    ? members.map((member) => JSON.stringify((value as readonly ShownFile[]).map(member)))
    : members.map((member) => member(value as ShownFile))
}

/** The field at the end of a path that was checked. */
const fieldAt = (access: Access, expansion: Expansion, [name = "", ...rest]: readonly string[]): Field => {
  if (rest.length === 0) return access.restricted.byName.get(name)!
  const way = expansion.find((each): each is ExpandWay => "relation" in each && each.relation.name === name)!
  return fieldAt(way.target, way.below, rest)
}

const table = (
  { access, expansion, request, shape }: Plan,
  bindings: PagePlan["bindings"],
  origin: string | null
): Writer => {
  const { delimiter, formulas, list } = request
  const between = delimiterOf[delimiter]
  const text = csvValue("text", delimiter, formulas)
  const names = list.fields ?? access.restricted.fields.map(({ name }) => name)
  const columns = names.map((name) => {
    const way = name.split(".")
    const field = fieldAt(access, expansion, way)
    const place = way.length > 1 ? -1 : shape.layout.position.get(field)!
    const [first = "", ...rest] = way.slice(0, -1)
    return { name, first, rest, field, place, write: csvValue(field.kind, delimiter, formulas) }
  })
  const heads = columns.flatMap(({ field: { file }, name }) =>
    file === null ? [name] : [name, `${name}.name`, ...(origin === null ? [] : [`${name}.url`])]
  )
  return {
    type: "text/csv; charset=utf-8; header=present",
    // The byte order mark tells spreadsheets that the text is UTF-8.
    head: `\uFEFF${heads.map(text).join(between)}\r\n`,
    row: (row, at, expanded) => {
      let own: ShownRecord | undefined
      const ownRecord = () => own ??= ownJson<ShownRecord>(`${shape.write(row, bindings).open}}`)
      const cells = columns.flatMap(({ field, first, place, rest, write }) => {
        if (place >= 0) {
          return field.file === null
            ? [write(row[place] ?? null)]
            : fileCells(ownRecord(), field, origin).map(text)
        }
        const start = expanded?.one(at, first) ?? null
        const related = rest.reduce<RelatedRecord | null>((from, name) => from?.one(name) ?? null, start)
        return field.file === null
          ? [write(related?.row[related.layout.position.get(field)!] ?? null)]
          : fileCells(related === null ? {} : ownJson(related.json()), field, origin).map(text)
      })
      return `${cells.join(between)}\r\n`
    }
  }
}

const encoder = new TextEncoder()

/** Makes `:export`. It counts the running exports of this process. */
export const makeExporting = (): Exporting => {
  const ofCaller = new Map<string, number>()
  let all = 0

  /** Takes one of the places for exports, and returns the function that frees it. Null if there is none. */
  const enter = (id: string): (() => void) | null => {
    const own = ofCaller.get(id) ?? 0
    if (own >= mostOfOne || all >= mostOfAll) return null
    ofCaller.set(id, own + 1)
    all++
    let left = false
    return () => {
      if (left) return
      left = true
      all--
      const rest = ofCaller.get(id)! - 1
      if (rest === 0) ofCaller.delete(id)
      else ofCaller.set(id, rest)
    }
  }

  /** The rows of a page, and as many of them as one read may have where they are too many. */
  const page = (
    core: Core,
    plan: PagePlan,
    read: Effect.Effect<readonly Row[], RecordsError | Problem>
  ): Effect.Effect<{ readonly rows: readonly Row[]; readonly cut: boolean }, RecordsError | Problem> =>
    Effect.catch(
      Effect.map(read, (rows) => ({ rows, cut: false })),
      (error) =>
        error instanceof RecordsError && error.reason._tag === "TooLarge"
          ? core.records.pageWithin(plan, pageBytes)
          : Effect.fail(error)
    )

  const answer = Effect.fnUntraced(
    function*(core: Core, plan: Plan, leave: () => void): Effect.fn.Return<StreamedReply, Problem> {
      const { access, call, expansion, filter, key, request, shape } = plan
      const began = yield* Clock.currentTimeMillis
      // One instant for the whole export, so that `now()` in a filter means the same for each page.
      const bindings = yield* Effect.withFiber((fiber) => Effect.succeed(bindingsOf(clockOf(fiber), call)))
      const first: PagePlan = { shape: shape.page, bindings }
      const warning = yield* guardPlan(core, access, key, first, filter, true)
      const refused = readProblem(access.model, filter)
      const read = Effect.fnUntraced(function*(
        from: PagePlan,
        rowsOf: Effect.Effect<readonly Row[], RecordsError | Problem>
      ): Effect.fn.Return<ReadPage, Problem> {
        const { cut, rows } = yield* Effect.catch(
          page(core, from, rowsOf),
          (error) => error instanceof RecordsError ? refused(error) : Effect.fail(error)
        )
        const part = cut ? rows : rows.slice(0, request.list.pageSize)
        const expanded = expansion.length === 0
          ? null
          : yield* expandRows(core, expansion, part, shape.layout, request.format === "csv")
        return { rows: part, more: cut || rows.length > part.length, expanded }
      })
      const writer = request.format === "csv"
        ? table(plan, bindings, request.fileLinks ? call.origin?.() ?? null : null)
        : jsonLines(plan, bindings)
      // The first page is read before the answer begins, so that its errors can be answered.
      const begin = yield* read(first, judgedPage(core, access, key, first, filter))
      let next: ReadPage | null = begin
      let at = 0
      let head = true
      let stopped = false
      let given = 0
      const asked = yield* Asked
      /** Notes what was exported, once: also where it broke off, with the rows until then. */
      const keep = (whole: boolean): void => {
        if (stopped) return
        const { fields, filter } = request.list
        const details = {
          format: request.format,
          filter: keptFilter(filter),
          ...(fields === null ? {} : { fields }),
          rows: given,
          whole
        }
        const subject = { kind: "resource", id: access.model.name, name: null } as const
        void Effect.runPromise(note(core, call.caller, [{ act: "records.exported", subject, details }], asked))
      }
      const controller = new AbortController()
      const following = Effect.fnUntraced(function*(after: readonly Cell[]) {
        if ((yield* Clock.currentTimeMillis) - began > mostMs) {
          return yield* Effect.fail(problem("statement-timeout", "The export took too long. Narrow the filter."))
        }
        if (call.again !== undefined && !(yield* stillHeld(call.again, call.caller))) {
          return yield* Effect.fail(accessDenied())
        }
        const later = { ...first, after }
        return yield* read(later, laterPage(core, key, later))
      })
      const end = (whole: boolean): void => {
        keep(whole)
        stopped = true
        controller.abort()
        leave()
      }
      const pull = async (): Promise<string | null> => {
        if (stopped || next === null) return null
        const { expanded, more, rows } = next
        let text = head ? writer.head : ""
        head = false
        // Many rows may have one long text in common, that of a related record. So a page is written piece by piece.
        for (; at < rows.length && text.length <= turnChars; at++, given++) text += writer.row(rows[at]!, at, expanded)
        if (at < rows.length) {
          await Effect.runPromise(Effect.yieldNow)
          return text
        }
        const last = rows.at(-1)
        next = null
        at = 0
        if (more && last !== undefined) {
          const exit = await Effect.runPromiseExit(following(positionCells(shape, last)), { signal: controller.signal })
          if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
          next = exit.value
        }
        return text
      }
      const bytes: AsyncIterable<Uint8Array> = {
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            try {
              const text = await pull()
              if (text !== null && text !== "") return { done: false, value: encoder.encode(text) }
            } catch (error) {
              end(false)
              // The error closes the connection, so that the client does not take the part for the whole.
              throw error
            }
            end(true)
            return { done: true, value: undefined }
          },
          return: async () => {
            end(false)
            return { done: true, value: undefined }
          }
        })
      }
      return {
        status: 200,
        headers: {
          ...allWarnings([warning, ...begin.expanded?.warnings ?? []]),
          "content-type": writer.type,
          "content-disposition": `attachment; filename="${
            access.model.name.replace(/[^\w.-]/g, "_")
          }.${request.format}"`,
          "cache-control": "no-store",
          "x-accel-buffering": "no"
        },
        body: null,
        stream: { length: null, bytes }
      }
    }
  )

  return {
    count: () => all,
    run: (core, call, resource) =>
      pipeline(
        (fiber) => during(fiber, "export.plan", () => Result.gen(() => planExport(core, call, resource))),
        (plan) => {
          const leave = enter(call.caller.id)
          if (leave === null) {
            return Effect.fail(
              problem("too-many-requests", "Too many exports are under way. Wait for one to end.", {}, {
                "retry-after": "10"
              })
            )
          }
          return Effect.onExit(
            answer(core, plan, leave),
            (exit) => Exit.isSuccess(exit) ? Effect.void : Effect.sync(leave)
          )
        }
      )
  }
}
