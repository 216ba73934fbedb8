/** A page: how many customers there are in each country, asked for with the app's own client. */

import { useEffect, useState } from "react"
import type { PageProps } from "resource-admin/plugin"
import { MapCell } from "./map.tsx"

interface Row {
  readonly value: unknown
  readonly count: number
}

export const Countries = ({ client }: PageProps) => {
  const [rows, setRows] = useState<readonly Row[] | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    const ending = new AbortController()
    client.resource("customers").facets({ field: "country" }, { signal: ending.signal }).then(
      ({ facets }) => setRows(facets),
      (error: unknown) => {
        if (!ending.signal.aborted) setProblem(String(error))
      }
    )
    return () => ending.abort()
  }, [client])
  if (problem !== null) return <p role="alert">{problem}</p>
  return (
    <ul style={{ listStyle: "none", padding: 0, display: "grid", gap: 8 }}>
      {rows?.map(({ count, value }) => (
        <li key={String(value)} style={{ display: "flex", gap: 16 }}>
          <MapCell value={value} field={{} as never} resource={{} as never} record={undefined} />
          <span>{count}</span>
        </li>
      ))}
    </ul>
  )
}
