/** Actions for the selected records: sum, edit, copy, delete and undelete. Each change is tried as a dry run first. */

import { Copy, RotateCcw, SquarePen, Trash2, X } from "lucide-react"
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { Actions } from "../action/actions.tsx"
import { config } from "../config.ts"
import { sumsOf } from "../field/sums.ts"
import type { Column } from "../grid/columns.ts"
import { hrefOf } from "../ground/location.ts"
import type { Offer } from "../ground/offers.ts"
import { Menu } from "../ground/parts.tsx"
import { copyText, problemText } from "../ground/problem.tsx"
import { useRun } from "../ground/run.ts"
import { say } from "../ground/toasts.tsx"
import { useLocale } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, clientOf } from "../model/client.ts"
import { ChangeDialog, ChangedWords, type ChangeStep, useChange } from "../task/change.tsx"
import { formerValues } from "../task/changed.ts"
import { apply, type Bulk, type Preview, preview, readMatching, RefusedWrite } from "./bulk.ts"
import { toCsv, toCurl, toJson, toMarkdown } from "./copied.ts"
import style from "./list.module.css"
import type { ListRows } from "./rows.ts"
import { nothing, type RecordSelection, selectedCount } from "./selection.ts"

const RefusedRecords = lazy(() =>
  import("../task/refused.tsx").then(({ RefusedRecords }) => ({ default: RefusedRecords }))
)
const loadPluginActions = () => import("../plugin/actions.tsx")
const PluginActions = lazy(() => loadPluginActions().then(({ PluginActions }) => ({ default: PluginActions })))
const readSelected = (resource: Resource, keys: readonly string[]): Promise<readonly AnyRecord[]> =>
  loadPluginActions().then(({ readWhole }) => readWhole(resource, keys))
const BulkAllDialog = lazy(() =>
  import("../task/bulk-all.tsx").then(({ BulkAllDialog }) => ({ default: BulkAllDialog }))
)

interface BarProps {
  readonly resource: Resource
  readonly selection: RecordSelection
  /** Records that were selected one by one, also those that are no longer visible. */
  readonly picked: ReadonlyMap<string, AnyRecord>
  readonly columns: readonly Column[]
  readonly rows: ListRows
  readonly deleted: boolean
  /** The field whose sum is shown. */
  readonly sum: MetaField | undefined
  readonly onSelection: (selection: RecordSelection) => void
  readonly onChanged: () => void
}

const copies = ["json", "csv", "markdown", "curl", "link"] as const
type CopyAs = typeof copies[number]

/** Records as a text for the clipboard. */
const copied = (
  resource: Resource,
  fields: readonly string[],
  records: readonly AnyRecord[],
  as: CopyAs
): string => {
  switch (as) {
    case "json":
      return toJson(fields, records)
    case "csv":
      return toCsv(fields, records)
    case "markdown":
      return toMarkdown(fields, records)
    case "curl":
      return toCurl(resource, records, new URL(clientOf(resource.name).baseUrl, location.href).href)
    case "link":
      return records
        .map((record) => `${location.origin}${hrefOf(`/${resource.name}/${keyOf(resource, record) ?? ""}`)}`)
        .join("\n")
  }
}

/** The sum of a field over records, by currency, as a text. Null for fewer than two records. */
const useSum = (resource: Resource, sum: MetaField | undefined, records: readonly AnyRecord[]): string | null => {
  const { format, t } = useLocale()
  if (sum === undefined || records.length < 2) return null
  const sums = sumsOf(resource, sum, records, format)
  return sums.length === 0 ? null : t.list.sum(sums.join(" · "))
}

export const SelectionBar = (props: BarProps): ReactNode => {
  const { columns, deleted, onChanged, onSelection, picked, resource, rows, selection, sum } = props
  const { format, t } = useLocale()
  const [asked, setAsked] = useState<"update" | "delete" | "undelete" | null>(null)
  const [plugged, setPlugged] = useState<readonly Offer[]>([])
  const total = rows.total?.count ?? 0
  const count = selectedCount(selection, total)
  const about = rows.total === null || rows.total.accuracy === "exact"
    ? null
    : t.list.about(format.count(selection.of === "all" ? count : total))
  const fields = columns.map(({ id }) => id)

  /** The selected records as they are now, where the list knows that: the version of one that was picked earlier may be over. */
  const chosenRecords = (): readonly AnyRecord[] => {
    if (selection.of === "all") return []
    const now = new Map([...rows.inMemory()].map((record) => [keyOf(resource, record), record]))
    return [...selection.keys].flatMap((key) => now.get(key) ?? picked.get(key) ?? [])
  }
  const everything = (progress: (read: number) => void, signal: AbortSignal): Promise<readonly AnyRecord[]> =>
    selection.of === "some"
      ? Promise.resolve(chosenRecords())
      : readMatching(resource, selection.filter, selection.except, deleted, fields, progress, signal)

  const summed = useSum(resource, sum, chosenRecords())

  const copy = (as: CopyAs): void => {
    void everything(() => {}, new AbortController().signal).then((records) =>
      copyText(copied(resource, fields, records, as), t)
    )
  }

  const done = (): void => {
    setAsked(null)
    onSelection(nothing)
    onChanged()
  }
  // The service runs changes of more than one batch as a task.
  const byService = asked !== null && selection.of === "all" && resource.transfers.bulk.includes(asked)

  return (
    <div
      className={`float ${style.bar}`}
      role="toolbar"
      aria-label={t.list.selected(count, format.count(count))}
      // Where the bar scrolls, browsers leave a button with the focus as it is while they show 32 pixels of it.
      onFocus={({ target }) => target.scrollIntoView({ block: "nearest", inline: "nearest" })}
    >
      <p role="status">
        <b>
          {selection.of === "all"
            ? about === null ? t.list.allSelected(format.count(count)) : `${t.list.all} (${about})`
            : t.list.selected(count, format.count(count))}
        </b>
        {summed !== null && <span className="dim">{summed}</span>}
      </p>
      {selection.of === "some" && selection.keys.size >= 2 && total > selection.keys.size && (
        <button
          type="button"
          className="btn quiet"
          onClick={() =>
            onSelection({
              of: "all",
              filter: new URLSearchParams(location.search).get("filter") ?? "",
              except: new Set()
            })}
        >
          {about === null ? t.list.selectMatching(format.count(total)) : `${t.list.selectAll} (${about})`}
        </button>
      )}
      {resource.may.update && !deleted && (
        <button type="button" className="btn" onClick={() => setAsked("update")}>
          <SquarePen className="icon" aria-hidden="true" /> {t.list.edit}
        </button>
      )}
      {selection.of === "some" && !deleted && (
        <>
          {config.plugins !== undefined && (
            <Suspense fallback={null}>
              <PluginActions
                resource={resource}
                read={() => readSelected(resource, [...selection.keys])}
                onEntries={setPlugged}
                onDone={done}
              />
            </Suspense>
          )}
          <Actions resource={resource} on="selection" keys={[...selection.keys]} others={plugged} onDone={done} />
        </>
      )}
      <Menu
        label={t.list.copy}
        placement="top"
        className="btn"
        entries={copies.map((as) => ({
          label: t.list.copyAs[as],
          onAction: () => copy(as)
        }))}
      >
        <Copy className="icon" aria-hidden="true" /> {t.list.copy}
      </Menu>
      {deleted && resource.may.update && (
        <button type="button" className="btn" onClick={() => setAsked("undelete")}>
          <RotateCcw className="icon" aria-hidden="true" /> {t.list.undelete}
        </button>
      )}
      {resource.may.delete && !deleted && (
        <button
          type="button"
          className="btn danger"
          onClick={() => setAsked("delete")}
        >
          <Trash2 className="icon" aria-hidden="true" /> {t.list.delete}
        </button>
      )}
      <button type="button" className="btn quiet bare" aria-label={t.list.clear} onClick={() => onSelection(nothing)}>
        <X className="icon" aria-hidden="true" />
      </button>
      {byService && selection.of === "all" && (
        <Suspense fallback={null}>
          <BulkAllDialog
            resource={resource}
            op={asked}
            filter={selection.filter}
            except={selection.except}
            count={count}
            onClose={() => setAsked(null)}
            onDone={done}
          />
        </Suspense>
      )}
      {asked !== null && !byService && (
        <BulkDialog
          resource={resource}
          op={asked}
          count={count}
          read={everything}
          onClose={() => setAsked(null)}
          onDone={done}
        />
      )}
    </div>
  )
}

interface BulkProps {
  readonly resource: Resource
  readonly op: "update" | "delete" | "undelete"
  readonly count: number
  readonly read: (progress: (read: number) => void, signal: AbortSignal) => Promise<readonly AnyRecord[]>
  readonly onClose: () => void
  readonly onDone: () => void
}

type Step = ChangeStep<{ readonly records: readonly AnyRecord[]; readonly preview: Preview }>

const BulkDialog = ({ count, onClose, onDone, op, read, resource }: BulkProps): ReactNode => {
  const { format, t } = useLocale()
  const change = useChange(resource)
  const { data } = change
  const [step, setStep] = useState<Step>({ at: "choose" })
  /** The records that were last sent. */
  const sent = useRef<readonly AnyRecord[]>([])
  const bulk: Bulk = op === "update" ? { op, data } : { op }

  const { run } = useRun((error) => error instanceof RefusedWrite ? refuse(error) : setStep({ at: "failed", error }))
  /** What was tried as a dry run may be refused meanwhile. The others can still be written. */
  const refuse = ({ refusal, written }: RefusedWrite): void =>
    setStep({ at: "tried", records: sent.current.slice(written), preview: { refused: [refusal], more: false } })
  const check = (): Promise<void> =>
    run(async (signal) => {
      setStep({ at: "busy", done: 0, all: count })
      const records = await read((done) => setStep({ at: "busy", done, all: count }), signal)
      setStep({ at: "tried", records, preview: await preview(resource, bulk, records, signal) })
    })
  const write = (records: readonly AnyRecord[]): Promise<void> =>
    run(async (signal) => {
      setStep({ at: "busy", done: 0, all: records.length })
      sent.current = records
      const written = await apply(
        resource,
        bulk,
        records,
        (done) => setStep({ at: "busy", done, all: records.length }),
        signal
      )
      const numeral = format.count(records.length)
      if (op === "undelete") say(t.list.undeletedCount(records.length, numeral))
      else if (op === "delete") {
        say(
          t.list.deletedCount(records.length, numeral),
          resource.model.softDelete
            ? {
              undo: async () => {
                await apply(resource, { op: "undelete" }, records, () => {}, new AbortController().signal)
                say(t.list.undeletedCount(records.length, numeral))
                onDone()
              }
            }
            : {}
        )
      } else {
        const before = new Map(records.map((record) => [keyOf(resource, record), record]))
        const names = Object.keys(data)
        const known = records.every((record) => names.every((name) => name in record))
        say(
          t.list.changedCount(records.length, numeral),
          known
            ? {
              undo: async () => {
                // Records with the same former values share one write. Each record is written on the condition of its version after this change.
                const groups = formerValues(names, written, (record) => before.get(keyOf(resource, record)))
                for (const { data, records } of groups) {
                  await apply(resource, { op: "update", data }, records, () => {}, new AbortController().signal)
                }
                say(t.shell.undone)
                onDone()
              }
            }
            : {}
        )
      }
      onDone()
    })

  // A delete is tried at once, because there is nothing to choose.
  useEffect(() => {
    if (op !== "update") void check()
  }, [])

  const numeral = format.count(count)
  const title = op === "update"
    ? t.list.bulkEdit(count, numeral)
    : op === "delete"
    ? t.list.bulkDelete(count, numeral)
    : t.list.undelete
  const refused = step.at === "tried" ? step.preview.refused : []
  const left = step.at === "tried"
    ? step.records.filter((record) => !refused.some((each) => each.record === record))
    : []
  const label = op === "delete"
    ? t.list.bulkDelete(left.length, format.count(left.length))
    : op === "update"
    ? t.list.bulkApply(left.length, format.count(left.length))
    : t.list.undelete

  return (
    <ChangeDialog
      resource={resource}
      op={op}
      title={title}
      change={change}
      step={step}
      check={t.list.bulkCheck}
      onCheck={() => void check()}
      go={step.at === "tried" && left.length > 0 && !step.preview.more
        ? { label, onPress: () => void write(left) }
        : null}
      onClose={onClose}
    >
      {step.at === "tried" && refused.length === 0 && (
        <p>
          {op === "update" && <ChangedWords change={change} resource={resource} />}
          {t.list.previewFine(step.records.length, format.count(step.records.length))}
          {step.records.length > 500 && ` ${t.list.chunks}`}
        </p>
      )}
      {refused.length > 0 && (
        <>
          <p>
            {t.list.previewRefused(
              refused.length,
              `${format.count(refused.length)}${step.at === "tried" && step.preview.more ? "+" : ""}`
            )}
          </p>
          <div className="refused">
            <Suspense fallback={null}>
              <RefusedRecords
                resource={resource.name}
                refusals={refused.map(({ error, record }) => ({
                  key: keyOf(resource, record) ?? "",
                  field: null,
                  message: problemText(error, t)
                }))}
              />
            </Suspense>
          </div>
        </>
      )}
    </ChangeDialog>
  )
}
