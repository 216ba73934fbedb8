/** Actions for the view of a list: save it as a new one, save its changes, rename, share and delete it. */

import { useQueryClient } from "@tanstack/react-query"
import { BookmarkPlus, Ellipsis, TriangleAlert } from "lucide-react"
import { type ReactNode, useState } from "react"
import { useApp } from "../ground/app.ts"
import { setQuery } from "../ground/location.ts"
import { Menu, type MenuEntry } from "../ground/parts.tsx"
import { sayProblem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { isolated } from "../model/plain.ts"
import { SaveDialog } from "./dialog.tsx"
import style from "./saved.module.css"
import { removeView, type SavedView, saveView, type ViewState } from "./views.ts"

interface SavedMenuProps {
  readonly resource: string
  readonly state: ViewState
  /** The current saved view, or null. */
  readonly view: SavedView | null
  /** True if the list no longer matches the view. */
  readonly changed: boolean
}

export const SavedMenu = ({ changed, resource, state, view }: SavedMenuProps): ReactNode => {
  const { t } = useLocale()
  const w = useMessages().saved
  const queries = useQueryClient()
  const { isAdmin, user } = useApp()
  const [dialog, setDialog] = useState<"new" | "change" | null>(null)
  const mine = view !== null && (view.owner === user.id || isAdmin)
  const facts = view === null ? [] : [
    ...(view.owner === user.id ? [] : [w.sharedBy]),
    ...(changed ? [w.changed] : [])
  ]

  const update = async (view: SavedView): Promise<void> => {
    try {
      await saveView(queries, resource, state, view)
      say(w.saved(isolated(view.name)))
    } catch (error) {
      sayProblem(error, t)
    }
  }
  const remove = async (view: SavedView): Promise<void> => {
    try {
      await removeView(queries, view)
      setQuery({ view: null })
      const { columns, filter, layout, name, order_by, shared_with } = view
      say(w.removed(isolated(view.name)), {
        undo: async () => {
          const again = await saveView(
            queries,
            resource,
            { name, filter, order_by, columns, layout, shared_with },
            null
          )
          setQuery({ view: again.id })
        }
      })
    } catch (error) {
      sayProblem(error, t)
    }
  }

  const entries: readonly MenuEntry[] = mine
    ? [
      { label: w.rename, onAction: () => setDialog("change") },
      { label: w.save, onAction: () => setDialog("new") },
      "line",
      { label: w.remove, danger: true, onAction: () => void remove(view) }
    ]
    : []
  return (
    <>
      {facts.length > 0 && <span className={`dim ${style.facts}`}>{facts.join(" · ")}</span>}
      {mine && changed && (
        <button type="button" className="btn quiet" onClick={() => void update(view)}>{w.update}</button>
      )}
      {mine
        ? (
          <Menu label={w.options} name={w.options} className="btn quiet bare" entries={entries}>
            <Ellipsis className="icon" aria-hidden="true" />
          </Menu>
        )
        : (
          <button type="button" className="btn quiet" aria-label={w.save} onClick={() => setDialog("new")}>
            <BookmarkPlus className="icon" aria-hidden="true" /> <span className={style.wide}>{w.save}</span>
          </button>
        )}
      {view?.incomplete === true && (
        <p className={style.incomplete} role="status">
          <TriangleAlert className="icon" aria-hidden="true" /> {w.incomplete}
        </p>
      )}
      {dialog !== null && (
        <SaveDialog
          resource={resource}
          state={state}
          view={dialog === "change" ? view : null}
          onClose={() => setDialog(null)}
          onSaved={(saved) => {
            setDialog(null)
            setQuery({ view: saved.id })
          }}
        />
      )}
    </>
  )
}
