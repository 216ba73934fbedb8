/**
 * Records that point at this one, as rows within its page. Writable rows are edited here and saved with the page in one batch.
 */

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { ChevronRight, Plus, RotateCcw, Trash2 } from "lucide-react"
import { lazy, type ReactNode, Suspense, useState } from "react"
import type { MetaField, MetaModel } from "../../client/index.ts"
import { Input } from "../field/input.tsx"
import { isQuantity } from "../field/kind.ts"
import type { Draft } from "../field/parse.ts"
import { Value } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { Problem } from "../ground/problem.tsx"
import type { LiveMarks } from "../live/marks.ts"
import { useLocale } from "../messages/locale.tsx"
import { addressOf, expandsFor, fieldLabel, keyOf, labelOf, type Resource, titleOf } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import { defaultsOf, type Drafts, type Values } from "./draft.ts"
import style from "./record.module.css"
import { addRow, changeAdded, changeRow, dropAdded, type RelationFacts, removeRow, type Rows } from "./rows.ts"

const LiveRelated = lazy(() => import("./live-related.tsx").then(({ LiveRelated }) => ({ default: LiveRelated })))

type Relation = MetaModel["relations"][number]

/** A relation to many records, with the related resource and its foreign key. */
export interface ManyRelation {
  readonly relation: Relation
  readonly target: Resource
  readonly filter: string
  readonly facts: RelationFacts
}

/** The relations to many records that the caller sees. `record` is null for a new one. */
export const useManyRelations = (resource: Resource, record: Values | null): readonly ManyRelation[] => {
  const { catalogue } = useApp()
  return resource.model.relations.flatMap((relation) => {
    const target = relation.many ? catalogue.resources.get(relation.resource) : undefined
    const field = target?.fields.get(relation.targetField)
    if (target === undefined || field === undefined || !target.may.read || target.source !== resource.source) return []
    const value = record?.[relation.field]
    return [{
      relation,
      target,
      filter: record === null || !field.filterable
        ? ""
        : textOfSimple({ field: relation.targetField, is: "is", values: [plain(value)] }, target) ?? "",
      facts: { resource: target.name, field: relation.targetField, value }
    }]
  })
}

const pageSize = 50

/** Whether related records are rows of this page: their resource has no place in the navigation of its own. */
const isInline = (target: Resource): boolean => target.view.nav === null

interface RelatedProps {
  readonly of: ManyRelation
  readonly owner: readonly [resource: string, keyText: string] | null
  readonly rows: Rows
  readonly problems: { readonly [row: string]: string }
  readonly editable: boolean
  /** Whether the rows follow what others do: each relation that does takes a connection. */
  readonly live: boolean
  readonly onRows: (rows: Rows) => void
}

const readRelated = (of: ManyRelation, size: number, signal: AbortSignal): Promise<AnyPage> =>
  resourceClient(of.target.name).list({
    filter: of.filter,
    order_by: of.target.view.sort,
    page_size: size,
    // The record that they belong to is known.
    expand: expandsFor(of.target, [...of.target.fields.keys()].filter((name) => name !== of.relation.targetField))
  }, { signal })

const relatedKey = (of: ManyRelation, owner: RelatedProps["owner"], size: number) =>
  ["related", owner?.[0], owner?.[1], of.relation.name, size] as const

const useRelated = (of: ManyRelation, owner: RelatedProps["owner"], size: number) =>
  useQuery<AnyPage>({
    queryKey: relatedKey(of, owner, size),
    enabled: owner !== null && of.filter !== "",
    queryFn: ({ signal }) => readRelated(of, size, signal)
  })

/** The number of related records, in the side panel. */
export const RelatedCount = ({ of, owner }: Pick<RelatedProps, "of" | "owner">): ReactNode => {
  const { format } = useLocale()
  const { data } = useRelated(of, owner, 1)
  if (of.filter === "") return null
  return (
    <Link className={style.count!} to={`/${of.target.name}?filter=${encodeURIComponent(of.filter.toWellFormed())}`}>
      <span className="grow cut">{of.target.view.label.plural}</span>
      {data !== undefined && <span className="dim">{format.count(data.total_size_estimate)}</span>}
    </Link>
  )
}

/** Separates relations whose records are rows of the page from those that are only counted beside it. */
export const splitRelations = (all: readonly ManyRelation[]) => ({
  inline: all.filter(({ target }) => isInline(target)),
  counted: all.filter(({ target }) => !isInline(target))
})

export const RelatedRows = ({ editable, live, of, onRows, owner, problems, rows }: RelatedProps): ReactNode => {
  const { format, t } = useLocale()
  const queries = useQueryClient()
  const { relation, target } = of
  const { data, error, refetch } = useRelated(of, owner, pageSize)
  const [editing, setEditing] = useState<string | null>(null)
  const [marks, setMarks] = useState<LiveMarks>(new Map())
  const kept = rows[relation.name]
  const added = kept?.added ?? []
  const own = target.view.columns.flatMap((name) => {
    const field = target.fields.get(name)
    return field === undefined || name === relation.targetField ? [] : [field]
  })
  // A new row also shows its required fields.
  const needed = added.length === 0 ?
    [] :
    target.model.fields.filter((field) =>
      field.writable.create && !field.optional && field.default === undefined && field.name !== relation.targetField &&
      !own.includes(field)
    )
  const columns = [...own, ...needed]
  const writes = (field: MetaField, how: "create" | "update"): boolean =>
    editable && target.may[how] && field.writable[how] && field.name !== relation.targetField
  const cell = (
    at: string,
    field: MetaField,
    record: Values,
    drafts: Drafts,
    canEdit: boolean,
    onChange: (draft: Draft) => void
  ): ReactNode => {
    const place = `${at}/${field.name}`
    const value = field.name in drafts ? drafts[field.name]!.value : record[field.name]
    const problem = problems[`${relation.name}/${place}`]
    const open = canEdit && (editing === place || at.startsWith("+"))
    return (
      <td
        key={field.name}
        className={isQuantity(field) ? "num" : undefined}
        data-changed={field.name in drafts && !at.startsWith("+") ? "" : undefined}
        data-editing={open ? "" : undefined}
        title={problem}
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
              autoFocus={editing === place}
              onChange={onChange}
            />
          )
          : canEdit
          ? (
            <button
              type="button"
              className={style.cell}
              onClick={() => setEditing(place)}
              aria-label={fieldLabel(target, field.name)}
            >
              <Value resource={target} field={field} value={value} record={record} linked={false} />
            </button>
          )
          : <Value resource={target} field={field} value={value} record={record} />}
      </td>
    )
  }
  const items = data?.items ?? []
  const total = data?.total_size_estimate ?? 0
  return (
    <section className={style.group} aria-label={labelOf(relation.name)}>
      <h2>
        {labelOf(relation.name)}{" "}
        <span className="dim">{data === undefined ? "" : format.count(total + added.length)}</span>
        <span className="grow" />
        {live && data !== undefined && (
          <Suspense fallback={null}>
            <LiveRelated
              target={target}
              page={data}
              read={(signal) => readRelated(of, pageSize, signal)}
              onPage={(page) => queries.setQueryData(relatedKey(of, owner, pageSize), page)}
              onMarks={setMarks}
            />
          </Suspense>
        )}
        {data !== undefined && total > items.length && (
          <Link className="btn quiet" to={`/${target.name}?filter=${encodeURIComponent(of.filter.toWellFormed())}`}>
            {t.record.allOf(format.count(total))}
          </Link>
        )}
        {editable && target.may.create && (
          <button
            type="button"
            className="btn quiet"
            onClick={() =>
              onRows(
                addRow(rows, relation.name, of.facts, defaultsOf(columns.filter((field) => writes(field, "create"))))
              )}
          >
            <Plus className="icon" aria-hidden="true" /> {t.record.addRow(target.view.label.singular)}
          </button>
        )}
      </h2>
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {items.length + added.length === 0 && error === null && (
        <p className="dim">{data === undefined && owner !== null ? "" : t.record.noRows}</p>
      )}
      {items.length + added.length > 0 && (
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
              {items.map((record: AnyRecord) => {
                const key = keyOf(target, record)
                if (key === null) return null
                const row = kept?.changed[key]
                const gone = marks.get(key) === "gone"
                const removed = row?.removed === true
                const may = record.permissions?.update !== false && !removed && !gone
                const drafts = row?.drafts ?? {}
                return (
                  <tr
                    key={key}
                    data-removed={removed || gone ? "" : undefined}
                    data-fresh={marks.get(key) === "changed" ? "" : undefined}
                  >
                    {columns.map((field) =>
                      cell(key, field, record, drafts, may && writes(field, "update"), (draft) =>
                        onRows(changeRow(rows, relation.name, of.facts, key, record, field.name, draft)))
                    )}
                    <td className={style.tools}>
                      {editable && !gone && target.may.delete && record.permissions?.delete !== false
                        ? (
                          <button
                            type="button"
                            className="btn quiet bare"
                            aria-label={removed
                              ? t.record.keepRow
                              : `${t.record.removeRow}: ${titleOf(target, record)}`}
                            onClick={() => onRows(removeRow(rows, relation.name, of.facts, key, record))}
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
              })}
              {added.map(({ drafts, id }) => (
                <tr key={`+${id}`} data-added="">
                  {columns.map((field) =>
                    cell(
                      `+${id}`,
                      field,
                      {},
                      drafts,
                      writes(field, "create"),
                      (draft) => onRows(changeAdded(rows, relation.name, id, field.name, draft))
                    )
                  )}
                  <td className={style.tools}>
                    <button
                      type="button"
                      className="btn quiet bare"
                      aria-label={t.record.removeRow}
                      onClick={() =>
                        onRows(dropAdded(rows, relation.name, id))}
                    >
                      <Trash2 className="icon" aria-hidden="true" />
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
