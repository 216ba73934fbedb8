/** The pages of plugins: `/-/plugins/<page>` is drawn by a plugin, and `/-/plugins` lists all plugins with their state. */

import { type ReactNode, useSyncExternalStore } from "react"
import { useApp } from "../ground/app.ts"
import { Missing } from "../ground/problem.tsx"
import { useTitle } from "../ground/title.ts"
import { useMessages } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import shell from "../style/frame.module.css"
import { PluginPart } from "./part.tsx"
import style from "./plugin.module.css"
import { beginPlugins, type PluginState, pluginStates, providerOf, subscribe } from "./registry.ts"

const usePlugins = (): readonly PluginState[] => {
  beginPlugins()
  return useSyncExternalStore(subscribe, pluginStates)
}

/** All that a manifest provides, in one line. */
const provided = ({ manifest }: PluginState): string => {
  const { actions = {}, cells = [], inputs = [], pages = {} } = manifest?.provides ?? {}
  return [...cells, ...inputs, ...Object.values(pages), ...Object.values(actions).map(({ label }) => label)].join(", ")
}

const List = (): ReactNode => {
  const w = useMessages().plugin
  const plugins = usePlugins()
  useTitle(w.plugins)
  return (
    <>
      <header className={shell.top}>
        <h1>{w.plugins}</h1>
      </header>
      <div className={style.page} role="region" aria-label={w.plugins} tabIndex={0}>
        <p className="dim">{plugins.length === 0 ? w.none : w.hint}</p>
        <ul className={style.list}>
          {plugins.map((plugin) => {
            const { detail, failure, manifest, state, url } = plugin
            const tone = state === "failed" ? "bad" : state === "loading" ? "mute" : "ok"
            return (
              <li key={url}>
                <h2>
                  <bdi>{manifest?.name ?? url}</bdi>{" "}
                  {manifest !== null && <span className="dim">{manifest.version}</span>}
                  <span className="badge" data-tone={tone}>{w.states[state]}</span>
                </h2>
                {manifest !== null && <p className="mono dim">{url}</p>}
                {provided(plugin) !== "" && (
                  <p>
                    {w.provides}: <bdi>{provided(plugin)}</bdi>
                  </p>
                )}
                {failure !== null && (
                  <p role="status">
                    {w.failures[failure]} {detail !== "" && <span className="mono">{detail.slice(0, 500)}</span>}{" "}
                    {w.again}
                  </p>
                )}
              </li>
            )
          })}
        </ul>
      </div>
    </>
  )
}

const Drawn = ({ name }: { readonly name: string }): ReactNode => {
  const w = useMessages().plugin
  const plugins = usePlugins()
  const provider = providerOf("pages", name)
  const title = provider?.manifest?.provides.pages?.[name] ?? ""
  useTitle(title)
  if (provider === undefined) {
    return plugins.some(({ state }) => state === "loading")
      ? (
        <div className="missing late" aria-busy="true">
          <span className="spinner" />
        </div>
      )
      : <Missing />
  }
  return (
    <>
      <header className={shell.top}>
        <h1>
          <bdi>{title}</bdi>
        </h1>
      </header>
      <div className={style.page} role="region" aria-label={title} tabIndex={0}>
        <PluginPart
          key={name}
          kind="pages"
          name={name}
          props={{ client }}
          at={name}
          fallback={provider.state === "failed"
            ? (
              <div className="problem" role="alert">
                <p>{w.pageFailed} {w.failures[provider.failure ?? "no-module"]}</p>
              </div>
            )
            : <span className="spinner late" />}
        />
      </div>
    </>
  )
}

export const PluginsPage = ({ part }: { readonly part: string | null }): ReactNode => {
  const { isAdmin } = useApp()
  if (part !== null) return <Drawn name={part} />
  return isAdmin ? <List /> : <Missing />
}
