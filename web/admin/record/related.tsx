/**
 * Records that point at this one, as rows within its page. Writable rows are edited here and saved with the page in one batch.
 */

import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Plus } from "lucide-react"
import { lazy, type ReactNode, Suspense, useState } from "react"
import type { MetaField, MetaModel } from "../../client/index.ts"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { Problem } from "../ground/problem.tsx"
import type { LiveMarks } from "../live/marks.ts"
import { useLocale } from "../messages/locale.tsx"
import { expandsFor, labelOf, type Resource } from "../model/catalogue.ts"
import { type AnyPage, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import { defaultsOf, type FormValues } from "./draft.ts"
import style from "./record.module.css"
import { RelatedTable } from "./related-table.tsx"
import { addRow, type RelationFacts, type RowsByRelation } from "./rows.ts"

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
export const useManyRelations = (resource: Resource, record: FormValues | null): readonly ManyRelation[] => {
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
  readonly rows: RowsByRelation
  readonly problems: { readonly [row: string]: string }
  readonly editable: boolean
  /** Whether the rows follow changes by others. Each relation that does takes a connection. */
  readonly live: boolean
  readonly onRows: (rows: RowsByRelation) => void
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
  const [marks, setMarks] = useState<LiveMarks>(new Map())
  const added = rows[relation.name]?.added ?? []
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
              filter={of.filter}
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
        <RelatedTable
          relation={relation.name}
          target={target}
          facts={of.facts}
          columns={columns}
          items={items}
          complete={owner === null || (data !== undefined && total <= items.length)}
          rows={rows}
          marks={marks}
          problems={problems}
          editable={editable}
          writes={writes}
          onRows={onRows}
        />
      )}
    </section>
  )
}
