/** The page of an address below `/-/`, if the user may open it. Each page is loaded when it is first shown. */

import { lazy, type ReactNode } from "react"
import { NowProvider } from "../field/value.tsx"
import { Missing } from "../ground/problem.tsx"
import { usePlaces } from "../place/places.ts"

const pages = {
  tasks: lazy(() => import("../task/page.tsx").then(({ TasksPage }) => ({ default: TasksPage }))),
  import: lazy(() => import("../task/page.tsx").then(({ ImportPage }) => ({ default: ImportPage }))),
  guides: lazy(() => import("../guide/page.tsx").then(({ GuidesPage }) => ({ default: GuidesPage }))),
  jobs: lazy(() => import("../jobs/page.tsx").then(({ JobsPage }) => ({ default: JobsPage }))),
  webhooks: lazy(() => import("../webhooks/page.tsx").then(({ WebhooksPage }) => ({ default: WebhooksPage }))),
  audit: lazy(() => import("../audit/page.tsx").then(({ AuditPage }) => ({ default: AuditPage }))),
  users: lazy(() => import("../users/page.tsx").then(({ UsersPage }) => ({ default: UsersPage }))),
  account: lazy(() => import("../account/page.tsx").then(({ AccountPage }) => ({ default: AccountPage })))
}

export const PlacePage = ({ name, part }: { readonly name: string; readonly part: string | null }): ReactNode => {
  const places = usePlaces()
  const place = places.find((place) => place.name === name && !place.outside)
  // Everybody may open the guides, and the pages of their own tasks. These are not in the sidebar.
  const page = name === "tasks" || name === "import" || name === "guides"
    ? name
    : place === undefined || place.name === "mails"
    ? null
    : place.name
  if (page === null) return <Missing />
  const Page = pages[page]
  return (
    <NowProvider>
      <Page part={part} />
    </NowProvider>
  )
}
