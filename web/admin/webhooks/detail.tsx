/** One subscription: its events and receiver, why it is disabled, a test with request and answer, its secret. */

import { type ReactNode, useState } from "react"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { setQuery } from "../ground/location.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { plain } from "../model/plain.ts"
import { Facts, Shown, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { Block } from "./attempt.tsx"
import { ReplayEvents } from "./replay.tsx"
import {
  attemptsName,
  deliveriesName,
  doVerb,
  headerLines,
  idOf,
  pretty,
  readEvents,
  subscriptionsName,
  tones,
  waitsText
} from "./subscriptions.ts"

interface Tried {
  readonly event: string
  readonly outcome: "delivered" | "failed" | "skipped"
  readonly status: number | null
  readonly error: string | null
  readonly answer: string | null
  readonly headers: { readonly [name: string]: string } | null
  readonly duration_ms: number
  readonly request: {
    readonly url: string
    readonly headers: { readonly [name: string]: string }
    readonly body: string
  } | null
}

const TestResult = ({ tried }: { readonly tried: Tried }): ReactNode => {
  const w = useMessages().webhooks
  const { format } = useLocale()
  const headers = headerLines(tried.headers)
  return (
    <div role="status">
      <p>
        <span className="badge" data-tone={tones[tried.outcome]}>{w.outcomes[tried.outcome]}</span> {tried.status}{" "}
        <bdi>{tried.error}</bdi> <span className="dim">{w.took(format.count(Math.round(tried.duration_ms)))}</span>
      </p>
      {tried.request !== null && (
        <Block
          label={w.request}
          text={`POST ${tried.request.url}\n${headerLines(tried.request.headers)}\n\n${pretty(tried.request.body)}`}
        />
      )}
      {headers !== "" && <Block label={w.answerHeaders} text={headers} />}
      <Block label={w.answer} text={tried.answer || w.noAnswer} />
    </div>
  )
}

interface DetailProps {
  readonly record: AnyRecord
  readonly onEdit: () => void
  readonly onChanged: () => Promise<void>
}

export const SubscriptionDetail = ({ onChanged, onEdit, record }: DetailProps): ReactNode => {
  const w = useMessages().webhooks
  const { format } = useLocale()
  const { catalogue } = useApp()
  const act = useAct()
  const resource = catalogue.resources.get(subscriptionsName)!
  const [tried, setTried] = useState<Tried | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const [question, setQuestion] = useState<"rotate" | "delete" | null>(null)
  const [replaying, setReplaying] = useState(false)
  const [busy, setBusy] = useState(false)
  const mayUpdate = record.permissions?.update ?? resource.may.update
  const mayDelete = record.permissions?.delete ?? resource.may.delete
  const enabled = record["enabled"] === true
  const reason = plain(record["disabled_reason"])
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true)
    setQuestion(null)
    await act(work)
    await onChanged()
    setBusy(false)
  }
  const verb = <T = unknown>(name: string): Promise<T> => doVerb<T>(subscriptionsName, record, name)
  const button = (label: string, work: () => Promise<unknown>, className = "btn"): ReactNode => (
    <button
      type="button"
      className={className}
      disabled={busy}
      onClick={() => void run(work)}
    >
      {label}
    </button>
  )
  const filter = plain(record["filter"])
  const headers = headerLines(record["headers"])
  const waits = waitsText(record["retry_steps"])
  return (
    <>
      <div className={style.head}>
        <h2 className={style.title}>
          <bdi>{plain(record["name"])}</bdi>
        </h2>
        {mayUpdate && <button type="button" className="btn" onClick={onEdit}>{w.edit}</button>}
      </div>
      {!enabled && (
        <p className="note" data-tone="bad">
          <span>
            <bdi>{reason === "" ? w.disabledHand : w.disabledBy(reason)}</bdi> {w.disabledRules}
          </span>
        </p>
      )}
      <Facts
        facts={[
          resource.fields.has("events")
            ? [w.events, <bdi key="events">{readEvents(record["events"]).join(", ")}</bdi>]
            : null,
          resource.fields.has("url") ? [w.url, <bdi key="url">{plain(record["url"])}</bdi>] : null,
          filter === "" ? null : [w.filter, <code key="filter" dir="ltr" className="mono">{filter}</code>],
          headers === "" ? null : [w.headers, <code key="headers" dir="ltr" className="mono">{headers}</code>],
          plain(record["max_per_minute"]) === "" ? null : [w.limit, plain(record["max_per_minute"])],
          waits === "" ? null : [w.waits, <bdi key="waits">{waits}</bdi>],
          resource.fields.has("payload") ? [w.payload, record["payload"] === "thin" ? w.thin : w.full] : null
        ]}
      />
      <div className={style.buttons}>
        {catalogue.resources.get(deliveriesName)?.may.read === true && (
          <Link className="btn" to={`/-/webhooks/deliveries?subscription=${idOf(record)}`}>{w.deliveries}</Link>
        )}
        {catalogue.resources.get(attemptsName)?.may.read === true && (
          <Link className="btn" to={`/-/webhooks/log?subscription=${idOf(record)}`}>{w.log}</Link>
        )}
      </div>
      {mayUpdate && (
        <>
          <div className={style.buttons}>
            {button(w.test, async () => setTried(await verb<Tried>("test")), "btn primary")}
            {button(w.resendFailed, async () => {
              const { resent } = await verb<{ readonly resent: number }>("resendFailed")
              say(w.resent(resent, format.count(resent)))
            })}
            <button type="button" className="btn" disabled={busy} onClick={() => setReplaying(true)}>{w.replay}</button>
            {enabled ? button(w.disable, () => verb("disable")) : button(w.enable, () => verb("enable"))}
          </div>
          <p className="hint">{w.testText}</p>
          {tried !== null && <TestResult tried={tried} />}
          <h2>{w.secret}</h2>
          {secret !== null && (
            <>
              <p className="hint">{w.revealed}</p>
              <Shown label={w.secret} text={secret} />
            </>
          )}
          <div className={style.buttons}>
            {secret === null
              ? button(
                w.reveal,
                async () => setSecret((await verb<{ readonly secret: string }>("revealSecret")).secret)
              )
              : <button type="button" className="btn" onClick={() => setSecret(null)}>{w.hide}</button>}
            <button type="button" className="btn" disabled={busy} onClick={() => setQuestion("rotate")}>
              {w.rotate}
            </button>
          </div>
        </>
      )}
      {mayDelete && (
        <div className={style.buttons}>
          <button type="button" className="btn danger" disabled={busy} onClick={() => setQuestion("delete")}>
            {w.delete}
          </button>
        </div>
      )}
      {replaying && <ReplayEvents record={record} onClose={() => setReplaying(false)} />}
      {question !== null && (
        <Dialog
          alert
          title={question === "rotate" ? w.rotateTitle : w.deleteTitle(plain(record["name"]))}
          text={question === "rotate" ? w.rotateText : w.deleteText}
          onClose={() => setQuestion(null)}
          footer={
            <>
              <Cancel onPress={() => setQuestion(null)} />
              {question === "rotate"
                ? button(w.rotate, async () => {
                  await verb("rotateSecret")
                  setSecret(null)
                  say(w.rotated)
                }, "btn primary")
                : button(w.delete, async () => {
                  await resourceClient(subscriptionsName).delete([idOf(record)], { etag: record.etag })
                  setQuery({ id: null })
                }, "btn danger primary")}
            </>
          }
        />
      )}
    </>
  )
}
