/** The rows of one relation as a table: stored rows and new rows. Cells become inputs one by one. */

import { ChevronRight, ExternalLink, GripVertical, RotateCcw, Trash2 } from "lucide-react"
import { Fragment, type ReactNode, useId, useLayoutEffect, useRef, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { fileOf, isImage, Picture } from "../field/file.tsx"
import { Input } from "../field/input.tsx"
import { isQuantity, relationOf } from "../field/kind.ts"
import type { Draft } from "../field/parse.ts"
import { isAddable, sumsOf } from "../field/sums.ts"
import { useTitles } from "../field/titles.ts"
import { Value } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import type { LiveMarks } from "../live/marks.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { addressOf, expandedOf, fieldLabel, keyOf, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain, short } from "../model/plain.ts"
import { moveTo, numbered, positionField } from "./arrange.ts"
import { type Drafts, type FormValues, shownValue } from "./draft.ts"
import style from "./record.module.css"
import {
  type AddedRow,
  changeAdded,
  changeRow,
  dropAdded,
  type RelationFacts,
  type RelationRows,
  removeRow,
  type RowsByRelation
} from "./rows.ts"

interface TableProps {
  /** The name of the relation. */
  readonly relation: string
  readonly target: Resource
  readonly facts: RelationFacts
  readonly columns: readonly MetaField[]
  readonly items: readonly AnyRecord[]
  /** Whether these are all records of the relation. */
  readonly complete: boolean
  readonly rows: RowsByRelation
  readonly marks: LiveMarks
  /** By `relation/key/field`, as `rowProblems` and `rowRefusals` have them. */
  readonly problems: { readonly [place: string]: string }
  readonly editable: boolean
  readonly writes: (field: MetaField, how: "create" | "update") => boolean
  readonly onRows: (rows: RowsByRelation) => void
}

/** The cell that is edited, as `row/field`, and how another one begins. */
interface Editing {
  readonly place: string | null
  readonly begin: (place: string) => void
}

interface CellProps {
  readonly table: TableProps
  readonly editing: Editing
  /** The row: the key of a stored one, `+` and a number for a new one. */
  readonly at: string
  readonly field: MetaField
  readonly record: FormValues
  readonly drafts: Drafts
  readonly canEdit: boolean
  readonly onChange: (draft: Draft) => void
}

const Cell = (
  { at, canEdit, drafts, editing, field, onChange, record, table: { problems, relation, target } }: CellProps
): ReactNode => {
  const id = useId()
  const place = `${at}/${field.name}`
  const value = field.name in drafts ? drafts[field.name]!.value : record[field.name]
  const problem = problems[`${relation}/${place}`]
  const changed = field.name in drafts
  // A refused value is open, so that it can be mended where its reason stands.
  const open = canEdit && (editing.place === place || at.startsWith("+") || problem !== undefined)
  const shown = (linked: boolean): ReactNode => (
    <span className={style.value}>
      <Thumbnail resource={target} field={field} record={record} />
      <Value resource={target} field={field} value={value} record={record} linked={linked} />
    </span>
  )
  return (
    <td
      className={isQuantity(field) ? "num" : undefined}
      data-changed={field.name in drafts && !at.startsWith("+") ? "" : undefined}
      data-editing={open ? "" : undefined}
      data-cell={`${relation}/${place}`}
      data-refused={problem === undefined ? undefined : ""}
    >
      {open
        ? (
          <Input
            compact
            resource={target}
            field={field}
            value={value}
            label={fieldLabel(target, field.name)}
            invalid={problem !== undefined}
            describedBy={problem === undefined ? undefined : id}
            autoFocus={editing.place === place}
            onChange={onChange}
          />
        )
        : canEdit
        ? (
          <>
            <span id={`${id}-of`} hidden>{fieldLabel(target, field.name)}</span>
            <button
              type="button"
              id={`${id}-value`}
              className={style.cell}
              onClick={() => editing.begin(place)}
              aria-labelledby={`${id}-of ${id}-value`}
            >
              {changed && field.relation !== undefined
                ? <Chosen resource={target} field={field} value={value} />
                : shown(false)}
            </button>
          </>
        )
        : shown(true)}
      {!open && canEdit && !changed && <Way resource={target} field={field} record={record} />}
      {problem !== undefined && <p className="hint" id={id} data-bad="">{problem}</p>}
    </td>
  )
}

/** The record that a foreign key points at, where the answer has it, with its resource. */
const useTarget = (resource: Resource, field: MetaField, record: FormValues) => {
  const { catalogue } = useApp()
  const target = field.relation === undefined ? undefined : catalogue.resources.get(field.relation)
  const relation = relationOf(resource, field)
  const found = relation === undefined ? null : expandedOf(record, relation.name)
  return target === undefined || found === null ? null : { target, found }
}

interface WayProps {
  readonly resource: Resource
  readonly field: MetaField
  readonly record: FormValues
}

/** The picture of a related record: the first image among the columns of its list. */
const Thumbnail = ({ field, record, resource }: WayProps): ReactNode => {
  const related = useTarget(resource, field, record)
  const files =
    related?.target.view.columns.flatMap((name) =>
      related.target.fields.get(name)?.kind === "file" ? fileOf(related.found[name]) ?? [] : []
    ) ?? []
  const file = files.find(({ type }) => isImage(type))
  return file === undefined ? null : <Picture file={file} size={22} />
}

/** The way to a related record, beside a value that a click edits. */
const Way = ({ field, record, resource }: WayProps): ReactNode => {
  const related = useTarget(resource, field, record)
  const key = related === null ? null : keyOf(related.target, related.found)
  if (related === null || key === null) return null
  const name = `${related.target.view.label.singular}: ${titleOf(related.target, related.found)}`
  return (
    <Link className={style.way!} to={addressOf(related.target, key)} aria-label={name}>
      <ExternalLink className="icon" aria-hidden="true" />
    </Link>
  )
}

/** The title of a related record that was chosen and is not saved yet. */
const Chosen = (
  { field, resource, value }: { readonly resource: Resource; readonly field: MetaField; readonly value: unknown }
): ReactNode => {
  const { catalogue } = useApp()
  const target = field.relation === undefined ? undefined : catalogue.resources.get(field.relation)
  const key = plain(value)
  const title = useTitles(target, [key], relationOf(resource, field)?.targetField).get(key)
  return <bdi dir="auto" className="cut">{title ?? (key === "" ? "" : `#${short(key, 200)}`)}</bdi>
}

/** Why a whole row was refused, or a field of it that has no column here. */
const RowProblem = ({ at, table: { columns, problems, relation, target } }: {
  readonly table: TableProps
  readonly at: string
}): ReactNode => {
  const own = `${relation}/${at}/`
  const names = new Set(columns.map(({ name }) => name))
  const places = Object.keys(problems).filter((place) => place.startsWith(own) && !names.has(place.slice(own.length)))
  if (places.length === 0) return null
  const said = places.map((place) => {
    const field = place.slice(own.length)
    return field === "" ? problems[place] : `${fieldLabel(target, field)}: ${problems[place]}`
  })
  return (
    <tr>
      <td colSpan={columns.length + 2} data-refused="">
        {/* Where a refusal has no input to go to, it takes the focus itself. */}
        <p className="hint" data-bad="" data-cell={places[0]} tabIndex={-1}>{said.join(" ")}</p>
      </td>
    </tr>
  )
}

/** How rows are moved: by dragging a handle, or by the arrow keys on it. Null where they have no order that people make. */
interface Moving {
  readonly field: MetaField
  readonly count: number
  readonly move: (from: number, to: number) => void
}

interface RowProps {
  readonly table: TableProps
  readonly editing: Editing
  readonly moving: Moving | null
  /** Its place among the rows, from 0. */
  readonly index: number
}

const Handle = (
  { index, moving: { count, move }, title }: {
    readonly moving: Moving
    readonly index: number
    readonly title: string
  }
): ReactNode => {
  const { format, t } = useLocale()
  const ref = useRef<HTMLButtonElement>(null)
  const keeps = useRef(false)
  useLayoutEffect(() => {
    // A row that moves in the document loses the focus.
    if (keeps.current) ref.current?.focus()
    keeps.current = false
  }, [index])
  const where = t.record.position(format.count(index + 1), format.count(count))
  return (
    <td className={style.handle}>
      <button
        ref={ref}
        type="button"
        aria-label={`${t.record.moveRow(title)}, ${where}`}
        title={t.record.moveHint}
        onKeyDown={(event) => {
          const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
          if (by === 0) return
          event.preventDefault()
          if (index + by < 0 || index + by >= count) return
          keeps.current = true
          move(index, index + by)
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
        }}
        onPointerMove={(event) => {
          if (!event.currentTarget.hasPointerCapture(event.pointerId)) return
          const rows = event.currentTarget.closest("tbody")?.querySelectorAll<HTMLElement>("tr[data-index]") ?? []
          const over = [...rows].find((row) => {
            const { bottom, top } = row.getBoundingClientRect()
            return event.clientY >= top && event.clientY < bottom
          })?.dataset["index"]
          if (over !== undefined && Number(over) !== index) move(index, Number(over))
        }}
      >
        <GripVertical className="icon" aria-hidden="true" />
      </button>
    </td>
  )
}

const StoredRow = ({ editing, index, moving, record, table }: RowProps & { readonly record: AnyRecord }): ReactNode => {
  const t = useMessages()
  const { columns, editable, facts, marks, onRows, relation, rows, target, writes } = table
  const key = keyOf(target, record)
  if (key === null) return null
  const row = rows[relation]?.changed[key]
  const gone = marks.get(key) === "gone"
  const removed = row?.removed === true
  const may = record.permissions?.update !== false && !removed && !gone
  return (
    <tr
      data-index={index}
      data-removed={removed || gone ? "" : undefined}
      data-fresh={marks.get(key) === "changed" ? "" : undefined}
    >
      {moving !== null && <Handle moving={moving} index={index} title={titleOf(target, record)} />}
      {columns.map((field) => (
        <Cell
          key={field.name}
          table={table}
          editing={editing}
          at={key}
          field={field}
          record={record}
          drafts={row?.drafts ?? {}}
          canEdit={may && writes(field, "update")}
          onChange={(draft) => onRows(changeRow(rows, relation, facts, key, record, field.name, draft))}
        />
      ))}
      <td className={style.tools}>
        {editable && !gone && target.may.delete && record.permissions?.delete !== false
          ? (
            <button
              type="button"
              className="btn quiet bare"
              aria-label={removed ? t.record.keepRow : `${t.record.removeRow}: ${titleOf(target, record)}`}
              onClick={() => onRows(removeRow(rows, relation, facts, key, record))}
            >
              {removed
                ? <RotateCcw className="icon" aria-hidden="true" />
                : <Trash2 className="icon" aria-hidden="true" />}
            </button>
          )
          : (
            <Link to={addressOf(target, key)} className="btn quiet bare" aria-label={t.list.open}>
              <ChevronRight className="icon" data-flips="" aria-hidden="true" />
            </Link>
          )}
      </td>
    </tr>
  )
}

const NewRow = (
  { editing, index, moving, row: { drafts, id }, table }: RowProps & { readonly row: AddedRow }
): ReactNode => {
  const t = useMessages()
  const { columns, onRows, relation, rows, target, writes } = table
  return (
    <tr data-index={index} data-added="">
      {moving !== null && (
        <Handle
          moving={moving}
          index={index}
          title={t.record.newTitle(target.view.label.singular)}
        />
      )}
      {columns.map((field) => (
        <Cell
          key={field.name}
          table={table}
          editing={editing}
          at={`+${id}`}
          field={field}
          record={{}}
          drafts={drafts}
          canEdit={writes(field, "create")}
          onChange={(draft) => onRows(changeAdded(rows, relation, id, field.name, draft))}
        />
      ))}
      <td className={style.tools}>
        <button
          type="button"
          className="btn quiet bare"
          aria-label={t.record.removeRow}
          onClick={() => onRows(dropAdded(rows, relation, id))}
        >
          <Trash2 className="icon" aria-hidden="true" />
        </button>
      </td>
    </tr>
  )
}

/** A stored row or a new one, by its name among the drafts. */
type Line =
  | { readonly at: string; readonly record: AnyRecord; readonly row?: never }
  | { readonly at: string; readonly row: AddedRow; readonly record?: never }

/** The rows in the order that they are shown in: the one that was read, until somebody moves a row. */
const useLines = ({ items, relation, rows, target }: TableProps) => {
  const [order, setOrder] = useState<readonly string[]>([])
  const kept: RelationRows | undefined = rows[relation]
  const lines: readonly Line[] = [
    ...items.flatMap((record) => {
      const at = keyOf(target, record)
      return at === null ? [] : [{ at, record }]
    }),
    ...kept?.added.map((row) => ({ at: `+${row.id}`, row })) ?? []
  ]
  // Without changes the order is the one that was read.
  const places = new Map(kept === undefined ? [] : order.map((at, index) => [at, index]))
  const placeOf = ({ at }: Line): number => places.get(at) ?? places.size
  return { lines: lines.toSorted((a, b) => placeOf(a) - placeOf(b)), setOrder }
}

/** Moves rows, if all of them are here and may be numbered. */
const useMoving = (
  table: TableProps,
  lines: readonly Line[],
  setOrder: (order: readonly string[]) => void
): Moving | null => {
  const { complete, editable, facts, onRows, relation, rows, target, writes } = table
  const field = positionField(target)
  if (field === null || !editable || !complete || lines.length < 2 || !writes(field, "update")) return null
  if (!writes(field, "create") && lines.some(({ row }) => row !== undefined)) return null
  if (lines.some(({ record }) => record !== undefined && record.permissions?.update === false)) return null
  const draftsOf = ({ at, row }: Line): Drafts => row?.drafts ?? rows[relation]?.changed[at]?.drafts ?? {}
  return {
    field,
    count: lines.length,
    move: (from, to) => {
      const next = moveTo(lines, from, to)
      const numbers = numbered(next.map((line) => shownValue(draftsOf(line), line.record ?? {}, field.name)))
      setOrder(next.map(({ at }) => at))
      onRows(next.reduce((all, { at, record, row }, place) => {
        const draft = { value: numbers[place], problem: null }
        return record === undefined
          ? changeAdded(all, relation, row.id, field.name, draft)
          : changeRow(all, relation, facts, at, record, field.name, draft)
      }, rows))
    }
  }
}

/** The sums of columns, below them. A number that the database computes has none while rows are changed. */
const Sums = ({ lines, moving, table }: {
  readonly table: TableProps
  readonly lines: readonly Line[]
  readonly moving: boolean
}): ReactNode => {
  const { format, t } = useLocale()
  const { columns, relation, rows, target } = table
  const kept = rows[relation]
  const summed = columns.filter((field) => isAddable(target, field))
  if (summed.length === 0 || lines.length < 2) return null
  const left = lines.filter(({ at }) => kept?.changed[at]?.removed !== true)
  const values = left.map(({ at, record, row }): FormValues => {
    const drafts = row?.drafts ?? kept?.changed[at]?.drafts ?? {}
    return { ...record, ...Object.fromEntries(Object.entries(drafts).map(([name, { value }]) => [name, value])) }
  })
  const position = positionField(target)?.name
  const stale = (kept?.added.length ?? 0) > 0 ||
    Object.values(kept?.changed ?? {}).some(({ drafts }) => Object.keys(drafts).some((name) => name !== position))
  const textOf = (field: MetaField): string =>
    stale && !field.writable.update ? "…" : sumsOf(target, field, values, format).join(" · ")
  const label = columns.findIndex((field) => !summed.includes(field))
  return (
    <tfoot>
      <tr>
        {moving && <td />}
        {columns.map((field, at) =>
          summed.includes(field)
            ? (
              <td key={field.name} className="num" title={textOf(field) === "…" ? t.record.sumLater : undefined}>
                {textOf(field)}
              </td>
            )
            : at === label
            ? <th key={field.name} scope="row">{t.record.sum}</th>
            : <td key={field.name} />
        )}
        <td className={style.tools} />
      </tr>
    </tfoot>
  )
}

export const RelatedTable = (props: TableProps): ReactNode => {
  const t = useMessages()
  const [place, begin] = useState<string | null>(null)
  const editing = { place, begin }
  const { columns, complete, target } = props
  const { lines, setOrder } = useLines(props)
  const moving = useMoving(props, lines, setOrder)
  return (
    <div className={style.rows}>
      <table>
        <thead>
          <tr>
            {moving !== null && (
              <th className={style.handle}>
                <span className="hush">{t.record.order}</span>
              </th>
            )}
            {columns.map((field) => (
              <th key={field.name} scope="col" className={isQuantity(field) ? "num" : undefined}>
                {fieldLabel(target, field.name)}
              </th>
            ))}
            <th className={style.tools}>
              <span className="hush">{t.list.more}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ at, record, row }, index) => (
            <Fragment key={at}>
              {record === undefined
                ? <NewRow table={props} editing={editing} moving={moving} index={index} row={row} />
                : <StoredRow table={props} editing={editing} moving={moving} index={index} record={record} />}
              <RowProblem table={props} at={at} />
            </Fragment>
          ))}
        </tbody>
        {complete && <Sums table={props} lines={lines} moving={moving !== null} />}
      </table>
    </div>
  )
}
