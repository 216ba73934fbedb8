/** The sidebar's entries for pages of plugins, and for admins the list of plugins. */

import { Puzzle } from "lucide-react"
import { type ReactNode, useSyncExternalStore } from "react"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { usePlace } from "../ground/location.ts"
import { useMessages } from "../messages/locale.tsx"
import shell from "../style/frame.module.css"
import { beginPlugins, pluginStates, subscribe } from "./registry.ts"

export const PluginEntries = (): ReactNode => {
  beginPlugins()
  const w = useMessages().plugin
  const { isAdmin } = useApp()
  const { path } = usePlace()
  const plugins = useSyncExternalStore(subscribe, pluginStates)
  const pages = new Map<string, string>()
  for (const { manifest } of plugins) {
    for (const [name, label] of Object.entries(manifest?.provides.pages ?? {})) {
      if (!pages.has(name)) pages.set(name, label)
    }
  }
  const entries = [
    ...[...pages].map(([name, label]) => ({ to: `/-/plugins/${name}`, label })),
    ...(isAdmin ? [{ to: "/-/plugins", label: w.plugins }] : [])
  ]
  if (entries.length === 0) return null
  return (
    <div role="group" aria-label={w.plugins} className={shell.group}>
      {entries.map(({ label, to }) => (
        <Link key={to} to={to} className={shell.nav} aria-current={path === to ? "page" : undefined}>
          <Puzzle className="icon" aria-hidden="true" />
          <bdi className="cut">{label}</bdi>
        </Link>
      ))}
    </div>
  )
}
