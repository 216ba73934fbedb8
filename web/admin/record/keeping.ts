/** Keeps a form's input in the tab while it changes, without what does not belong there. */

import { useCallback, useEffect } from "react"
import { holdsFiles } from "../field/kind.ts"
import { useApp } from "../ground/app.ts"
import type { Drafts, Values } from "./draft.ts"
import { type FileFields, keepDrafts, storable } from "./kept.ts"
import type { Rows } from "./rows.ts"

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
  base: Values | undefined,
  drafts: Drafts,
  rows: Rows
): void => {
  const files = useFileFields()
  useEffect(() => {
    keepDrafts(place, base === undefined ? null : storable({ base, drafts, rows }, resource, files))
  }, [place, resource, base, drafts, rows, files])
}
