/** The first records of a list, as a part of a composed page. */

import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { holdsFiles, isQuantity } from "../field/kind.ts"
import { Value } from "../field/value.tsx"
import { Link } from "../ground/link.tsx"
import { needsOf } from "../list/needs.ts"
import { useMessages } from "../messages/locale.tsx"
import { addressOf, fieldLabel, keyOf, type Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { type BlockOf, listOf } from "./block-source.ts"
import style from "./board.module.css"

/** Default number of columns. */
const usualColumns = 5

export const ListBlock = (
  { block, resource }: { readonly block: BlockOf<"list">; readonly resource: Resource }
): ReactNode => {
  const w = useMessages().board
  const columns = block.columns.length > 0 ? block.columns : resource.view.columns.slice(0, usualColumns)
  const sort = block.sort === "" ? resource.view.sort : block.sort
  const { data, error } = useQuery({
    queryKey: ["block", block],
    queryFn: ({ signal }) =>
      resourceClient(resource.name).list(
        { filter: block.filter, order_by: sort, page_size: block.limit, ...needsOf(resource, columns) },
        { signal }
      )
  })
  // The first column that is not a file becomes the link, because a picture has no text.
  const named = Math.max(
    0,
    columns.findIndex((name) => {
      const field = resource.fields.get(name)
      return field === undefined || !holdsFiles(field)
    })
  )
  const address = listOf({ ...block, sort })
  const endOf = (name: string): string | undefined => isQuantity(resource.fields.get(name)!) ? "num" : undefined
  return (
    <div
      role="group"
      className={style.block}
      data-wide=""
      aria-label={block.label}
      aria-busy={data === undefined && error === null}
    >
      <h2 className={style.label}>
        <Link to={address}>{block.label}</Link>
      </h2>
      {error !== null && data === undefined && <p className="dim">{w.failed}</p>}
      {data?.items.length === 0 && <p className="dim">{w.none}</p>}
      {data !== undefined && data.items.length > 0 && (
        <div className={style.scroll} tabIndex={0} role="group" aria-label={block.label}>
          <table className={style.table}>
            <thead>
              <tr>
                {columns.map((name) => (
                  <th key={name} scope="col" className={endOf(name)}>{fieldLabel(resource, name)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.items.map((record, row) => {
                const key = keyOf(resource, record)
                return (
                  <tr key={key ?? row}>
                    {columns.map((name, at) => {
                      const value = (
                        <Value
                          resource={resource}
                          field={resource.fields.get(name)!}
                          value={record[name]}
                          record={record}
                          linked={at !== named}
                        />
                      )
                      return (
                        <td key={name} className={endOf(name)}>
                          {at === named && key !== null
                            ? <Link to={addressOf(resource, key)}>{value}</Link>
                            : value}
                        </td>
                      )
                    })}
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
      {data !== undefined && data.next_page_token !== "" && (
        <p>
          <Link to={address}>{w.all}</Link>
        </p>
      )}
    </div>
  )
}
