/** Shows a value in one line: as `cell.ts` describes it, or by the component of a plugin, or with the picture of a file. */

import { createContext, lazy, type ReactNode, Suspense, use, useEffect, useState } from "react"
import type { MetaField } from "../../client/index.ts"
import { config } from "../config.ts"
import { useApp } from "../ground/app.ts"
import { Line } from "../ground/line.tsx"
import { lines } from "../ground/lines.ts"
import { Link } from "../ground/link.tsx"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import chips from "./array.module.css"
import { elementsOf } from "./array.ts"
import { elementText, type Piece, relatedPiece, type Shown, statePiece, valuePiece } from "./cell.ts"
import { FileLine, FilesLine } from "./file.tsx"
import type { TextContext } from "./text.ts"

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

export interface ValueProps extends Shown {
  readonly record?: AnyRecord | { readonly [field: string]: unknown }
}

/** An element as it is described. Not a component: a list draws hundreds of them while it is scrolled. */
const drawn = ({ at, dir, icon, name, of, tag: Tag, title, to, tone }: Piece, key?: number): ReactNode => {
  const [only] = of
  const children = of.length === 1 && typeof only === "string"
    ? only
    : of.map((each, index) => typeof each === "string" ? each : drawn(each, index))
  return Tag === "a"
    ? <Link key={key} to={to ?? "/"} dir={dir} className={name} tabIndex={-1}>{children}</Link>
    : (
      <Tag key={key} className={name} dir={dir} title={title?.()} data-tone={tone} dateTime={at}>
        {icon !== undefined && <Line d={lines[icon]} />}
        {children}
      </Tag>
    )
}

const Related = (props: ValueProps): ReactNode => {
  const { catalogue } = useApp()
  return drawn(relatedPiece(props, catalogue.resources))
}

/** A state as a dot and a word. */
export const State = ({ value }: { readonly value: string }): ReactNode => drawn(statePiece(value))

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
  return (value) => elementText(resource, field, value, reader)
}

/** All elements of a list as chips. A cell has as many as fit. */
export const ArrayShown = ({ field, resource, value }: ValueProps): ReactNode => {
  const text = useElementText(resource, field)
  return (
    <span className={chips.tags} data-all="">
      {elementsOf(value).map((each, at) => (
        <span key={at} className={chips.tag}>
          <bdi dir="auto" className={each === null ? "dim cut" : "cut"}>{text(each)}</bdi>
        </span>
      ))}
    </span>
  )
}

const Plain = (props: ValueProps): ReactNode => {
  const { field, value } = props
  const reader = useReader()
  if (value === null || value === undefined) return null
  if (field.relation !== undefined) return <Related {...props} />
  if (field.kind === "file") return <FileLine value={value} />
  if (field.kind === "files") return <FilesLine value={value} />
  const piece = valuePiece(props, reader)
  return piece === null ? null : drawn(piece)
}
