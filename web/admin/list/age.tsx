/** How old the data of a materialized view is, and the button that has it refreshed. A job refreshes it, so the list shows the new data once it is read again. */

import { RefreshCw } from "lucide-react"
import { type ReactNode, useState } from "react"
import { useReader } from "../field/value.tsx"
import { sayProblem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import type { Resource } from "../model/catalogue.ts"
import { client } from "../model/client.ts"
import type { Age } from "./rows.ts"

interface AgeProps {
  readonly resource: Resource
  readonly age: Age
}

export const DataAge = ({ age, resource }: AgeProps): ReactNode => {
  const { format, now, t } = useReader()
  const [asked, setAsked] = useState(false)
  const refresh = async (): Promise<void> => {
    setAsked(true)
    try {
      await client.resource(resource.name).refresh()
      say(t.list.refreshAsked)
    } catch (error) {
      sayProblem(error, t)
    }
    setAsked(false)
  }
  return (
    <span className="dim" role="status">
      {age.at === null
        ? t.list.ageUnknown
        : <time dateTime={age.at} title={format.exactTime(age.at)}>{t.list.dataOf(format.moment(age.at, now))}</time>}
      {age.failedAt !== null && ` · ${t.list.refreshFailed(format.moment(age.failedAt, now))}`}
      {resource.may.refresh === true && (
        <button
          type="button"
          className="btn quiet bare"
          aria-label={t.list.refresh}
          title={t.list.refresh}
          disabled={asked}
          onClick={() => void refresh()}
        >
          <RefreshCw className="icon" aria-hidden="true" />
        </button>
      )}
    </span>
  )
}
