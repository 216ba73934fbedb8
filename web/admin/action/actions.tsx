/**
 * Buttons that call API functions, for one record or for the selected ones, and what plugins add to them. If the function returns a text, or an object with
 * a `message`, it is shown as plain text.
 */

import { Zap } from "lucide-react"
import { type ReactNode, useState } from "react"
import type { MetaView } from "../../client/index.ts"
import { type Offer, Offers } from "../ground/offers.ts"
import { Cancel, Dialog, Menu } from "../ground/parts.tsx"
import { sayProblem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { clientOf } from "../model/client.ts"

type Action = MetaView["actions"][number]

/** The most records of one call. */
const mostKeys = 500

/** The most buttons in a row. More become a menu. */
const mostButtons = 2

const messageOf = (answer: unknown): string | null => {
  const said: unknown = typeof answer === "object" && answer !== null && "message" in answer ? answer.message : answer
  return typeof said === "string" && said !== "" ? said.slice(0, 500) : null
}

interface ActionsProps {
  readonly resource: Resource
  readonly on: Action["on"]
  /** Keys in their text form of addresses. One key on a record's page. */
  readonly keys: readonly string[]
  /** Further actions on them. */
  readonly others?: readonly Offer[]
  /** Called after success, because the shown data may be outdated. */
  readonly onDone: () => void
}

export const Actions = ({ keys, on, onDone, others = [], resource }: ActionsProps): ReactNode => {
  const { t } = useLocale()
  const w = useMessages().action
  const [asked, setAsked] = useState<Action | null>(null)
  const [running, setRunning] = useState(false)
  const actions = resource.view.actions.filter((action) => action.on === on)
  if (actions.length + others.length === 0 || keys.length === 0) return null
  const tooMany = keys.length > mostKeys

  const run = async (action: Action): Promise<void> => {
    setAsked(null)
    setRunning(true)
    try {
      const about = on === "record" ? { resource: resource.name, key: keys[0] } : { resource: resource.name, keys }
      const answer = await clientOf(resource.name).call(action.function, about)
      say(messageOf(answer) ?? w.done(action.label))
      onDone()
    } catch (error) {
      sayProblem(error, t)
    } finally {
      setRunning(false)
    }
  }
  const begin = (action: Action): void => {
    if (action.confirm === null) void run(action)
    else setAsked(action)
  }

  const entries: readonly Offer[] = [
    ...actions.map((action) => ({ label: action.label, onAction: () => begin(action) })),
    ...others
  ].map((entry) => ({ ...entry, disabled: running || tooMany }))
  return (
    <>
      <Offers entries={entries} />
      {entries.length <= mostButtons
        ? entries.map(({ disabled, label, onAction }) => (
          <button
            key={label}
            type="button"
            className="btn"
            disabled={disabled}
            title={tooMany ? w.tooMany : undefined}
            onClick={onAction}
          >
            {label}
          </button>
        ))
        : (
          <Menu
            label={w.actions}
            placement={on === "selection" ? "top" : "bottom end"}
            className="btn"
            entries={entries}
          >
            <Zap className="icon" aria-hidden="true" /> {w.actions}
          </Menu>
        )}
      {asked !== null && (
        <Dialog
          alert
          title={asked.label}
          text={asked.confirm}
          onClose={() => setAsked(null)}
          footer={
            <>
              <Cancel onPress={() => setAsked(null)} />
              <button type="button" className="btn primary" autoFocus onClick={() => void run(asked)}>
                {asked.label}
              </button>
            </>
          }
        />
      )}
    </>
  )
}
