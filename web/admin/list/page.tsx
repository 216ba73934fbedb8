import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { NowProvider, Value } from "../field/value.tsx"
import { useLocale } from "../messages/locale.tsx"
import { keyOf, type Resource } from "../shell/catalogue.ts"
import { resourceClient } from "../shell/client.ts"
import { Problem } from "../shell/problem.tsx"
import style from "../shell/shell.module.css"

/** The list page, for now as a plain table. */
export const ListPage = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const { format } = useLocale()
  const { data, error, refetch } = useQuery({
    queryKey: ["list", resource.name],
    queryFn: ({ signal }) =>
      resourceClient(resource.name).list({ page_size: 50, order_by: resource.view.sort }, { signal })
  })
  return (
    <NowProvider>
      <header className={style.top}>
        <h1>{resource.view.label.plural}</h1>
        {data !== undefined && <span className="dim">{format.count(data.total_size_estimate)}</span>}
      </header>
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      <div style={{ overflow: "auto" }}>
        <table>
          <tbody>
            {data?.items.map((record) => (
              <tr key={keyOf(resource, record)}>
                {resource.view.columns.map((name) => (
                  <td key={name}>
                    <Value
                      resource={resource}
                      field={resource.fields.get(name)!}
                      value={record[name]}
                      record={record}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </NowProvider>
  )
}
