/** A value shown, and an input drawn, by a component of a plugin. */

import type { ReactNode } from "react"
import type { MetaField } from "../../client/meta.ts"
import type { CellProps, InputProps as PluginInputProps } from "../../plugin/index.ts"
import type { Resource } from "../model/catalogue.ts"
import { PluginPart } from "../plugin/part.tsx"
import type { InputProps } from "./input-props.ts"

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
