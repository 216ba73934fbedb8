/** The versions of a record beside it: who changed what and when, newest first, and a way to write an earlier version back. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { plain } from "../field/plain.ts"
import { textOf } from "../field/text.ts"
import { useReader, Value } from "../field/value.tsx"
import { textOfSimple } from "../filter/conditions.ts"
import { useMessages } from "../messages/locale.tsx"
import { useApp } from "../shell/app.ts"
import { keyPartsOf, labelOf, type Resource } from "../shell/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../shell/client.ts"
import { Cancel, Dialog } from "../shell/parts.tsx"
import { Problem, sayProblem } from "../shell/problem.tsx"
import { say } from "../shell/toasts.tsx"
import { isSame } from "./draft.ts"
import style from "./record.module.css"

/** The resource that keeps the versions, where the caller sees one. */
export const useVersions = (resource: Resource): Resource | undefined => {
  const { catalogue } = useApp()
  const found = catalogue.resources.get(`${resource.name}_history`)
  return found?.fields.has("history_id") === true && found.may.read ? found : undefined
}

/** Fields in which two versions differ, without what every write moves. */
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
  const parts = keyPartsOf(keyText)
  const { data, error, fetchNextPage, hasNextPage, refetch } = useInfiniteQuery({
    queryKey: ["history", resource.name, keyText],
    queryFn: ({ pageParam, signal }): Promise<AnyPage> =>
      resourceClient(versions.name).list({
        filter: resource.model.primaryKey.map((field, index) =>
          textOfSimple({ field, is: "is", values: [parts[index] ?? ""] }, versions)
        ).join(" AND "),
        order_by: "history_id desc",
        page_size: 20,
        ...(pageParam === "" ? {} : { page_token: pageParam })
      }, { signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token === "" ? undefined : page.next_page_token
  })
  if (error !== null) return <Problem error={error} onRetry={() => void refetch()} />
  const all = data?.pages.flatMap(({ items }) => items) ?? []
  const by = versions.fields.get("history_by")
  const restore = async (version: AnyRecord): Promise<void> => {
    setRestoring(null)
    try {
      await resourceClient(resource.name).restore(parts as never, plain(version["history_id"]), { etag: record.etag })
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
          const operation = plain(version["history_operation"]) as keyof typeof t.record.versions
          const changed = operation === "update" ? differences(resource, version, before) : []
          const who = version["history_by"] === "visitor" ? t.record.visitor : null
          return (
            <li key={plain(version["history_id"])}>
              <p>
                <b>
                  {who ?? (by === undefined
                    ? ""
                    : (
                      <Value
                        resource={versions}
                        field={by}
                        value={version["history_by"]}
                        record={version}
                        linked={false}
                      />
                    ))}
                </b>{" "}
                <time className="dim" title={reader.format.exactTime(plain(version["history_at"]))}>
                  {reader.format.moment(plain(version["history_at"]), reader.now)}
                </time>
              </p>
              {changed.length === 0 && <p>{t.record.versions[operation] ?? operation}</p>}
              {changed.slice(0, 8).map((name) => {
                const field = resource.fields.get(name)!
                const old = textOf(resource, field, before?.[name], reader)
                const now = textOf(resource, field, version[name], reader)
                return (
                  <p key={name} className={style.diff}>
                    {labelOf(name)} {old !== "" && (
                      <del>
                        <bdi>{old.slice(0, 200)}</bdi>
                      </del>
                    )} {now === "" ? <span className="dim">{t.field.empty}</span> : (
                      <ins>
                        <bdi>{now.slice(0, 200)}</bdi>
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
                {labelOf(name)}{" "}
                <del>
                  <bdi>{old.slice(0, 200)}</bdi>
                </del>{" "}
                <ins>
                  <bdi>{then === "" ? t.field.empty : then.slice(0, 200)}</bdi>
                </ins>
              </p>
            )
          })}
        </Dialog>
      )}
    </>
  )
}
