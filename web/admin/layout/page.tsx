/** A list in another layout than rows. Each layout is a part of its own. The list's header, views and filter stand above it, as above rows. */

import { lazy, type ReactNode, Suspense, useRef } from "react"
import { FileExpiry } from "../field/file.tsx"
import { NowProvider } from "../field/value.tsx"
import type { GridHandle } from "../grid/grid.tsx"
import { usePlace } from "../ground/location.ts"
import { readLayout } from "../list/layout.ts"
import type { Panel } from "../list/peeking.ts"
import { useListView } from "../list/view.ts"
import type { Resource } from "../model/catalogue.ts"

const Calendar = lazy(() => import("./calendar.tsx").then(({ Calendar }) => ({ default: Calendar })))
const Gallery = lazy(() => import("./gallery.tsx").then(({ Gallery }) => ({ default: Gallery })))
const Board = lazy(() => import("./board.tsx").then(({ Board }) => ({ default: Board })))

interface LayoutPageProps {
  readonly resource: Resource
  /** Shows a record beside the list. */
  readonly panel: Panel
}

export const LayoutPage = ({ panel, resource }: LayoutPageProps): ReactNode => {
  const { query } = usePlace()
  const handle = useRef<GridHandle>(null)
  const view = useListView(resource, handle)
  const layout = readLayout(query, resource)
  return (
    <NowProvider>
      <FileExpiry value={() => {}}>
        <Suspense fallback={null}>
          {layout?.of === "board" && <Board key={layout.by} resource={resource} view={view} layout={layout} />}
          {layout?.of === "calendar" && (
            <Calendar
              key={layout.by.join()}
              resource={resource}
              view={view}
              layout={layout}
              panel={panel}
            />
          )}
          {layout?.of === "gallery" && (
            <Gallery key={layout.by} resource={resource} view={view} layout={layout} panel={panel} />
          )}
        </Suspense>
      </FileExpiry>
    </NowProvider>
  )
}
