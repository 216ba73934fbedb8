/** The page of one record. */

import { useQuery } from "@tanstack/react-query"
import { ChevronRight } from "lucide-react"
import type { ReactNode } from "react"
import { NowProvider, Value } from "../field/value.tsx"
import { keyPartsOf, labelOf, type Resource, titleOf } from "../shell/catalogue.ts"
import { resourceClient } from "../shell/client.ts"
import { Link } from "../shell/link.tsx"
import { Problem } from "../shell/problem.tsx"
import style from "../shell/shell.module.css"
import { listAddress } from "../shell/sidebar.tsx"

export const RecordPage = (
  { keyText, resource }: { readonly resource: Resource; readonly keyText: string | null }
): ReactNode => {
  const { data, error, refetch } = useQuery({
    queryKey: ["record", resource.name, keyText],
    enabled: keyText !== null,
    queryFn: ({ signal }) => resourceClient(resource.name).get(keyPartsOf(keyText ?? ""), {}, { signal })
  })
  return (
    <NowProvider>
      <header className={style.top}>
        <Link to={listAddress(resource.name)} className="dim">{resource.view.label.plural}</Link>
        <ChevronRight className="icon" aria-hidden="true" />
        <h1>{data === undefined ? "" : titleOf(resource, data)}</h1>
      </header>
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <dl style={{ padding: "20px 24px", display: "grid", gap: "8px", overflow: "auto" }}>
          {resource.model.fields.map((field) => (
            <div key={field.name}>
              <dt className="label">{labelOf(field.name)}</dt>
              <dd>
                <Value resource={resource} field={field} value={data[field.name]} record={data} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </NowProvider>
  )
}
