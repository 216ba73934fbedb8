/** What the lists of jobs share: the search, the picker of a name, the payload of a job, and what is chosen of the rows. The address has the searched text; a choice is of this visit. */

import { type ReactNode, useId, useState } from "react"
import { setQuery, usePlace } from "../ground/location.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import type { Choice } from "../place/parts.tsx"
import { SearchBar } from "../place/search.tsx"
import { Errors } from "./errors.tsx"
import { useWhole } from "./queues.ts"

/** How the tries of a job of a list failed, and what it works on, in full. */
export const Payload = (
  { job, list }: { readonly job: Parameters<typeof useWhole>[1]; readonly list: Parameters<typeof useWhole>[0] }
): ReactNode => {
  const w = useMessages().jobs
  const { errors = [], payload } = useWhole(list, job)
  return (
    <>
      <Errors errors={errors} />
      <h2>{w.payload}</h2>
      <pre className="code" dir="ltr" tabIndex={0} aria-label={w.payload}>{JSON.stringify(payload, null, 2)}</pre>
    </>
  )
}

/** Narrows a list to the jobs of one name. `names`: those that have some now. */
export const NamePicker = ({ names }: { readonly names: readonly string[] }): ReactNode => {
  const w = useMessages().jobs
  const picker = useId()
  const name = usePlace().query.get("name")
  return (
    <>
      <label htmlFor={picker}>{w.job}</label>
      <div className="input">
        <select
          id={picker}
          value={name ?? ""}
          onChange={({ target }) => setQuery({ name: target.value || null, id: null })}
        >
          <option value="">{w.all}</option>
          {[...new Set([...names, ...(name === null ? [] : [name])])].map((each) => <option key={each}>{each}</option>)}
        </select>
      </div>
    </>
  )
}

export const SearchJobs = (): ReactNode => {
  const w = useMessages().jobs
  return <SearchBar label={w.search} hint={w.searchHint} />
}

/** Jobs that are chosen of those that are listed. What is listed no longer is chosen no longer. */
export const useChoice = <Job extends { readonly id: string; readonly name: string }>(
  jobs: readonly Job[]
): { readonly chosen: readonly Job[]; readonly choice: Choice<Job>; readonly clear: () => void } => {
  const w = useMessages().jobs
  const { format } = useLocale()
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const chosen = jobs.filter(({ id }) => ids.has(id))
  return {
    chosen,
    clear: () => setIds(new Set()),
    choice: {
      all: w.chooseAll(format.count(jobs.length)),
      one: ({ id, name }) => w.choose(name, id),
      count: chosen.length,
      has: ({ id }) => ids.has(id),
      set: (rows, on) =>
        setIds(
          new Set(
            [...ids].filter((id) => !rows.some((row) => row.id === id)).concat(on ? rows.map(({ id }) => id) : [])
          )
        )
    }
  }
}

/**
 * Does the same to each of some jobs, one request after the other, and tells how many it was done to. A job that has gone on meanwhile is left out. Any other
 * refusal ends it.
 */
export const eachOf = async <Job extends object>(
  jobs: readonly Job[],
  act: (job: Job) => Promise<unknown>,
  isGone: (error: unknown) => boolean
): Promise<number> => {
  let count = 0
  for (const job of jobs) {
    try {
      await act(job)
      count++
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }
  return count
}
