/** Actions of plugins on a record or on selected ones, as entries of their menus. One runs at a time. An exception is shown as a message. */

import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react"
import { Condition } from "../../client/index.ts"
import type { Action, ActionContext } from "../../plugin/index.ts"
import type { Offer } from "../ground/offers.ts"
import { Cancel, Dialog } from "../ground/parts.tsx"
import { problemText } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { keyOf, keyPartsOf, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, client, resourceClient } from "../model/client.ts"
import { beginPlugins, noteFailure, partOf, pluginStates, providerOf, subscribe } from "./registry.ts"

interface PluginQuestion {
  readonly title: string
  readonly text: string
  readonly answer: (yes: boolean) => void
}

/** Most records that are read at once where their key cannot be searched for. */
const mostReads = 6

/** Selected records with all their fields: a list has only the fields of its columns. Records that no longer exist are left out. */
export const readWhole = async (resource: Resource, keys: readonly string[]): Promise<readonly AnyRecord[]> => {
  const routes = resourceClient(resource.name)
  const [name, ...more] = resource.model.primaryKey
  if (name !== undefined && more.length === 0 && resource.fields.get(name)?.filterable === true) {
    const filter = String(new Condition(name).in(keys.map((key) => keyPartsOf(key)[0])))
    const { items } = await routes.list({ filter, page_size: keys.length })
    const byKey = new Map(items.map((item) => [keyOf(resource, item), item]))
    return keys.flatMap((key) => byKey.get(key) ?? [])
  }
  const records: AnyRecord[] = []
  for (let at = 0; at < keys.length; at += mostReads) {
    records.push(
      ...await Promise.all(keys.slice(at, at + mostReads).map((key) => routes.get(keyPartsOf(key))))
    )
  }
  return records
}

interface ActionsProps {
  readonly resource: Resource
  /** Reads the records that an action is given, after somebody chose it. */
  readonly read: () => readonly AnyRecord[] | Promise<readonly AnyRecord[]>
  /** Called with the entries when they change. */
  readonly onEntries: (entries: readonly Offer[]) => void
  /** Called after an action, which may have changed the records. */
  readonly onDone: () => void
}

/** Shows the confirmations of actions. The entries go to the component with the menu. */
export const PluginActions = ({ onDone, onEntries, read, resource }: ActionsProps): ReactNode => {
  beginPlugins()
  const w = useMessages().plugin
  const plugins = useSyncExternalStore(subscribe, pluginStates)
  const [asked, setAsked] = useState<PluginQuestion | null>(null)
  const { t } = useLocale()
  const latest = useRef({ onDone, read, t })
  useEffect(() => {
    latest.current = { onDone, read, t }
  })
  useEffect(() => {
    const run = async (name: string, label: string): Promise<void> => {
      const provider = providerOf("actions", name)
      if (provider === undefined) return
      const action = await partOf(provider, "actions", name) as Action | null
      if (action === null) return void say(w.actionFailed(label), { tone: "bad" })
      let records: readonly AnyRecord[]
      try {
        records = await latest.current.read()
      } catch (error) {
        return void say(problemText(error, latest.current.t), { tone: "bad" })
      }
      const context: ActionContext = {
        client,
        resource: client.resource(resource.name),
        records,
        confirm: (text) =>
          new Promise((resolve) => {
            setAsked({
              title: label,
              text: text.slice(0, 1_000),
              answer: (yes) => {
                setAsked(null)
                resolve(yes)
              }
            })
          }),
        notify: (text) => void say(text.slice(0, 500))
      }
      try {
        await action(context)
      } catch (error) {
        const detail = error instanceof Error ? error.message : String(error)
        say(w.actionFailed(label), { tone: "bad", detail: detail.slice(0, 500) })
        noteFailure(provider.url, "threw", `actions.${name}: ${detail.slice(0, 500)}`)
      }
      latest.current.onDone()
    }
    const seen = new Set<string>()
    onEntries(
      plugins.flatMap(({ manifest }) =>
        Object.entries(manifest?.provides.actions ?? {}).flatMap(([name, { label, resources }]) => {
          if (seen.has(name) || (resources !== undefined && !resources.includes(resource.name))) return []
          seen.add(name)
          return [{ label, onAction: () => void run(name, label) }]
        })
      )
    )
  }, [plugins, resource, w, onEntries])
  return asked === null ? null : (
    <Dialog
      alert
      title={asked.title}
      text={asked.text}
      onClose={() => asked.answer(false)}
      footer={
        <>
          <Cancel onPress={() => asked.answer(false)} />
          <button type="button" className="btn primary" onClick={() => asked.answer(true)}>{w.confirm}</button>
        </>
      }
    />
  )
}
