/** What can be done with the selected records: their sum, editing, copying, deleting and bringing back, each tried before it is written. */

import { Copy, RotateCcw, SquarePen, Trash2, X } from "lucide-react"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { Button } from "react-aria-components"
import type { MetaField } from "../../client/index.ts"
import { config } from "../config.ts"
import { Input } from "../field/input.tsx"
import { currencyOf } from "../field/kind.ts"
import type { Draft } from "../field/parse.ts"
import { textOf } from "../field/text.ts"
import { useReader } from "../field/value.tsx"
import type { Column } from "../grid/columns.ts"
import { useLocale } from "../messages/locale.tsx"
import { keyOf, labelOf, type Resource, titleOf } from "../shell/catalogue.ts"
import type { AnyRecord } from "../shell/client.ts"
import { hrefOf } from "../shell/location.ts"
import { Cancel, Dialog, Item, Menu } from "../shell/parts.tsx"
import { copyText, problemText } from "../shell/problem.tsx"
import { noticeFailure } from "../shell/session.ts"
import { say } from "../shell/toasts.tsx"
import { apply, type Bulk, type Preview, preview, readMatching } from "./bulk.ts"
import { toCsv, toCurl, toJson, toMarkdown } from "./export.ts"
import style from "./list.module.css"
import type { Rows } from "./rows.ts"
import { nothing, selectedCount, type Selection, sumOf } from "./selection.ts"

interface BarProps {
  readonly resource: Resource
  readonly selection: Selection
  /** Records that were selected one by one, also those that are out of sight by now. */
  readonly picked: ReadonlyMap<string, AnyRecord>
  readonly columns: readonly Column[]
  readonly rows: Rows
  readonly deleted: boolean
  /** The quantity that is summed up. */
  readonly sum: MetaField | undefined
  readonly onSelection: (selection: Selection) => void
  readonly onChanged: () => void
}

export const SelectionBar = (props: BarProps): ReactNode => {
  const { columns, deleted, onChanged, onSelection, picked, resource, rows, selection, sum } = props
  const { format, t } = useLocale()
  const [asked, setAsked] = useState<"update" | "delete" | "undelete" | null>(null)
  const total = rows.total?.count ?? 0
  const count = selectedCount(selection, total)
  const fields = columns.map(({ id }) => id)

  const known = (): readonly AnyRecord[] =>
    selection.of === "some" ? [...selection.keys].flatMap((key) => picked.get(key) ?? []) : []
  const everything = (progress: (read: number) => void, signal: AbortSignal): Promise<readonly AnyRecord[]> =>
    selection.of === "some"
      ? Promise.resolve(known())
      : readMatching(resource, selection.filter, selection.except, deleted, fields, progress, signal)

  const sumText = (): string | null => {
    if (sum === undefined || selection.of === "all") return null
    const records = known()
    const currency = currencyOf(resource, sum)
    const codes = new Set(currency === null ? [] : records.map((record) => record[currency.name]))
    if (codes.size > 1 || records.length < 2) return null
    const result = sumOf(records.map((record) => record[sum.name]))
    const [code] = codes
    return result === null ? null : t.list.sum(`${format.number(result)}${typeof code === "string" ? ` ${code}` : ""}`)
  }
  const summed = sumText()

  const copy = (as: "json" | "csv" | "markdown" | "curl" | "link"): void => {
    void everything(() => {}, new AbortController().signal).then((records) => {
      const makers = {
        json: () => toJson(fields, records),
        csv: () => toCsv(fields, records),
        markdown: () => toMarkdown(fields, records),
        curl: () => toCurl(resource, records, location.origin + config.basePath),
        link: () =>
          records.map((record) => `${location.origin}${hrefOf(`/${resource.name}/${keyOf(resource, record) ?? ""}`)}`)
            .join("\n")
      }
      copyText(makers[as](), t)
    })
  }

  return (
    <div className={`float ${style.bar}`} role="toolbar" aria-label={t.list.selected(format.count(count))}>
      <p role="status">
        <b>{selection.of === "all" ? t.list.allSelected(format.count(count)) : t.list.selected(format.count(count))}</b>
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
          {t.list.selectMatching(format.count(total))}
        </button>
      )}
      {resource.may.update && !deleted && (
        <button type="button" className="btn" onClick={() => setAsked("update")}>
          <SquarePen className="icon" aria-hidden="true" /> {t.list.edit}
        </button>
      )}
      <Menu
        label={t.list.copy}
        placement="top"
        trigger={
          <Button className="btn">
            <Copy className="icon" aria-hidden="true" /> {t.list.copy}
          </Button>
        }
      >
        {(Object.keys(t.list.copyAs) as (keyof typeof t.list.copyAs)[]).map((as) => (
          <Item
            key={as}
            onAction={() => copy(as)}
          >
            {t.list.copyAs[as]}
          </Item>
        ))}
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
      {asked !== null && (
        <BulkDialog
          resource={resource}
          op={asked}
          count={count}
          read={everything}
          onClose={() => setAsked(null)}
          onDone={() => {
            setAsked(null)
            onSelection(nothing)
            onChanged()
          }}
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

type Step =
  | { readonly at: "choose" }
  | { readonly at: "busy"; readonly done: number; readonly all: number }
  | { readonly at: "checked"; readonly records: readonly AnyRecord[]; readonly preview: Preview }
  | { readonly at: "failed"; readonly error: unknown }

const BulkDialog = ({ count, onClose, onDone, op, read, resource }: BulkProps): ReactNode => {
  const { format, t } = useLocale()
  const reader = useReader()
  const fields = resource.model.fields.filter(({ writable }) => writable.update)
  const [name, setName] = useState(fields[0]?.name ?? "")
  const [draft, setDraft] = useState<Draft | null>(null)
  const [step, setStep] = useState<Step>({ at: "choose" })
  const ending = useRef<AbortController>(new AbortController())
  useEffect(() => () => ending.current.abort(), [])
  const field = resource.fields.get(name)
  const change: Bulk = op === "update" ? { op, data: { [name]: draft?.value ?? null } } : { op }

  const run = async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    const controller = new AbortController()
    ending.current = controller
    try {
      await work(controller.signal)
    } catch (error) {
      if (controller.signal.aborted) return
      noticeFailure(error)
      setStep({ at: "failed", error })
    }
  }
  const check = (): Promise<void> =>
    run(async (signal) => {
      setStep({ at: "busy", done: 0, all: count })
      const records = await read((done) => setStep({ at: "busy", done, all: count }), signal)
      setStep({ at: "checked", records, preview: await preview(resource, change, records, signal) })
    })
  const write = (records: readonly AnyRecord[]): Promise<void> =>
    run(async (signal) => {
      setStep({ at: "busy", done: 0, all: records.length })
      const written = await apply(
        resource,
        change,
        records,
        (done) => setStep({ at: "busy", done, all: records.length }),
        signal
      )
      const shown = format.count(records.length)
      if (op === "undelete") say(t.list.undeletedCount(records.length, shown))
      else if (op === "delete") {
        say(
          t.list.deletedCount(records.length, shown),
          resource.model.softDelete
            ? {
              undo: async () => {
                await apply(resource, { op: "undelete" }, records, () => {}, new AbortController().signal)
                say(t.list.undeletedCount(records.length, shown))
                onDone()
              }
            }
            : {}
        )
      } else {
        const before = new Map(records.map((record) => [keyOf(resource, record), record]))
        const known = records.every((record) => name in record)
        say(
          t.list.changedCount(records.length, shown),
          known
            ? {
              undo: async () => {
                // One write a former value: each with the version that this change made.
                const groups = Map.groupBy(written, (record) =>
                  JSON.stringify(before.get(keyOf(resource, record))?.[name] ?? null))
                for (const [value, group] of groups) {
                  const data = { [name]: JSON.parse(value) as unknown }
                  await apply(resource, { op: "update", data }, group, () => {}, new AbortController().signal)
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

  // A delete is tried at once: there is nothing to choose.
  useEffect(() => {
    if (op !== "update") void check()
  }, [])

  const shown = format.count(count)
  const title = op === "update"
    ? t.list.bulkEdit(count, shown)
    : op === "delete"
    ? t.list.bulkDelete(count, shown)
    : t.list.undelete
  const refused = step.at === "checked" ? step.preview.refused : []
  const left = step.at === "checked"
    ? step.records.filter((record) => !refused.some((each) => each.record === record))
    : []

  return (
    <Dialog
      title={title}
      alert={op === "delete"}
      onClose={onClose}
      text={op === "delete" ? (resource.model.softDelete ? t.list.deleteSoft : t.list.deleteHard) : undefined}
      footer={
        <>
          <Cancel onPress={onClose} />
          {step.at === "choose" && (
            <button
              type="button"
              className="btn primary"
              disabled={draft === null ? field?.optional !== true : draft.problem !== null}
              onClick={() => void check()}
            >
              {t.list.bulkCheck}
            </button>
          )}
          {step.at === "failed" && (
            <button type="button" className="btn" onClick={() => void check()}>{t.shell.retry}</button>
          )}
          {step.at === "checked" && left.length > 0 && !step.preview.more && (
            <button
              type="button"
              className={`btn primary ${op === "delete" ? "danger" : ""}`}
              onClick={() => void write(left)}
            >
              {op === "delete"
                ? t.list.bulkDelete(left.length, format.count(left.length))
                : op === "update"
                ? t.list.bulkApply(left.length, format.count(left.length))
                : t.list.undelete}
            </button>
          )}
        </>
      }
    >
      {op === "update" && step.at === "choose" && field !== undefined && (
        <div className="bulk-form">
          <label>
            <span className="label">{t.list.bulkField}</span>
            <span className="input">
              <select
                value={name}
                onChange={({ target }) => {
                  setName(target.value)
                  setDraft(null)
                }}
              >
                {fields.map((each) => <option key={each.name} value={each.name}>{labelOf(each.name)}</option>)}
              </select>
            </span>
          </label>
          <div>
            <span className="label">{t.list.bulkValue}</span>
            <Input
              key={name}
              resource={resource}
              field={field}
              value={draft?.value ?? null}
              label={t.list.bulkValue}
              invalid={draft?.problem != null}
              onChange={setDraft}
            />
            {draft?.problem != null && <p className="hint" data-bad="" role="alert">{draft.problem}</p>}
          </div>
        </div>
      )}
      {step.at === "busy" && (
        <p className="late" role="status">
          <span className="spinner" aria-hidden="true" />{" "}
          {t.list.progress(format.count(step.done), format.count(step.all))}
        </p>
      )}
      {step.at === "failed" && <p className="hint" data-bad="" role="alert">{problemText(step.error, t)}</p>}
      {step.at === "checked" && refused.length === 0 && (
        <p>
          {op === "update" && field !== undefined && (
            <b className="bulk-what">
              {labelOf(name)}: {textOf(resource, field, draft?.value, reader) || t.field.empty}
            </b>
          )}
          {t.list.previewFine(step.records.length, format.count(step.records.length))}
          {step.records.length > 500 && ` ${t.list.chunks}`}
        </p>
      )}
      {refused.length > 0 && (
        <>
          <p>
            {t.list.previewRefused(
              `${format.count(refused.length)}${step.at === "checked" && step.preview.more ? "+" : ""}`
            )}
          </p>
          <ul className="refused">
            {refused.map(({ error, record }) => (
              <li key={keyOf(resource, record)}>
                <b>{titleOf(resource, record)}</b> {problemText(error, t)}
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  )
}
