/** The page of one record: the path to it, its head, and the record. */

import { type ReactNode, useState } from "react"
import { NowProvider } from "../field/value.tsx"
import { useShortcut } from "../ground/keys.ts"
import { go } from "../ground/location.ts"
import { Missing, Problem } from "../ground/problem.tsx"
import { useTitle } from "../ground/title.ts"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { isMissing } from "../model/outcome.ts"
import shell from "../style/frame.module.css"
import { CreatePage } from "./create.tsx"
import { backTo, Crumbs } from "./crumbs.tsx"
import { DeleteDialog } from "./delete-dialog.tsx"
import { RecordHead } from "./head.tsx"
import { focusForm, OpenedBody, OpenedFoot, useOpened } from "./opened.tsx"
import type { RecordEdit } from "./use-record.ts"

export const RecordPage = (
  { keyText, resource }: { readonly resource: Resource; readonly keyText: string | null }
): ReactNode => (
  <NowProvider>
    {keyText === null
      ? <CreatePage resource={resource} />
      : <Loaded key={keyText} resource={resource} keyText={keyText} />}
  </NowProvider>
)

/** The page until the record is there: a wait, a failure, or the note that there is none. */
const Unread = ({ edit, resource }: { readonly edit: RecordEdit; readonly resource: Resource }): ReactNode => {
  const { t } = useLocale()
  return (
    <>
      <header className={shell.top}>
        <Crumbs resource={resource}>
          {edit.error !== null && !isMissing(edit.error) && <h1 className="cut">{resource.view.label.singular}</h1>}
        </Crumbs>
      </header>
      {isMissing(edit.error)
        ? <Missing text={t.missing.record} />
        : edit.error === null
        ? (
          <div className="missing late" aria-busy="true">
            <span className="spinner" />
          </div>
        )
        : <Problem error={edit.error} onRetry={() => void edit.reload()} />}
    </>
  )
}

const Loaded = ({ keyText, resource }: { readonly resource: Resource; readonly keyText: string }): ReactNode => {
  const of = useOpened(resource, keyText)
  const [deleting, setDeleting] = useState(false)
  const { edit, title } = of
  const { base: record } = edit
  useTitle(title === "" ? resource.view.label.singular : title)
  useShortcut("Escape", () => {
    if (document.activeElement instanceof HTMLElement && document.activeElement !== document.body) {
      document.activeElement.blur()
    } else go(backTo(resource), { back: true })
  })
  useShortcut("e", () => focusForm() ? undefined : false, of.mayUpdate)
  if (record === undefined) return <Unread edit={edit} resource={resource} />
  return (
    <>
      <RecordHead of={of} record={record} onDelete={of.mayDelete ? () => setDeleting(true) : null} />
      <OpenedBody of={of} place="page" record={record} />
      <OpenedFoot of={of} />
      {deleting && (
        <DeleteDialog
          resource={resource}
          record={record}
          keyText={keyText}
          onClose={() => setDeleting(false)}
          onDeleted={() => go(backTo(resource), { force: true, back: true })}
        />
      )}
    </>
  )
}
