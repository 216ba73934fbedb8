/**
 * Shows changes by others in a record. The record is read again, and a note names the changed fields. Typed values stay. A save then leads to the
 * merge.
 */

import { X } from "lucide-react"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { useLastMaker } from "../ground/makers.ts"
import { follow } from "../live/follow.ts"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import style from "./record.module.css"
import type { RecordEdit } from "./use-record.ts"

/** Milliseconds before the record is read again. Most own saves end within this time. */
const collectMs = 300

const changedFields = (resource: Resource, before: AnyRecord, after: AnyRecord): readonly string[] =>
  resource.model.fields.flatMap(({ name }) =>
    name !== resource.model.version && JSON.stringify(before[name] ?? null) !== JSON.stringify(after[name] ?? null)
      ? [name]
      : []
  )

export const LiveRecord = (
  { edit, gone, keyText, resource }: {
    readonly edit: RecordEdit
    /** The page says already that the record is deleted. */
    readonly gone: boolean
    readonly keyText: string
    readonly resource: Resource
  }
): ReactNode => {
  const { t } = useLocale()
  const [changed, setChanged] = useState<readonly string[]>([])
  const latest = useRef(edit)
  useEffect(() => {
    latest.current = edit
  })

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let over = false
    const look = async (): Promise<void> => {
      timer = undefined
      // The answer to the own save has the new version.
      if (latest.current.saving) return soon()
      const before = latest.current.loaded?.record
      const after = (await latest.current.reload())?.record
      if (over || before === undefined || after === undefined || before.etag === after.etag) return
      setChanged((names) => [...new Set([...names, ...changedFields(resource, before, after)])])
    }
    const soon = (): void => void (timer ??= setTimeout(() => void look(), collectMs))
    const end = follow(resource, "", (news) => {
      if (news.of === "missed" || news.key === keyText) soon()
    })
    return () => {
      over = true
      end()
      clearTimeout(timer)
    }
  }, [resource, keyText])
  // A save has merged the changes of others.
  useEffect(() => {
    if (edit.saving) setChanged([])
  }, [edit.saving])

  const who = useLastMaker(resource, changed.length === 0 ? null : keyText)
  // Who reads it aloud hears it once, with the name.
  if (changed.length === 0 || gone || edit.loaded?.deleted === true || who === undefined) return null
  const fields = changed.map((name) => fieldLabel(resource, name)).join(", ")
  return (
    <div className={`note ${style.notes}`} data-tone="info" role="status">
      <span className="grow">{edit.count > 0 ? t.live.meanwhile(fields, who) : t.live.changed(fields, who)}</span>
      <button type="button" className="btn quiet bare" aria-label={t.live.hide} onClick={() => setChanged([])}>
        <X className="icon" aria-hidden="true" />
      </button>
    </div>
  )
}
