/** Deletes a record after a question, which says whether it can be brought back. */

import { useQueryClient } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { sayProblem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale } from "../messages/locale.tsx"
import { keyPartsOf, type Resource, titleOf } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { isolated } from "../model/plain.ts"

export const DeleteDialog = (
  { keyText, onBroughtBack, onClose, onDeleted, record, resource }: {
    readonly resource: Resource
    readonly record: AnyRecord
    readonly keyText: string
    readonly onClose: () => void
    readonly onDeleted: () => void
    /** The deletion is undone. */
    readonly onBroughtBack?: () => void
  }
): ReactNode => {
  const { t } = useLocale()
  const queries = useQueryClient()
  const title = isolated(titleOf(resource, record))
  const routes = resourceClient(resource.name)
  const key = keyPartsOf(keyText)
  const remove = async (): Promise<void> => {
    onClose()
    try {
      await routes.delete(key, { etag: record.etag })
      void queries.invalidateQueries({ queryKey: ["list", resource.name] })
      queries.removeQueries({ queryKey: ["record", resource.name, keyText] })
      const undelete = async (): Promise<void> => {
        try {
          await routes.undelete(key)
          void queries.invalidateQueries({ queryKey: ["list", resource.name] })
          say(t.record.broughtBack(title))
          onBroughtBack?.()
        } catch (problem) {
          sayProblem(problem, t)
        }
      }
      say(t.record.deletedNow(title), resource.model.softDelete ? { undo: undelete } : {})
      onDeleted()
    } catch (problem) {
      sayProblem(problem, t)
      void queries.invalidateQueries({ queryKey: ["record", resource.name, keyText] })
    }
  }
  return (
    <Dialog
      alert
      title={t.record.deleteTitle(title)}
      text={resource.model.softDelete ? t.record.deleteSoft : t.record.deleteHard}
      onClose={onClose}
      footer={
        <>
          <Cancel onPress={onClose} />
          <button type="button" className="btn danger primary" autoFocus onClick={() => void remove()}>
            {t.record.delete}
          </button>
        </>
      }
    />
  )
}
