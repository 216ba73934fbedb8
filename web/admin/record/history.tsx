/** The versions of a record, newest first: who changed what and when. An earlier version can be restored. */

import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { config } from "../config.ts"
import { plain, short } from "../field/plain.ts"
import { textOf } from "../field/text.ts"
import { useReader } from "../field/value.tsx"
import { textOfSimple } from "../filter/conditions.ts"
import { useMessages } from "../messages/locale.tsx"
import { useApp } from "../shell/app.ts"
import { isHistory, keyPartsOf, labelOf, type Resource } from "../shell/catalogue.ts"
import { type AnyPage, type AnyRecord, ownClient, resourceClient } from "../shell/client.ts"
import { Cancel, Dialog } from "../shell/parts.tsx"
import { Problem, sayProblem } from "../shell/problem.tsx"
import { say } from "../shell/toasts.tsx"
import { isSame } from "./draft.ts"
import style from "./record.module.css"

/** The resource of the versions, if the caller sees it. */
export const useVersions = (resource: Resource): Resource | undefined => {
  const { catalogue } = useApp()
  const found = catalogue.resources.get(`${resource.name}_history`)
  return found !== undefined && isHistory(found) && found.may.read && found.source === resource.source
    ? found
    : undefined
}

/** Fields that differ between two versions, without those that every write changes. */
const differences = (resource: Resource, version: AnyRecord, before: AnyRecord | undefined): readonly string[] =>
  before === undefined ?
    [] :
    resource.model.fields.map(({ name }) => name).filter((name) =>
      name !== resource.model.version && name in version && !isSame(version[name], before[name])
    )

/** How the service names the maker of a form's submission. */
const visitor = "Visitor"

/** Accounts that are read at most to name people; others are named by their id. */
const mostAccounts = 500

/** Who made versions, by name as far as the reader may know it: themselves, and for admins every account. */
const useMakers = (versions: Resource, ids: readonly string[]): (id: string) => string => {
  const t = useMessages()
  const { isAdmin, user } = useApp()
  const own = versions.source === null
  const { data } = useQuery({
    queryKey: ["users", "names"],
    enabled: own && isAdmin && config.signIn === "password" &&
      ids.some((id) => id !== "" && id !== visitor && id !== user.id),
    staleTime: 300_000,
    queryFn: async ({ signal }) => {
      const { users } = await ownClient.auth.get<
        { readonly users: ReadonlyArray<{ readonly id: string; readonly name: string; readonly email: string }> }
      >("/admin/list-users", { limit: mostAccounts }, { signal })
      return new Map(users.map(({ email, id, name }) => [id, name || email]))
    }
  })
  return (id) => id === visitor ? t.record.visitor : own && id === user.id ? user.name : data?.get(id) ?? id
}

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
  const all = data?.pages.flatMap(({ items }) => items) ?? []
  const makerOf = useMakers(versions, all.map((version) => plain(version["history_by"])))
  if (error !== null) return <Problem error={error} onRetry={() => void refetch()} />
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
          const operation = plain(version["history_operation"])
          const done = Object.hasOwn(t.record.versions, operation)
            ? t.record.versions[operation as keyof typeof t.record.versions]
            : operation
          const changed = operation === "update" ? differences(resource, version, before) : []
          const maker = plain(version["history_by"])
          return (
            <li key={plain(version["history_id"])}>
              <p>
                <b title={maker}>
                  <bdi>{short(makerOf(maker), 200)}</bdi>
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
                    {labelOf(name)} {old !== "" && (
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
                {labelOf(name)}{" "}
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
