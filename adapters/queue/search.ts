/** The condition of a search over jobs as SQL: what is shown of a job, and no value deeper in its payload than a direct member. */

import { longestListed, mostSearched } from "../../core/domain/job/state.ts"
import type { JobPage } from "../../core/ports/queue.ts"

/** Columns and expressions of the row that is searched, and the parameter with the searched text. */
interface Searched {
  readonly id: string
  readonly name: string
  readonly payload: string
  readonly others: readonly string[]
  readonly text: string
}

/**
 * Whether a row is found. Payloads that are long where they are stored are not read: most bytes that a search reads would be theirs. Those with characters
 * that no text can have are left out, because they would fail the statement.
 */
export const searchSql = ({ id, name, others, payload, text }: Searched): string => {
  const has = (value: string): string => `strpos(lower(${value}), lower(${text}::text)) > 0`
  return `(${text}::text is null or ${id}::text = ${text}::text or ${[name, ...others].map(has).join(" or ")} or case
    when pg_column_size(${payload}) > ${longestListed} or octet_length(${payload}::text) > ${longestListed} then false
    when ${payload}::text ~* '\\\\u(0000|d[89a-f])' then false
    when json_typeof(${payload}) = 'object' then exists (
      select from json_each(${payload}) m where json_typeof(m.value) in ('string', 'number') and ${
    has("m.value #>> '{}'")
  })
    else json_typeof(${payload}) in ('string', 'number') and ${has(`${payload} #>> '{}'`)} end)`
}

/**
 * The parameters that the lists of jobs have: $1 the name, $2 and $3 the time and the id after which the page begins, $4 the number of rows, $5 the longest
 * payload that is given, $6 the id of the job that is asked for, $7 the searched text.
 */
export const listParameters = <P extends { readonly id: string }>(
  page: JobPage<P>,
  timeOf: (after: P) => string
): readonly (string | null)[] =>
  "id" in page ? [null, null, null, "1", null, page.id, null] : [
    page.name,
    page.after === null ? null : timeOf(page.after),
    page.after?.id ?? null,
    String(page.limit),
    page.longest === undefined ? null : String(page.longest),
    null,
    page.search ?? null
  ]

/** The columns of a payload and its size. In lists long ones are left out. */
export const payloadColumns = (payload: string): string =>
  `octet_length(${payload}::text)::text as payload_bytes,
  case when $5::text is null or octet_length(${payload}::text) <= $5::text::integer then ${payload}::text end as payload`

/** How many rows are read in the order of the list: those of the page, or those that a search looks at. */
export const readRows = (text: string, limit: string): string =>
  `case when ${text}::text is null then ${limit}::text::integer else ${mostSearched} end`
