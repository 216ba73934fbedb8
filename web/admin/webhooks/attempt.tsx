/** One try of a delivery: where it went, what was sent, what came back. What was sent is asked for by a press, because it holds a record. */

import { useQuery } from "@tanstack/react-query"
import { type ReactNode, useRef, useState } from "react"
import { isKeyOf } from "../../../core/domain/value/table.ts"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { printConditions, textOfSimple } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import { Facts, Moment, useAct } from "../place/parts.tsx"
import style from "../place/place.module.css"
import { attemptsName, doVerb, headerLines, idOf, pretty, tones } from "./subscriptions.ts"

export const Time = ({ at }: { readonly at: unknown }): ReactNode => {
  const { now } = useReader()
  return typeof at === "string" ? <Moment at={at} now={now} /> : <span className="dim">–</span>
}

export const Outcome = ({ of }: { readonly of: AnyRecord }): ReactNode => {
  const w = useMessages().webhooks
  const outcome = plain(of["outcome"])
  return (
    <span className="badge" data-tone={isKeyOf(tones, outcome) ? tones[outcome] : undefined}>
      {isKeyOf(w.outcomes, outcome) ? w.outcomes[outcome] : outcome}
    </span>
  )
}

/** Text of others, as text. */
export const Block = (
  { label, text, wrong = false }: { readonly label: string; readonly text: string; readonly wrong?: boolean }
): ReactNode => (
  <>
    <h2>{label}</h2>
    <pre className={wrong ? `code ${style.bad}` : "code"} dir={wrong ? "auto" : "ltr"} tabIndex={0} aria-label={label}>
      {text}
    </pre>
  </>
)

interface Sent {
  readonly body: string
  readonly whole: boolean
}

/** What was sent, for the owner of the subscription and for admins: the service shows it to nobody else. */
const Payload = ({ of }: { readonly of: AnyRecord }): ReactNode => {
  const w = useMessages().webhooks
  const act = useAct()
  const { isAdmin, user } = useApp()
  const [sent, setSent] = useState<Sent | null>(null)
  if ((!isAdmin && of["owner_id"] !== user.id) || of["outcome"] === "skipped") return null
  return sent === null
    ? (
      <div className={style.buttons}>
        <button
          type="button"
          className="btn"
          onClick={() => void act(async () => setSent(await doVerb<Sent>(attemptsName, of, "payload")))}
        >
          {w.showPayload}
        </button>
      </div>
    )
    : (
      <>
        <Block label={w.sent} text={sent.whole ? pretty(sent.body) : `${sent.body}…`} />
        {!sent.whole && <p className="hint">{w.cut}</p>}
      </>
    )
}

/** The facts of a try, and what was sent and answered. */
export const Attempt = ({ of }: { readonly of: AnyRecord }): ReactNode => {
  const w = useMessages().webhooks
  const { format } = useLocale()
  const { catalogue } = useApp()
  const fields = catalogue.resources.get(attemptsName)?.fields
  const error = plain(of["error"])
  const headers = headerLines(of["answer_headers"])
  return (
    <>
      <Facts
        facts={[
          [w.outcome, <Outcome key="outcome" of={of} />],
          [w.at, <Time key="at" at={of["at"]} />],
          [w.tryNumber, plain(of["try"])],
          [w.status, plain(of["status"]) || "–"],
          [w.duration, w.took(format.count(Number(of["duration_ms"])))]
        ]}
      />
      {error !== "" && <Block wrong label={w.error} text={error} />}
      <Payload of={of} />
      {headers !== "" && <Block label={w.answerHeaders} text={headers} />}
      {fields?.has("answer") === true && <Block label={w.answer} text={plain(of["answer"]) || w.noAnswer} />}
    </>
  )
}

/** The tries of a delivery, the newest first. They are kept where the log is. */
export const Attempts = ({ of }: { readonly of: AnyRecord }): ReactNode => {
  const w = useMessages().webhooks
  const { format } = useLocale()
  const [event, subscription] = [plain(of["event_id"]), plain(of["subscription_id"])]
  const resource = useApp().catalogue.resources.get(attemptsName)
  const conditions = Object.entries({ delivery_id: event, subscription_id: subscription }).flatMap(([field, value]) =>
    (resource === undefined ? null : textOfSimple({ field, is: "is", values: [value] }, resource)) ?? []
  )
  const filter = printConditions(conditions)
  const { data } = useQuery({
    queryKey: ["webhooks", "tries", filter],
    enabled: conditions.length === 2,
    refetchInterval: 5_000,
    queryFn: ({ signal }) =>
      resourceClient(attemptsName).list({
        filter,
        order_by: "id desc",
        page_size: 50
      }, { signal })
  })
  // The try that was the newest when the delivery was opened stays open when another one comes.
  const opened = useRef<string>(undefined)
  const [newest] = data?.items ?? []
  if (data === undefined || newest === undefined) return null
  opened.current ??= idOf(newest)
  return (
    <section aria-label={w.tries}>
      <h2>{w.tries}</h2>
      {data.items.map((each) => (
        <details key={idOf(each)} className={style.folded} open={idOf(each) === opened.current}>
          <summary>
            <Outcome of={each} /> {plain(each["status"])}{" "}
            <span className="dim">
              {w.took(format.count(Number(each["duration_ms"])))} · <Time at={each["at"]} />
            </span>
          </summary>
          <Attempt of={each} />
        </details>
      ))}
    </section>
  )
}
