/** Keeps a form's input in the tab while it changes, without what does not belong there. */

import { useCallback, useEffect } from "react"
import { holdsFiles } from "../field/kind.ts"
import { useApp } from "../ground/app.ts"
import { type FileFields, keepDrafts, storable } from "./draft-store.ts"
import type { Drafts, FormValues } from "./draft.ts"
import type { RowsByRelation } from "./rows.ts"

const none: ReadonlySet<string> = new Set()

const useFileFields = (): FileFields => {
  const { catalogue } = useApp()
  return useCallback((name) => {
    const resource = catalogue.resources.get(name)
    return resource === undefined
      ? none
      : new Set(resource.model.fields.filter(holdsFiles).map(({ name: field }) => field))
  }, [catalogue])
}

/** `base`: the version that is edited; undefined while it is not known, so that nothing is kept. */
export const useKeeping = (
  place: string,
  resource: string,
  base: FormValues | undefined,
  drafts: Drafts,
  rows: RowsByRelation
): void => {
  const files = useFileFields()
  useEffect(() => {
    keepDrafts(place, base === undefined ? null : storable({ base, drafts, rows }, resource, files))
  }, [place, resource, base, drafts, rows, files])
}
