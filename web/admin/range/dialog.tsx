/**
 * A paste, a fill or a delete over a range, before it is done: what will change, what is refused and why. It is tried as a dry run, and one key then writes it
 * as one batch. The last step can be undone as a whole.
 */

import { type ReactNode, useEffect, useState } from "react"
import { ProblemError } from "../../client/index.ts"
import type { Draft } from "../field/parse.ts"
import { textOf } from "../field/text.ts"
import { useReader } from "../field/value.tsx"
import { type Area, columnsIn, rowsIn } from "../grid/range.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { problemText, sayProblem } from "../ground/problem.tsx"
import { useRun } from "../ground/run.ts"
import { noticeFailure } from "../ground/session.ts"
import { say } from "../ground/toasts.tsx"
import { type Locale, useLocale } from "../messages/locale.tsx"
import { expandedOf, fieldLabel, keyOf, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain, short } from "../model/plain.ts"
import type { Change, RangeRows } from "./change.ts"
import {
  cellFor,
  cellsOf,
  type Edit,
  mostRecords,
  type Plan,
  planOf,
  type Refusal,
  reversed,
  targetOf
} from "./edits.ts"
import { bottomFor, rowAbove, rowsOf, stretchesIn } from "./lines.ts"
import style from "./range.module.css"
import { type Lookups, readCell } from "./read.ts"
import { readAgain, readLookups, readRows } from "./records.ts"
import { mostCells } from "./table.ts"
import { takeBack } from "./undo.ts"
import { send, type Tried, tryEdits } from "./write.ts"

interface CellsProps {
  readonly resource: Resource
  readonly columns: readonly { readonly id: string; readonly label: string }[]
  readonly rows: RangeRows
  readonly change: Change
  readonly area: Area
  readonly onClose: () => void
  /** Called with the cells that an undo could not take back. */
  readonly onLeft: (refused: readonly Refusal[]) => void
}

type Step =
  | { readonly at: "busy"; readonly text: string }
  /** `late`: what passed before was refused when it was written. */
  | { readonly at: "tried"; readonly plan: Plan; readonly tried: Tried; readonly late: boolean }
  | { readonly at: "refused"; readonly text: string }
  | { readonly at: "failed"; readonly error: unknown }

/** Most lines of a list in the dialog, and most letters of a value. */
const mostLines = 100
const mostLetters = 120

type Asking = Pick<CellsProps, "resource" | "columns" | "rows" | "change" | "area">

/** The lines that are read and those that are written, how many rows these have, and the columns of the list in them. `from`: the row that a fill takes its values from. */
const placeOf = ({ area, change, columns, rows: lines }: Asking) => {
  const rows = rowsOf(lines, area)
  const namesTo = (right: number) => columns.slice(area.left, right + 1).map(({ id }) => id)
  if (change.of === "paste") {
    // As if there were rows only.
    const target = targetOf({ ...area, top: 0, bottom: rows - 1 }, change.table)
    const height = rowsIn(target)
    return {
      from: null,
      top: area.top,
      bottom: height === rows ? area.bottom : bottomFor(lines, area.top, height),
      rows: height,
      width: columnsIn(target),
      names: namesTo(target.right)
    }
  }
  const shared = { width: columnsIn(area), names: namesTo(area.right), bottom: area.bottom }
  if (change.of === "clear") return { ...shared, from: null, top: area.top, rows }
  // One row alone is filled from the row above it.
  const from = rows > 1 ? stretchesIn(lines, area.top, area.bottom)[0]?.line ?? -1 : rowAbove(lines, area.top)
  return { ...shared, from, top: from, rows: rows > 1 ? rows - 1 : rows }
}

/** The texts that name related records, by the field. */
const namedIn = ({ resource, change }: Asking, names: readonly string[], height: number) => {
  const texts = new Map<string, Set<string>>()
  if (change.of !== "paste") return texts
  for (const [across, name] of names.entries()) {
    if (resource.fields.get(name)?.relation === undefined) continue
    const found = new Set<string>()
    for (let down = 0; down < height; down++) found.add(cellFor(change.table, down, across) ?? "")
    texts.set(name, found)
  }
  return texts
}

/** What the change is, before the service is asked. */
const makePlan = async (
  asking: Asking,
  locale: Pick<Locale, "t" | "format">,
  progress: (text: string) => void,
  signal: AbortSignal
): Promise<Plan | { readonly excess: string }> => {
  const { change, resource, rows } = asking
  const { format, t } = locale
  const { bottom, from, names, rows: height, top, width } = placeOf(asking)
  if (height * width > mostCells) return { excess: t.range.tooLarge(format.count(mostCells)) }
  if (from !== null && from < 0) return { excess: t.range.nothingAbove }
  const all = height + (from === null ? 0 : 1)
  const read = await readRows(
    resource,
    rows,
    top,
    bottom,
    (done) => progress(t.range.reading(format.count(done), format.count(all))),
    signal
  )
  const [source, records] = from === null ? [null, read] : [read[0] ?? null, read.slice(1)]
  const lookups = await readLookups(resource, namedIn(asking, names, height), t, signal)
  return planOf({
    resource,
    columns: names,
    records,
    rows: height,
    width,
    draftFor: (down, across, record, column) =>
      draftOf(change, source, lookups, { down, across, record, column }, resource, locale),
    t
  })
}

interface Cell {
  readonly down: number
  readonly across: number
  readonly record: AnyRecord
  readonly column: string
}

/** What one cell gets; undefined: it stays as it is. */
const draftOf = (
  change: Change,
  source: AnyRecord | null,
  lookups: Lookups,
  { across, column, down, record }: Cell,
  resource: Resource,
  locale: Pick<Locale, "t" | "format">
): { readonly draft: Draft; readonly text: string } | undefined => {
  const field = resource.fields.get(column)
  if (change.of === "paste") {
    const text = cellFor(change.table, down, across)
    if (text === undefined) return undefined
    return {
      text,
      draft: field === undefined
        ? { value: undefined, problem: locale.t.list.notWritable }
        : readCell(field, text, record[column], lookups, locale)
    }
  }
  const value = change.of === "clear" ? null : source?.[column] ?? null
  const misses = value === null && field?.optional !== true
  return { text: plain(value), draft: misses ? { value, problem: locale.t.field.required } : { value, problem: null } }
}

/** Shows records as they were written, with the titles of other records that they lead to. */
const show = async (
  { resource, rows }: Pick<Asking, "resource" | "rows">,
  edits: readonly Edit[],
  written: readonly (AnyRecord | null)[]
) => {
  rows.replaceAll(
    new Map(edits.flatMap(({ key }, at) => {
      const now = written[at]
      return now == null ? [] : [[key, now] as const]
    }))
  )
  if (edits.some(({ data }) => Object.keys(data).some((name) => resource.related(name) !== undefined))) {
    await renew({ resource, rows }, edits.map(({ key }) => key))
  }
}

/** Reads rows anew. Without an answer they stay as they are. */
const renew = async ({ resource, rows }: Pick<Asking, "resource" | "rows">, keys: readonly string[]): Promise<void> => {
  try {
    const now = await readAgain(resource, keys, rows.parameters)
    rows.replaceAll(new Map(now.map((record) => [keyOf(resource, record) ?? "", record])))
  } catch (error) {
    noticeFailure(error)
  }
}

/** Writes edits, and offers to take the whole back. */
const write = async (asking: CellsProps, edits: readonly Edit[], { format, t }: Locale): Promise<void> => {
  const { resource } = asking
  const written = await send(resource, edits, false)
  asking.onClose()
  const cells = cellsOf(edits)
  const back = reversed(edits, written)
  const undo = async (): Promise<void> => {
    try {
      const { edits, refused, written } = await takeBack(resource, back, asking.rows.parameters, t)
      await show(asking, edits, written)
      if (refused.length === 0) return void say(t.shell.undone)
      const [done, left] = [cellsOf(edits), refused.length]
      say(t.range.partlyUndone(format.count(done), format.count(left)), { tone: "bad" })
      asking.onLeft(refused)
      await renew(asking, refused.flatMap(({ record }) => record === null ? [] : keyOf(resource, record) ?? []))
    } catch (error) {
      if (error instanceof ProblemError && error.status === 412) say(t.range.notUndone, { tone: "bad" })
      else sayProblem(error, t)
    }
  }
  // Who may not see a record after the change cannot name its version: then nothing of it is taken back.
  say(t.range.changed(cells, format.count(cells)), back.length < edits.length ? {} : { undo })
  await show(asking, edits, written)
}

/** The steps of a change: the plan and its try at once, and the write on request. */
const useSteps = (props: CellsProps) => {
  const locale = useLocale()
  const { t } = locale
  const { resource, rows } = props
  const [step, setStep] = useState<Step>({ at: "busy", text: t.range.checking })
  const { run } = useRun((error) => setStep({ at: "failed", error }))

  const attempt = async (plan: Plan, late: boolean, signal: AbortSignal): Promise<void> => {
    setStep({ at: "busy", text: t.range.checking })
    const tried = await tryEdits(
      resource,
      plan.edits,
      t,
      (count) =>
        setStep({ at: "busy", text: `${t.range.checking} ${t.range.refused(count, locale.format.count(count))}` }),
      signal
    )
    setStep({ at: "tried", plan, tried, late })
    // Of what somebody else changed meanwhile the list shows the present state, so that it can be tried on that.
    const stale = tried.refused.filter(({ why }) => why === t.range.conflict).flatMap(({ record }) =>
      record === null ? [] : keyOf(resource, record) ?? []
    )
    if (stale.length > 0) await renew({ resource, rows }, stale)
  }
  const check = (): Promise<void> =>
    run(async (signal) => {
      const plan = await makePlan(props, locale, (text) => setStep({ at: "busy", text }), signal)
      if ("excess" in plan) return setStep({ at: "refused", text: plan.excess })
      if (plan.edits.length > mostRecords) {
        const count = plan.edits.length
        return setStep({
          at: "refused",
          text: t.range.tooManyRecords(locale.format.count(count), locale.format.count(mostRecords))
        })
      }
      await attempt(plan, false, signal)
    })
  const apply = (plan: Plan, edits: readonly Edit[]): Promise<void> =>
    run(async (signal) => {
      setStep({ at: "busy", text: t.range.writing })
      try {
        await write(props, edits, locale)
      } catch (error) {
        if (!(error instanceof ProblemError) || error.operation === null) throw error
        return await attempt({ ...plan, edits }, true, signal)
      }
    })
  useEffect(() => {
    void check()
  }, [])
  return { step, check, apply }
}

export const CellsDialog = (props: CellsProps): ReactNode => {
  const { change, onClose, resource } = props
  const { format, t } = useLocale()
  const { apply, check, step } = useSteps(props)
  const edits = step.at === "tried" && !step.tried.more ? step.tried.edits : []
  const cells = cellsOf(edits)
  return (
    <Dialog
      title={t.range[change.of]}
      onClose={onClose}
      footer={
        <>
          <Cancel onPress={onClose} />
          {step.at === "failed" && (
            <button type="button" className="btn" autoFocus onClick={() => void check()}>{t.shell.retry}</button>
          )}
          {step.at === "tried" && edits.length > 0 && (
            <button
              type="button"
              className="btn primary"
              autoFocus
              onClick={() => void apply(step.plan, edits)}
            >
              {t.range.apply(cells, format.count(cells))} <kbd aria-hidden="true">↵</kbd>
            </button>
          )}
        </>
      }
    >
      <div role="status">
        {step.at === "busy" && (
          <p className="late">
            <span className="spinner" aria-hidden="true" /> {step.text}
          </p>
        )}
        {step.at === "tried" && <Outcome resource={resource} step={step} />}
      </div>
      {step.at === "refused" && <p className="hint" data-bad="" role="alert">{step.text}</p>}
      {step.at === "failed" && <p className="hint" data-bad="" role="alert">{problemText(step.error, t)}</p>}
      {edits.length > 0 && <Changes resource={resource} edits={edits} />}
      {step.at === "tried" && <Refusals resource={resource} refused={[...step.plan.refused, ...step.tried.refused]} />}
    </Dialog>
  )
}

/** What an undo could not take back, and why. */
export const LeftDialog = (
  { onClose, refused, resource }: Pick<CellsProps, "resource" | "onClose"> & { readonly refused: readonly Refusal[] }
): ReactNode => {
  const { t } = useLocale()
  return (
    <Dialog
      title={t.range.left}
      onClose={onClose}
      footer={<button type="button" className="btn primary" autoFocus onClick={onClose}>{t.peek.close}</button>}
    >
      <Refusals resource={resource} refused={refused} />
    </Dialog>
  )
}

/** In short: how much changes, how much stays. */
const Outcome = (
  { step: { late, plan, tried } }: { readonly resource: Resource; readonly step: Step & { readonly at: "tried" } }
): ReactNode => {
  const { format, t } = useLocale()
  const cells = cellsOf(tried.edits)
  const count = tried.edits.length
  return (
    <>
      {late && <p>{t.range.late}</p>}
      <p>
        {tried.more
          ? t.range.stopped
          : cells === 0
          ? t.range.nothing
          : t.range.will(cells, format.count(cells), format.count(count))}
        {plan.same > 0 && ` ${t.range.same(plan.same, format.count(plan.same))}`}
      </p>
    </>
  )
}

/** A value of a field as the list shows it, in part where it is long. */
const useShown = (resource: Resource): (name: string, value: unknown, record: AnyRecord | null) => string => {
  const reader = useReader()
  return (name, value, record) => {
    const field = resource.fields.get(name)
    if (field === undefined) return short(plain(value), mostLetters)
    const way = resource.related(name)
    const related = way === undefined || record === null || record[name] !== value
      ? null
      : expandedOf(record, way.relation)
    const text = way !== undefined && related !== null
      ? titleOf(way.target, related, true)
      : way !== undefined && value !== null
      ? `#${plain(value)}`
      : textOf(resource, field, value, reader)
    return short(text, mostLetters) || reader.t.field.empty
  }
}

/** The first changes, with the values before and after. */
const Changes = ({ edits, resource }: { readonly resource: Resource; readonly edits: readonly Edit[] }): ReactNode => {
  const { format, t } = useLocale()
  const shown = useShown(resource)
  const lines = edits.slice(0, mostLines).flatMap(({ data, key, record }) =>
    Object.entries(data).map(([name, value]) => ({ key, record, name, value }))
  ).slice(0, mostLines)
  const more = cellsOf(edits) - lines.length
  return (
    <>
      <div className={style.changes} tabIndex={0} role="region" aria-label={t.range.changes}>
        <table>
          <thead>
            <tr>
              <th scope="col">{resource.view.label.singular}</th>
              <th scope="col">{t.record.mergeField}</th>
              <th scope="col">{t.record.mergeBefore}</th>
              <th scope="col">{t.range.after}</th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ key, name, record, value }) => (
              <tr key={`${key} ${name}`}>
                <th scope="row">
                  <bdi>{titleOf(resource, record)}</bdi>
                </th>
                <td>{fieldLabel(resource, name)}</td>
                <td>
                  <del>
                    <bdi>{shown(name, record[name], record)}</bdi>
                  </del>
                </td>
                <td>
                  <bdi>{shown(name, value, null)}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more > 0 && <p className={`dim ${style.sum}`}>{t.range.more(format.count(more))}</p>}
    </>
  )
}

/** The first cells that stay as they are, with the reasons. */
const Refusals = (
  { refused, resource }: { readonly resource: Resource; readonly refused: readonly Refusal[] }
): ReactNode => {
  const { format, t } = useLocale()
  if (refused.length === 0) return null
  const more = refused.length - mostLines
  return (
    <section className={style.refusals}>
      <p>{t.range.refused(refused.length, format.count(refused.length))}</p>
      <ul className="refused" tabIndex={0} aria-label={t.range.refusals}>
        {refused.slice(0, mostLines).map(({ column, record, text, why }, at) => (
          <li key={at}>
            {record !== null && (
              <b>
                <bdi>{titleOf(resource, record)}</bdi>
              </b>
            )}
            {column !== null && ` ${fieldLabel(resource, column)}`}
            {text !== "" && (
              <>
                : <bdi>{short(text, mostLetters)}</bdi>
              </>
            )}
            {record !== null && " — "}
            <bdi>{short(why, 300)}</bdi>
          </li>
        ))}
      </ul>
      {more > 0 && <p className="dim">{t.range.more(format.count(more))}</p>}
    </section>
  )
}
