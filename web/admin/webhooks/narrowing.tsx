/** Which deliveries or tries are listed: by subscription, state, event and resource. The address is the state, so a narrowed list can be sent as a link. */

import * as Result from "effect/Result"
import type { ReactNode } from "react"
import { useApp } from "../ground/app.ts"
import { setQuery, usePlace } from "../ground/location.ts"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { checkSimple, printConditions } from "../model/conditions.ts"
import { plain, short } from "../model/plain.ts"
import style from "../place/place.module.css"
import { idOf, useSubscriptions } from "./subscriptions.ts"

/** Names in the address, and the fields that they narrow. The state of a try is its outcome. */
const narrowed = { subscription: "subscription_id", state: "state", resource: "resource", event: "event_type" } as const

type Name = keyof typeof narrowed
const names = ["subscription", "state", "resource", "event"] as const satisfies readonly Name[]

/** Parts of the address. Values that the field cannot have are no part of it. */
export interface Narrowing {
  readonly chosen: { readonly [name in Name]?: string }
  readonly filter: string
}

export const useNarrowing = (resource: Resource, stateField: string): Narrowing => {
  const { query } = usePlace()
  const chosen: { [name in Name]?: string } = {}
  const texts: string[] = []
  for (const name of names) {
    const value = query.get(name)
    if (value === null || value === "") continue
    const field = name === "state" ? stateField : narrowed[name]
    const text = checkSimple({ field, is: "is", values: [value] }, resource)
    if (text === null || Result.isFailure(text)) continue
    chosen[name] = value
    texts.push(text.success)
  }
  return { chosen, filter: printConditions(texts) }
}

const clear = (): void => setQuery({ subscription: null, state: null, resource: null, event: null, id: null })

/** The button that shows everything again. */
export const ShowAll = (): ReactNode => {
  const w = useMessages().webhooks
  return <button type="button" className="btn" onClick={clear}>{w.showAll}</button>
}

interface ChoiceProps {
  readonly name: Name
  readonly label: string
  readonly chosen: string | undefined
  readonly options: ReadonlyArray<readonly [value: string, label: string]>
}

const Choice = ({ chosen = "", label, name, options }: ChoiceProps): ReactNode => {
  const w = useMessages().webhooks
  // What the address names is an option, also where nothing of it is there any more.
  const all = chosen === "" || options.some(([value]) => value === chosen)
    ? options
    : [...options, [chosen, short(chosen, 80)] as const]
  return (
    <label>
      <span className="hush">{label}</span>
      <span className="input">
        <select
          value={chosen}
          onChange={({ target }) =>
            // An event is of one resource.
            setQuery({ ...(name === "resource" ? { event: null } : {}), [name]: target.value || null, id: null })}
        >
          <option value="">{w.any(label)}</option>
          {all.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
        </select>
      </span>
    </label>
  )
}

interface BarProps {
  readonly narrowing: Narrowing
  readonly stateLabel: string
  readonly states: ReadonlyArray<readonly [value: string, label: string]>
}

export const NarrowingBar = ({ narrowing: { chosen }, stateLabel, states }: BarProps): ReactNode => {
  const w = useMessages().webhooks
  const { catalogue } = useApp()
  const subscriptions = useSubscriptions().data ?? []
  const resources = [...catalogue.resources.values()].filter(({ model }) => (model.events ?? []).length > 0)
  const events = resources.flatMap(({ model, name }) =>
    chosen.resource === undefined || chosen.resource === name
      ? (model.events ?? []).map((event) => `${name}.${event}`)
      : []
  )
  return (
    <div className={style.filter} role="group" aria-label={w.filter}>
      <Choice
        name="subscription"
        label={w.subscription}
        chosen={chosen.subscription}
        options={subscriptions.map((each) => [idOf(each), short(plain(each["name"]), 80)])}
      />
      <Choice name="state" label={stateLabel} chosen={chosen.state} options={states} />
      <Choice
        name="resource"
        label={w.resource}
        chosen={chosen.resource}
        options={resources.map(({ name, view }) => [name, view.label.plural])}
      />
      <Choice name="event" label={w.event} chosen={chosen.event} options={events.map((event) => [event, event])} />
      {Object.keys(chosen).length > 0 && <ShowAll />}
    </div>
  )
}
