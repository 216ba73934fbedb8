/** What stands around every layout of a list: header, views and filter, and the failure of its reads. */

import type { ReactNode } from "react"
import type { FilterError } from "../../../core/domain/filter/read.ts"
import { ProblemError } from "../../client/index.ts"
import { FilterBar } from "../filter/bar.tsx"
import { useShortcut } from "../ground/keys.ts"
import { go } from "../ground/location.ts"
import { Problem } from "../ground/problem.tsx"
import { useTitle } from "../ground/title.ts"
import { ListHeader } from "../list/header.tsx"
import { printOrder } from "../list/state.ts"
import { ViewTabs } from "../list/tabs.tsx"
import type { Total } from "../list/total.ts"
import type { ListView } from "../list/view.ts"
import type { Resource } from "../model/catalogue.ts"

interface FrameProps {
  readonly resource: Resource
  readonly view: ListView
  readonly total: Total | null
  readonly failure: unknown
  readonly onReload: () => void
  /** Counts exactly. By default it is what reading again does. */
  readonly onCount?: (() => void) | null
  readonly news?: ReactNode
  readonly children: ReactNode
}

const filterErrors = (error: unknown): readonly FilterError[] =>
  error instanceof ProblemError && error.slug === "invalid-filter"
    ? error.errors.filter((each): each is FilterError => each.span !== undefined)
    : []

export const LayoutFrame = (props: FrameProps): ReactNode => {
  const { children, failure, news, onCount, onReload, resource, total, view } = props
  const errors = filterErrors(failure)
  useTitle(resource.view.label.plural)
  useShortcut("n", () => resource.may.create ? go(`/${resource.name}/new`) : false)
  return (
    <>
      <ListHeader
        resource={resource}
        rows={{ total, age: null, reload: onReload, countExactly: onCount ?? onReload }}
        filter={view.filter}
        deleted={view.deleted}
        order={printOrder(view.order)}
        args={view.asked.args}
        choices={view.choices}
        onChoices={view.setChoices}
        reorder={{ field: null, begin: () => {} }}
        layout={view.layout}
        news={news}
      />
      <ViewTabs
        resource={resource}
        filter={view.filter}
        order={view.ordered ? printOrder(view.order) : ""}
        columns={view.choices.map(({ field }) => field)}
        layout={view.layout}
        onFilter={view.setFilter}
      />
      <FilterBar resource={resource} filter={view.filter} onChange={view.setFilter} errors={errors} />
      {failure !== null && failure !== undefined && errors.length === 0 && (
        <Problem error={failure} onRetry={onReload} />
      )}
      {children}
    </>
  )
}
