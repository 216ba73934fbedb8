/**
 * A value as it is shown: by its kind, in one line, with what it means beside it (a state's dot, an amount's currency, a related record's name and
 * link). Nothing of a value ever becomes markup.
 */

import { Check, Minus } from "lucide-react"
import { createContext, type ReactNode, use, useEffect, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { useLocale } from "../messages/locale.tsx"
import { useApp } from "../shell/app.ts"
import { addressOf, keyOf, type Resource, titleOf } from "../shell/catalogue.ts"
import type { AnyRecord } from "../shell/client.ts"
import { Link } from "../shell/link.tsx"
import { FileLine } from "./file.tsx"
import { currencyOf, isIdentifier, isState, relationOf, toneOf } from "./kind.ts"
import { plain } from "./plain.ts"
import { enumText, type Reader, textOf } from "./text.ts"

const NowContext = createContext<number | null>(null)

/** Gives all times below the same moment to be told from, moving on every half minute. */
export const NowProvider = ({ children }: { readonly children: ReactNode }): ReactNode => {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return <NowContext value={now}>{children}</NowContext>
}

/** Words, formats and the moment, for `textOf`. */
export const useReader = (): Reader => {
  const { format, t } = useLocale()
  const now = use(NowContext)
  return { format, t, now: now ?? Date.now() }
}

export interface ValueProps {
  readonly resource: Resource
  readonly field: MetaField
  readonly value: unknown
  /** The record it stands in: for its currency and its related records (`expand`). */
  readonly record?: AnyRecord | { readonly [field: string]: unknown }
  /** False: a related record's name is no link (inside of buttons and options). */
  readonly linked?: boolean
}

const expanded = (record: ValueProps["record"], name: string): { readonly [field: string]: unknown } | null => {
  const all = record?.["expand"]
  const found: unknown = typeof all === "object" && all !== null ? (all as { [name: string]: unknown })[name] : null
  return typeof found === "object" && found !== null && !Array.isArray(found)
    ? found as { readonly [field: string]: unknown }
    : null
}

const Related = ({ field, linked = true, record, resource, value }: ValueProps): ReactNode => {
  const { catalogue } = useApp()
  const target = field.relation === undefined ? undefined : catalogue.resources.get(field.relation)
  const relation = relationOf(resource, field)
  const found = relation === undefined ? null : expanded(record, relation.name)
  const name = target === undefined || found === null ? `#${plain(value)}` : titleOf(target, found)
  const key = target === undefined
    ? null
    : found === null
    // Without the record its key is known only where the foreign key is the key itself.
    ? (target.model.primaryKey.length === 1 && relation?.targetField === target.model.primaryKey[0]
      ? encodeURIComponent(plain(value))
      : null)
    : keyOf(target, found)
  return target === undefined || key === null || !linked
    ? <span className="cut">{name}</span>
    : <Link to={addressOf(target, key)} className="related cut" tabIndex={-1}>{name}</Link>
}

/** A state as a dot and a word. */
export const State = ({ value }: { readonly value: string }): ReactNode => (
  <span className="badge" data-tone={toneOf(value)}>
    <span className="cut">{enumText(value)}</span>
  </span>
)

export const Value = (props: ValueProps): ReactNode => {
  const { field, record, resource, value } = props
  const reader = useReader()
  if (value === null || value === undefined) return null
  if (field.relation !== undefined) return <Related {...props} />
  const text = textOf(resource, field, value, reader)
  switch (field.kind) {
    case "boolean":
      return value === true
        ? (
          <span className="yes">
            <Check className="icon" aria-hidden="true" />
            <span className="hush">{text}</span>
          </span>
        )
        : (
          <span className="dim">
            <Minus className="icon" aria-hidden="true" />
            <span className="hush">{text}</span>
          </span>
        )
    case "enum":
      return isState(field) ? <State value={plain(value)} /> : <span className="cut">{text}</span>
    case "timestamp":
      return (
        <time className="dim cut" dateTime={plain(value)} title={reader.format.exactTime(plain(value))}>{text}</time>
      )
    case "date":
      return <time className="cut" dateTime={plain(value)}>{text}</time>
    case "decimal": {
      const currency = currencyOf(resource, field)
      const code = currency === null ? undefined : record?.[currency.name]
      return typeof code === "string"
        ? (
          <span className="cut">
            {text}
            <span className="dim">{` ${code}`}</span>
          </span>
        )
        : <span className="cut">{text}</span>
    }
    case "integer":
      return <span className={isIdentifier(resource, field) ? "dim cut" : "cut"}>{text}</span>
    case "file":
      return <FileLine value={value} />
    case "uuid":
    case "json":
      return <span className="mono cut">{text}</span>
    default:
      // Texts may be long: a cell shows no more than fits.
      return <bdi className="cut">{text.length > 500 ? `${text.slice(0, 500)}…` : text}</bdi>
  }
}
