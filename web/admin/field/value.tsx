/**
 * Shows a value in one line, by its kind: a state with its dot, an amount with its currency, a foreign key as the name and link of the related record.
 * Nothing of a value ever becomes markup.
 */

import { Check, Minus } from "lucide-react"
import { createContext, lazy, type ReactNode, Suspense, use, useEffect, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { config } from "../config.ts"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { useLocale } from "../messages/locale.tsx"
import { addressOf, expandedOf, keyOf, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { plain, short } from "../model/plain.ts"
import chips from "./array.module.css"
import { elementOf, elementsOf } from "./array.ts"
import { FileLine, FilesLine } from "./file.tsx"
import { currencyOf, isExact, isIdentifier, isState, relationOf, toneOf } from "./kind.ts"
import { enumText, type TextContext, textOf } from "./text.ts"

const PluginCell = lazy(() => import("./plugin.tsx").then(({ PluginCell }) => ({ default: PluginCell })))

const NowContext = createContext<number | null>(null)

/** Provides the current time for all relative times below it. It is updated every half minute. */
export const NowProvider = ({ children }: { readonly children: ReactNode }): ReactNode => {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return <NowContext value={now}>{children}</NowContext>
}

/** The user's messages, formats and the current time, for `textOf`. */
export const useReader = (): TextContext => {
  const { format, t } = useLocale()
  const now = use(NowContext)
  return { format, t, now: now ?? Date.now() }
}

export interface ValueProps {
  readonly resource: Resource
  readonly field: MetaField
  readonly value: unknown
  /** The record of the value, for its currency and its related records (`expand`). */
  readonly record?: AnyRecord | { readonly [field: string]: unknown }
  /** False: the name of a related record is not a link, because a button or an option contains it. */
  readonly linked?: boolean
  /** False: an amount comes without its currency, which stands beside it. */
  readonly coded?: boolean
}

const Related = ({ field, linked = true, record, resource, value }: ValueProps): ReactNode => {
  const { catalogue } = useApp()
  const target = field.relation === undefined ? undefined : catalogue.resources.get(field.relation)
  const relation = relationOf(resource, field)
  const related = relation === undefined ? null : expandedOf(record, relation.name)
  const name = target === undefined || related === null
    ? `#${short(plain(value), 200)}`
    : titleOf(target, related, true)
  const key = target === undefined
    ? null
    : related === null
    // Without the related record, its key is known only if the foreign key points at the primary key.
    ? (target.model.primaryKey.length === 1 && relation?.targetField === target.model.primaryKey[0]
      ? encodeURIComponent(plain(value).toWellFormed())
      : null)
    : keyOf(target, related)
  return target === undefined || key === null || !linked
    ? <bdi dir="auto" className="cut">{name}</bdi>
    : <Link to={addressOf(target, key)} dir="auto" className="related cut" tabIndex={-1}>{name}</Link>
}

/** A state as a dot and a word. */
export const State = ({ value }: { readonly value: string }): ReactNode => (
  <span className="badge" data-tone={toneOf(value)}>
    <bdi dir="auto" className="cut">{short(enumText(value), 200)}</bdi>
  </span>
)

/** Shows a value by the plugin component that the view names, else by its kind. */
export const Value = (props: ValueProps): ReactNode => {
  const name = config.plugins === undefined ? undefined : props.resource.view.cells?.[props.field.name]
  if (name === undefined) return <Plain {...props} />
  const fallback = <Plain {...props} />
  return (
    <Suspense fallback={fallback}>
      <PluginCell name={name} of={props} fallback={fallback} />
    </Suspense>
  )
}

/** The text of an element of a list, and of one that is null. */
export const useElementText = (resource: Resource, field: MetaField): (value: unknown) => string => {
  const reader = useReader()
  const element = elementOf(field)
  return (value) =>
    value === null
      ? reader.t.field.empty
      : short(Array.isArray(value) ? plain(value) : textOf(resource, element, value, reader), 200)
}

/** Most chips of a cell. */
const mostChips = 8

/** The elements of a list as chips. `all`: not only as many as a cell has room for. */
export const ArrayShown = (
  { all = false, field, resource, value }: ValueProps & { readonly all?: boolean }
): ReactNode => {
  const { format } = useReader()
  const text = useElementText(resource, field)
  const elements = elementsOf(value)
  const visible = all ? elements : elements.slice(0, mostChips)
  return (
    <span className={chips.tags} data-all={all ? "" : undefined}>
      {visible.map((each, at) => (
        <span key={at} className={chips.tag}>
          <bdi dir="auto" className={each === null ? "dim cut" : "cut"}>{text(each)}</bdi>
        </span>
      ))}
      {elements.length > visible.length && (
        <span className={chips.more}>{`+${format.count(elements.length - visible.length)}`}</span>
      )}
    </span>
  )
}

const Plain = (props: ValueProps): ReactNode => {
  const { coded = true, field, record, resource, value } = props
  const reader = useReader()
  if (value === null || value === undefined) return null
  if (field.relation !== undefined) return <Related {...props} />
  // A version may come with the name of who made it.
  const maker = field.name === "history_by" ? plain(expandedOf(record, field.name)?.["name"]) : ""
  // A value may be long: a cell shows no more than fits.
  const text = short(maker || textOf(resource, field, value, reader), 500)
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
      return isState(field) ? <State value={plain(value)} /> : <bdi className="cut">{text}</bdi>
    case "timestamp":
      return (
        <time className="dim cut" dateTime={plain(value)} title={reader.format.exactTime(plain(value))}>{text}</time>
      )
    case "date":
      return <time className="cut" dateTime={plain(value)}>{text}</time>
    case "decimal": {
      const currency = currencyOf(resource, field)
      const code = currency === null || !coded ? undefined : record?.[currency.name]
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
    case "files":
      return <FilesLine value={value} />
    case "array":
      return <ArrayShown resource={resource} field={field} value={value} />
    default:
      if (isExact(field)) return <span dir="ltr" className="mono cut">{text}</span>
      return <bdi dir="auto" className="cut">{text}</bdi>
  }
}
