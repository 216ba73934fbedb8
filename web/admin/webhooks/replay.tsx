/** The form that sends events of a time range again: two times in the person's own zone, and whether only failed deliveries. */

import { type ReactNode, useId, useState } from "react"
import { writingOf } from "../field/moment.ts"
import { Moment } from "../field/moment.tsx"
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

export const ReplayEvents = ({ onClose, record }: ReplayProps): ReactNode => {
  const w = useMessages().webhooks
  const { format, t } = useLocale()
  const act = useAct()
  const form = useId()
  const [since, setSince] = useState<string | null>("")
  const [until, setUntil] = useState<string | null>("")
  const [failedOnly, setFailedOnly] = useState(true)
  const [busy, setBusy] = useState(false)
  const send = async (): Promise<void> => {
    setBusy(true)
    const done = await act(async () => {
      const body = { since, until: until === "" ? undefined : until, failedOnly }
      const { resent } = await doVerb<{ readonly resent: number | null }>(subscriptionsName, record, "replay", body)
      say(resent === null ? w.replaying : w.resent(resent, format.count(resent)))
    })
    setBusy(false)
    if (done) onClose()
  }
  const time = (
    label: string,
    value: string | null,
    set: (value: string | null) => void,
    optional: boolean
  ): ReactNode => (
    <Field
      label={label}
      optional={optional}
      problem={value === null ? t.field.notLike(writingOf(format.locale).example("timestamp")) : null}
    >
      {(id, { "aria-describedby": describedBy, "aria-invalid": invalid }) => (
        <Moment
          id={id}
          kind="timestamp"
          required={!optional}
          value={value ?? ""}
          describedBy={describedBy}
          invalid={invalid === true}
          onValue={set}
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
          if (!busy && since !== null && until !== null) void send()
        }}
      >
        {time(t.field.from, since, setSince, false)}
        {time(t.field.before, until, setUntil, true)}
        <label className={style.check}>
          <input type="checkbox" checked={failedOnly} onChange={({ target }) => setFailedOnly(target.checked)} />
          {w.failedOnly}
        </label>
      </form>
    </Dialog>
  )
}
