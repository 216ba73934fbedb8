/** Shows a component of a plugin. The app's own component is shown while it loads, if it is not available, and if it throws. */

import { type ComponentType, type ReactNode, useEffect, useState, useSyncExternalStore } from "react"
import type { MetaField } from "../../client/meta.ts"
import type { CellProps, InputProps as PluginInputProps } from "../../plugin/index.ts"
import type { InputProps } from "../field/input-props.ts"
import { Boundary } from "../shell/boundary.tsx"
import type { Resource } from "../shell/catalogue.ts"
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
    const found = providerOf(kind, name)
    if (found === undefined) return
    let gone = false
    // It never rejects. A failure is noted and gives null.
    void partOf(found, kind, name).then((Part) => {
      if (!gone && Part !== null) setPart({ url: found.url, Part: Part as ComponentType<Props> })
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

/** A value to show. */
interface Drawn {
  readonly resource: Resource
  readonly field: MetaField
  readonly value: unknown
  readonly record?: { readonly [field: string]: unknown }
}

export const PluginCell = (
  { fallback, name, of }: { readonly name: string; readonly of: Drawn; readonly fallback: ReactNode }
): ReactNode => {
  const { field, record, resource, value } = of
  const props: CellProps = { value: value ?? null, field, resource: resource.model, record }
  return <PluginPart kind="cells" name={name} props={props} fallback={fallback} at={JSON.stringify(value) ?? ""} />
}

export const PluginInput = (
  { fallback, name, of }: { readonly name: string; readonly of: InputProps; readonly fallback: ReactNode }
): ReactNode => {
  const { describedBy, disabled = false, field, id, invalid = false, label, onChange, resource, value } = of
  const props: PluginInputProps = {
    value: value ?? null,
    onChange: (next) => onChange({ value: next, problem: null }),
    field,
    resource: resource.model,
    id,
    label,
    describedBy,
    invalid,
    disabled
  }
  return <PluginPart kind="inputs" name={name} props={props} fallback={fallback} at="" />
}
