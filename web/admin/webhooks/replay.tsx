/** The form that sends events of a time range again: two times in the person's own zone, and whether only failed deliveries. */

import { type ReactNode, useId, useState } from "react"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import type { AnyRecord } from "../model/client.ts"
import { Field, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { doVerb, subscriptionsName } from "./subscriptions.ts"

interface ReplayProps {
  readonly record: AnyRecord
  readonly onClose: () => void
}

/** A time of the person's own zone, as the service takes it. */
const instant = (local: string): string | undefined => local === "" ? undefined : new Date(local).toISOString()

export const ReplayEvents = ({ onClose, record }: ReplayProps): ReactNode => {
  const w = useMessages().webhooks
  const { format } = useLocale()
  const act = useAct()
  const form = useId()
  const [since, setSince] = useState("")
  const [until, setUntil] = useState("")
  const [failedOnly, setFailedOnly] = useState(true)
  const [busy, setBusy] = useState(false)
  const send = async (): Promise<void> => {
    setBusy(true)
    const done = await act(async () => {
      const body = { since: instant(since), until: instant(until), failedOnly }
      const { resent } = await doVerb<{ readonly resent: number | null }>(subscriptionsName, record, "replay", body)
      say(resent === null ? w.replaying : w.resent(resent, format.count(resent)))
    })
    setBusy(false)
    if (done) onClose()
  }
  const time = (label: string, value: string, set: (value: string) => void, optional: boolean): ReactNode => (
    <Field label={label} optional={optional}>
      {(id) => (
        <input
          id={id}
          type="datetime-local"
          step={1}
          max="9999-12-31T23:59:59"
          required={!optional}
          value={value}
          onChange={({ target }) => set(target.value)}
        />
      )}
    </Field>
  )
  return (
    <Dialog
      title={w.replay}
      text={w.replayText}
      onClose={onClose}
      footer={
        <>
          <Cancel onPress={onClose} />
          <button className="btn primary" form={form} disabled={busy}>{w.send}</button>
        </>
      }
    >
      <form
        id={form}
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) void send()
        }}
      >
        {time(w.from, since, setSince, false)}
        {time(w.before, until, setUntil, true)}
        <label className={style.check}>
          <input type="checkbox" checked={failedOnly} onChange={({ target }) => setFailedOnly(target.checked)} />
          {w.failedOnly}
        </label>
      </form>
    </Dialog>
  )
}
