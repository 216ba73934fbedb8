/**
 * Components of the app's own pages: the top with tabs, a table with one row open beside it, labelled fields, and a box for a text that is shown once.
 * The address has the tab and the open row.
 */

import { ArrowLeft, Copy } from "lucide-react"
import { type FocusEvent, type ReactNode, useEffect, useId, useRef } from "react"
import { useShortcut } from "../ground/keys.ts"
import { Link } from "../ground/link.tsx"
import { setQuery, usePlace } from "../ground/location.ts"
import { useNarrow } from "../ground/narrow.ts"
import { copyText, sayProblem } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { useTitle } from "../ground/title.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { short } from "../model/plain.ts"
import shell from "../style/frame.module.css"
import style from "./place.module.css"

export interface PageProps {
  /** The tab: the part of the address after the page's name. */
  readonly part: string | null
}

interface TopProps {
  readonly title: string
  /** A note beside the title, such as a number of rows. */
  readonly note?: ReactNode
  readonly children?: ReactNode
}

export const Top = ({ children, note, title }: TopProps): ReactNode => {
  useTitle(title)
  return (
    <header className={shell.top}>
      <h1>{title}</h1>
      {note !== undefined && <span className="dim" role="status">{note}</span>}
      <span className="grow" />
      {children}
    </header>
  )
}

export interface Tab {
  readonly to: string
  readonly label: string
}

/** The tabs of a page. Each has an address. */
export const Tabs = ({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }): ReactNode => {
  const { path } = usePlace()
  return (
    <nav className={style.tabs} aria-label={label}>
      {tabs.map(({ label, to }) => (
        <Link key={to} to={to} className={style.tab} aria-current={path === to ? "page" : undefined}>{label}</Link>
      ))}
    </nav>
  )
}

export interface Column<Row> {
  readonly name: string
  readonly label: string
  readonly end?: boolean
  /** True if narrow screens leave the column out. */
  readonly wide?: boolean
  /** True if it is left out while a row is open beside the table. */
  readonly spare?: boolean
  readonly cell: (row: Row) => ReactNode
}

/** Which rows of a table are chosen, by a box before each. */
export interface Choice<Row> {
  /** The names of the box that chooses all rows, and of that of a row. */
  readonly all: string
  readonly one: (row: Row) => string
  readonly count: number
  readonly has: (row: Row) => boolean
  readonly set: (rows: readonly Row[], on: boolean) => void
}

interface TableProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: ReadonlyArray<Column<Row>>
  readonly idOf: (row: Row) => string
  /** The name of a row, for the button that opens it. Without this function, rows do not open. */
  readonly nameOf?: (row: Row) => string
  /** Without it, no row can be chosen. */
  readonly choice?: Choice<Row>
}

interface BoxProps {
  readonly label: string
  readonly on: boolean
  /** Some but not all are chosen. */
  readonly some?: boolean
  readonly onChange: (on: boolean) => void
}

const Box = ({ label, on, onChange, some = false }: BoxProps): ReactNode => (
  <input
    type="checkbox"
    aria-label={label}
    checked={on}
    ref={(box) => {
      if (box !== null) box.indeterminate = some
    }}
    onChange={({ target }) => onChange(target.checked)}
  />
)

/** Most characters of a value that are drawn: a browser measures each of those that do not fit, too. */
export const mostShown = 500

/** A cell's content. A text has its own direction, so that a long text loses its end and not its beginning, also on a page of the other direction. */
const lineOf = (content: ReactNode): ReactNode =>
  typeof content === "string" ? <bdi className="cut">{short(content, mostShown)}</bdi> : content

/** A table. The address's `id` is the open row. `J` and `K` open the next and the previous row. */
export const Table = <Row extends object>(
  { choice, columns, idOf, label, nameOf, rows }: TableProps<Row>
): ReactNode => {
  const open = usePlace().query.get("id")
  const body = useRef<HTMLTableSectionElement>(null)
  const step = (by: number): void => {
    const at = rows.findIndex((row) => idOf(row) === open)
    const next = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : at + by]
    if (next === undefined) return
    setQuery({ id: idOf(next) })
    body.current?.rows[rows.indexOf(next)]?.querySelector("button")?.focus()
  }
  useShortcut("j", () => step(1), nameOf !== undefined)
  useShortcut("k", () => step(-1), nameOf !== undefined)
  const [first, ...rest] = columns
  return (
    <table className={style.table} aria-label={label}>
      <thead>
        <tr>
          {columns.map((column, index) => (
            <th
              key={column.name}
              scope="col"
              className={column.end === true ? "num" : undefined}
              data-wide={column.wide}
              data-spare={column.spare}
            >
              {index === 0 && choice !== undefined
                ? (
                  <span className={style.marked}>
                    <Box
                      label={choice.all}
                      on={choice.count > 0 && choice.count === rows.length}
                      some={choice.count > 0 && choice.count < rows.length}
                      onChange={(on) => choice.set(rows, on)}
                    />
                    {column.label}
                  </span>
                )
                : column.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((row) => {
          const id = idOf(row)
          const name = nameOf === undefined
            ? lineOf(first?.cell(row))
            : (
              <button
                type="button"
                className={style.opens}
                aria-expanded={id === open}
                onClick={() => setQuery({ id: id === open ? null : id }, { replace: open !== null })}
              >
                {lineOf(first?.cell(row) ?? nameOf(row))}
              </button>
            )
          return (
            <tr key={id} data-open={id === open ? "" : undefined}>
              <th scope="row">
                {choice === undefined ? name : (
                  <span className={style.marked}>
                    <Box label={choice.one(row)} on={choice.has(row)} onChange={(on) => choice.set([row], on)} />
                    {name}
                  </span>
                )}
              </th>
              {rest.map((column) => (
                <td
                  key={column.name}
                  className={column.end === true ? "num" : undefined}
                  data-wide={column.wide}
                  data-spare={column.spare}
                >
                  {lineOf(column.cell(row))}
                </td>
              ))}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

interface MoreProps {
  readonly label: string
  /** More rows are on their way. */
  readonly busy?: boolean
  readonly onPress: () => void
}

/** The button below a table that has more rows. */
export const More = ({ busy = false, label, onPress }: MoreProps): ReactNode => (
  <div className={style.more}>
    <button type="button" className="btn" disabled={busy} onClick={onPress}>{label}</button>
  </div>
)

/** Browsers let a narrow link that gets the focus stay half outside of a box that scrolls. */
const bringIntoSight = ({ currentTarget, target }: FocusEvent): void => {
  if (target !== currentTarget) target.scrollIntoView({ block: "nearest", inline: "nearest" })
}

/** A table whose rows do not open: a narrow screen leaves no column out, and scrolls it. The keyboard scrolls it, too, so its box takes the focus. */
export const Listing = <Row extends object>(props: TableProps<Row>): ReactNode => (
  <div
    className={`${style.list} ${style.whole}`}
    role="group"
    aria-label={props.label}
    tabIndex={0}
    onFocus={bringIntoSight}
  >
    <Table {...props} />
  </div>
)

interface BesideProps {
  readonly label: string
  /** The open row's details, or null. */
  readonly children: ReactNode
}

const close = (): void => setQuery({ id: null })

const Beside = ({ children, label }: BesideProps): ReactNode => {
  const w = useMessages().place
  const narrow = useNarrow()
  const top = useRef<HTMLElement>(null)
  useShortcut("Escape", close)
  useEffect(() => {
    if (narrow) top.current?.scrollIntoView()
  }, [narrow, label])
  return (
    <aside ref={top} className={style.beside} aria-label={label}>
      {narrow && (
        <button type="button" className="btn quiet" onClick={close}>
          <ArrowLeft className="icon" data-flips="" aria-hidden="true" /> {w.close}
        </button>
      )}
      {children}
    </aside>
  )
}

/** A list with the open row's details beside it. Narrow screens show only one of them. */
export const Split = (
  { beside, children, label }: { readonly children: ReactNode; readonly label: string; readonly beside: ReactNode }
): ReactNode => (
  <div className={style.split} data-open={beside === null ? undefined : ""}>
    <div className={style.list}>{children}</div>
    {beside !== null && <Beside label={label}>{beside}</Beside>}
  </div>
)

/** A page without a list: sections of text and fields. */
export const Sheet = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <div className={style.sheet}>{children}</div>
)

interface SectionProps {
  readonly title: string
  readonly text?: ReactNode
  readonly children?: ReactNode
}

export const Part = ({ children, text, title }: SectionProps): ReactNode => {
  const id = useId()
  return (
    <section className={style.part} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {text !== undefined && <p className={style.text}>{text}</p>}
      {children}
    </section>
  )
}

interface EmptyProps {
  readonly title: string
  readonly text?: string
  /** The name of the guide to what the page is for. */
  readonly guide?: string
  readonly children?: ReactNode
}

/** The text for an empty page: the reason, and what to do. */
export const Empty = ({ children, guide, text, title }: EmptyProps): ReactNode => {
  const { t } = useLocale()
  return (
    <div className={style.empty}>
      <h2>{title}</h2>
      {text !== undefined && <p className="dim">{text}</p>}
      {children}
      {guide !== undefined && <Link className="btn quiet" to={`/-/guides/${guide}`}>{t.guide.read}</Link>}
    </div>
  )
}

interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  /** Why the value is refused. */
  readonly problem?: string | null | undefined
  readonly optional?: boolean
  readonly children: (
    id: string,
    described: { readonly "aria-describedby"?: string; readonly "aria-invalid"?: true }
  ) => ReactNode
}

export const Field = ({ children, hint, label, optional = false, problem = null }: FieldProps): ReactNode => {
  const { t } = useLocale()
  const id = useId()
  const described = hint !== undefined || problem !== null ? { "aria-describedby": `${id}-hint` } : {}
  return (
    <div className={style.field}>
      <label className="label" htmlFor={id}>{label} {optional && <em>{t.field.optional}</em>}</label>
      <div className="input" data-invalid={problem === null ? undefined : ""}>
        {children(id, { ...described, ...(problem === null ? {} : { "aria-invalid": true }) })}
      </div>
      {(hint !== undefined || problem !== null) && (
        <p className="hint" id={`${id}-hint`} data-bad={problem === null ? undefined : ""}>{problem ?? hint}</p>
      )}
    </div>
  )
}

/** A text to copy. `once`: it is a secret that is never shown again. */
export const Shown = (
  { label, once = false, text }: { readonly text: string; readonly label: string; readonly once?: boolean }
): ReactNode => {
  const { t } = useLocale()
  const w = useMessages().place
  return (
    <div className={style.shown}>
      {once && <p className="hint">{`${w.shownOnce}. ${w.keepIt}`}</p>}
      <div>
        <output className="code grow" dir="ltr" aria-label={label}>{text}</output>
        <button type="button" className="btn" onClick={() => copyText(text, t)}>
          <Copy className="icon" aria-hidden="true" /> {t.shell.copy}
        </button>
      </div>
    </div>
  )
}

/** Terms with their values. */
export const Facts = (
  { facts }: { readonly facts: ReadonlyArray<readonly [label: string, value: ReactNode] | null> }
): ReactNode => (
  <dl className={style.facts}>
    {facts.map((fact) =>
      fact !== null && (
        <div key={fact[0]}>
          <dt>{fact[0]}</dt>
          <dd>{fact[1]}</dd>
        </div>
      )
    )}
  </dl>
)

/** A time in words, with the exact time as its tooltip. */
export const Moment = ({ at, now }: { readonly at: string; readonly now: number }): ReactNode => {
  const { format } = useLocale()
  const ahead = Date.parse(at) > now
  return <time dateTime={at} title={format.exactTime(at)}>{ahead ? format.dateTime(at) : format.moment(at, now)}</time>
}

/** Runs an action of a button. A failure is shown as a toast. Returns whether it succeeded. */
export const useAct = (): (work: () => Promise<unknown>) => Promise<boolean> => {
  const { t } = useLocale()
  return async (work) => {
    try {
      await work()
      return true
    } catch (error) {
      noticeFailure(error)
      sayProblem(error, t)
      return false
    }
  }
}
