/** The versions of a record, newest first: who changed what and when. An earlier version can be restored. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { isKeyOf } from "../../../core/domain/value/table.ts"
import { textOf } from "../field/text.ts"
import { useReader } from "../field/value.tsx"
import { useMakers, versionsOf } from "../ground/makers.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { Problem, sayProblem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { isSame } from "../merge/merge.ts"
import { useMessages } from "../messages/locale.tsx"
import { fieldLabel, keyPartsOf, makerNeeds, type Resource } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import { plain, short } from "../model/plain.ts"
import style from "./record.module.css"

/** Fields that differ between two versions. Fields that every write changes are left out. */
const differences = (resource: Resource, version: AnyRecord, before: AnyRecord | undefined): readonly string[] =>
  before === undefined ?
    [] :
    resource.model.fields.map(({ name }) => name).filter((name) =>
      name !== resource.model.version && name in version && !isSame(version[name], before[name])
    )

interface HistoryProps {
  readonly resource: Resource
  readonly versions: Resource
  readonly keyText: string
  readonly record: AnyRecord
}

export const History = ({ keyText, record, resource, versions }: HistoryProps): ReactNode => {
  const t = useMessages()
  const reader = useReader()
  const queries = useQueryClient()
  const [restoring, setRestoring] = useState<AnyRecord | null>(null)
  const makerOf = useMakers(versions)
  const parts = keyPartsOf(keyText)
  const { data, error, fetchNextPage, hasNextPage, refetch } = useInfiniteQuery({
    queryKey: ["history", resource.name, keyText],
    queryFn: ({ pageParam, signal }): Promise<AnyPage> =>
      resourceClient(versions.name).list({
        filter: versionsOf(resource, versions, keyText),
        order_by: "history_id desc",
        page_size: 20,
        expand: makerNeeds(versions),
        ...(pageParam === "" ? {} : { page_token: pageParam })
      }, { signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token === "" ? undefined : page.next_page_token
  })
  const all = data?.pages.flatMap(({ items }) => items) ?? []
  if (error !== null) return <Problem error={error} onRetry={() => void refetch()} />
  const restore = async (version: AnyRecord): Promise<void> => {
    setRestoring(null)
    try {
      await resourceClient(resource.name).restore(parts, plain(version["history_id"]), { etag: record.etag })
      say(t.record.restored)
      void queries.invalidateQueries({ queryKey: ["record", resource.name, keyText] })
      void queries.invalidateQueries({ queryKey: ["history", resource.name, keyText] })
    } catch (problem) {
      sayProblem(problem, t)
    }
  }
  const toRestore = restoring === null ? [] : differences(resource, restoring, record)
  return (
    <>
      {data !== undefined && all.length === 0 && <p className="dim">{t.record.noHistory}</p>}
      <ol className={style.timeline}>
        {all.map((version, index) => {
          const before = all[index + 1]
          const operation = plain(version["history_operation"])
          const done = isKeyOf(t.record.versions, operation) ? t.record.versions[operation] : operation
          const changed = operation === "update" ? differences(resource, version, before) : []
          const maker = plain(version["history_by"])
          return (
            <li key={plain(version["history_id"])}>
              <p>
                <b title={maker}>
                  <bdi>{short(makerOf(version) ?? maker, 200)}</bdi>
                </b>{" "}
                <time className="dim" title={reader.format.exactTime(plain(version["history_at"]))}>
                  {reader.format.moment(plain(version["history_at"]), reader.now)}
                </time>
              </p>
              {changed.length === 0 && <p>{done}</p>}
              {changed.slice(0, 8).map((name) => {
                const field = resource.fields.get(name)!
                const old = textOf(resource, field, before?.[name], reader)
                const now = textOf(resource, field, version[name], reader)
                return (
                  <p key={name} className={style.diff}>
                    {fieldLabel(resource, name)} {old !== "" && (
                      <del>
                        <bdi>{short(old, 200)}</bdi>
                      </del>
                    )} {now === "" ? <span className="dim">{t.field.empty}</span> : (
                      <ins>
                        <bdi>{short(now, 200)}</bdi>
                      </ins>
                    )}
                  </p>
                )
              })}
              {index > 0 && resource.may.update && (
                <button
                  type="button"
                  className={`btn quiet ${style.small}`}
                  onClick={() => setRestoring(version)}
                >
                  {t.record.restore}
                </button>
              )}
            </li>
          )
        })}
      </ol>
      {hasNextPage && (
        <button type="button" className="btn quiet" onClick={() => void fetchNextPage()}>
          {t.record.olderVersions}
        </button>
      )}
      {restoring !== null && (
        <Dialog
          title={t.record.restoreTitle}
          text={toRestore.length === 0 ? t.record.nothingToRestore : t.record.restoreText}
          onClose={() => setRestoring(null)}
          footer={
            <>
              <Cancel onPress={() => setRestoring(null)} />
              {toRestore.length > 0 && (
                <button
                  type="button"
                  className="btn primary"
                  onClick={() => void restore(restoring)}
                >
                  {t.record.restore}
                </button>
              )}
            </>
          }
        >
          {toRestore.map((name) => {
            const field = resource.fields.get(name)!
            const old = textOf(resource, field, record[name], reader)
            const then = textOf(resource, field, restoring[name], reader)
            return (
              <p key={name} className={style.diff}>
                {fieldLabel(resource, name)}{" "}
                <del>
                  <bdi>{short(old, 200)}</bdi>
                </del>{" "}
                <ins>
                  <bdi>{then === "" ? t.field.empty : short(then, 200)}</bdi>
                </ins>
              </p>
            )
          })}
        </Dialog>
      )}
    </>
  )
}
