/** Shows a component of a plugin. The app's own component is shown while it loads, if it is not available, and if it throws. */

import { type ComponentType, type ReactNode, useEffect, useState, useSyncExternalStore } from "react"
import { Boundary } from "../ground/boundary.tsx"
import { beginPlugins, type Kind, noteFailure, partOf, providerOf, subscribe } from "./registry.ts"

/** The component of this name, or null if it is not loaded or not available. */
const usePart = <Props extends object>(
  kind: Kind,
  name: string
): { readonly url: string; readonly Part: ComponentType<Props> } | null => {
  beginPlugins()
  const provider = useSyncExternalStore(subscribe, () => providerOf(kind, name)?.url)
  const [part, setPart] = useState<{ readonly url: string; readonly Part: ComponentType<Props> } | null>(null)
  useEffect(() => {
    const provider = providerOf(kind, name)
    if (provider === undefined) return
    let gone = false
    // It never rejects. A failure is noted and gives null.
    void partOf(provider, kind, name).then((Part) => {
      if (!gone && Part !== null) setPart({ url: provider.url, Part: Part as ComponentType<Props> })
    })
    return () => {
      gone = true
    }
  }, [kind, name, provider])
  return part
}

interface PartProps<Props> {
  readonly kind: Kind
  readonly name: string
  readonly props: Props
  readonly fallback: ReactNode
  /** A new text resets the error boundary. */
  readonly at: string
}

export const PluginPart = <Props extends object>({ at, fallback, kind, name, props }: PartProps<Props>): ReactNode => {
  const part = usePart<Props>(kind, name)
  if (part === null) return fallback
  const { Part, url } = part
  return (
    <Boundary
      at={at}
      fallback={fallback}
      onError={(error) => noteFailure(url, "threw", `${kind}.${name}: ${String(error).slice(0, 500)}`)}
    >
      <Part {...props} />
    </Boundary>
  )
}
