/** The rows of one relation as a table: stored rows and new rows. Cells become inputs one by one. */

import { ChevronRight, RotateCcw, Trash2 } from "lucide-react"
import { Fragment, type ReactNode, useId, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { Input } from "../field/input.tsx"
import { isQuantity } from "../field/kind.ts"
import type { Draft } from "../field/parse.ts"
import { Value } from "../field/value.tsx"
import { Link } from "../ground/link.tsx"
import type { LiveMarks } from "../live/marks.ts"
import { useMessages } from "../messages/locale.tsx"
import { addressOf, fieldLabel, keyOf, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import type { Drafts, Values } from "./draft.ts"
import style from "./record.module.css"
import {
  type AddedRow,
  changeAdded,
  changeRow,
  dropAdded,
  type RelationFacts,
  type RelationRows,
  removeRow,
  type Rows
} from "./rows.ts"

interface TableProps {
  /** The name of the relation. */
  readonly relation: string
  readonly target: Resource
  readonly facts: RelationFacts
  readonly columns: readonly MetaField[]
  readonly items: readonly AnyRecord[]
  readonly rows: Rows
  readonly marks: LiveMarks
  /** By `relation/key/field`, as `rowProblems` and `rowRefusals` have them. */
  readonly problems: { readonly [place: string]: string }
  readonly editable: boolean
  readonly writes: (field: MetaField, how: "create" | "update") => boolean
  readonly onRows: (rows: Rows) => void
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
  readonly record: Values
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
  // A refused value is open, so that it can be mended where its reason stands.
  const open = canEdit && (editing.place === place || at.startsWith("+") || problem !== undefined)
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
          <button
            type="button"
            className={style.cell}
            onClick={() => editing.begin(place)}
            aria-label={fieldLabel(target, field.name)}
          >
            <Value resource={target} field={field} value={value} record={record} linked={false} />
          </button>
        )
        : <Value resource={target} field={field} value={value} record={record} />}
      {problem !== undefined && <p className="hint" id={id} data-bad="">{problem}</p>}
    </td>
  )
}

/** Why a whole row was refused, or a field of it that has no column here. */
const RowProblem = ({ at, table: { columns, problems, relation, target } }: {
  readonly table: TableProps
  readonly at: string
}): ReactNode => {
  const own = `${relation}/${at}/`
  const shown = new Set(columns.map(({ name }) => name))
  const places = Object.keys(problems).filter((place) => place.startsWith(own) && !shown.has(place.slice(own.length)))
  if (places.length === 0) return null
  const said = places.map((place) => {
    const field = place.slice(own.length)
    return field === "" ? problems[place] : `${fieldLabel(target, field)}: ${problems[place]}`
  })
  return (
    <tr>
      <td colSpan={columns.length + 1} data-refused="">
        {/* Where a refusal has no input to go to, it takes the focus itself. */}
        <p className="hint" data-bad="" data-cell={places[0]} tabIndex={-1}>{said.join(" ")}</p>
      </td>
    </tr>
  )
}

interface RowProps {
  readonly table: TableProps
  readonly editing: Editing
}

const StoredRow = ({ editing, record, table }: RowProps & { readonly record: AnyRecord }): ReactNode => {
  const t = useMessages()
  const { columns, editable, facts, marks, onRows, relation, rows, target, writes } = table
  const key = keyOf(target, record)
  if (key === null) return null
  const row = rows[relation]?.changed[key]
  const gone = marks.get(key) === "gone"
  const removed = row?.removed === true
  const may = record.permissions?.update !== false && !removed && !gone
  return (
    <tr data-removed={removed || gone ? "" : undefined} data-fresh={marks.get(key) === "changed" ? "" : undefined}>
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

const NewRow = ({ editing, row: { drafts, id }, table }: RowProps & { readonly row: AddedRow }): ReactNode => {
  const t = useMessages()
  const { columns, onRows, relation, rows, writes } = table
  return (
    <tr data-added="">
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

export const RelatedTable = (props: TableProps): ReactNode => {
  const t = useMessages()
  const [place, begin] = useState<string | null>(null)
  const editing = { place, begin }
  const { columns, items, relation, rows, target } = props
  const kept: RelationRows | undefined = rows[relation]
  return (
    <div className={style.rows}>
      <table>
        <thead>
          <tr>
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
          {items.map((record, at) => (
            <Fragment key={keyOf(target, record) ?? at}>
              <StoredRow table={props} editing={editing} record={record} />
              <RowProblem table={props} at={keyOf(target, record) ?? ""} />
            </Fragment>
          ))}
          {kept?.added.map((row) => (
            <Fragment key={`+${row.id}`}>
              <NewRow table={props} editing={editing} row={row} />
              <RowProblem table={props} at={`+${row.id}`} />
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  )
}
