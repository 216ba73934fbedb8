/** The top of a list: title and number of records, columns, export, and other actions for the whole list. */

import { Columns3, Download, Ellipsis, Plus, Search } from "lucide-react"
import { lazy, type ReactNode, Suspense } from "react"
import { listAddress } from "../ground/last-address.ts"
import { Link } from "../ground/link.tsx"
import { go, setQuery } from "../ground/location.ts"
import { useNarrow } from "../ground/narrow.ts"
import { openPalette } from "../ground/overlays.ts"
import { Box, Menu, type MenuEntry } from "../ground/parts.tsx"
import { sayProblem } from "../ground/problem.tsx"
import { useLocale } from "../messages/locale.tsx"
import { setPreferences } from "../messages/preferences.ts"
import type { Resource } from "../model/catalogue.ts"
import shell from "../style/frame.module.css"
import type { RowsQuery } from "./asked.ts"
import type { Layout } from "./layout.ts"
import style from "./list.module.css"
import type { Reorder } from "./reorder.tsx"
import type { ListRows } from "./rows.ts"
import type { Choice } from "./state.ts"
import { totalText } from "./total.ts"

const DataAge = lazy(() => import("./age.tsx").then(({ DataAge }) => ({ default: DataAge })))
const LayoutSwitch = lazy(() => import("./layout-switch.tsx").then(({ LayoutSwitch }) => ({ default: LayoutSwitch })))
const GroupMenu = lazy(() => import("./group-menu.tsx").then(({ GroupMenu }) => ({ default: GroupMenu })))
const ColumnPicker = lazy(() => import("./column-picker.tsx").then(({ ColumnPicker }) => ({ default: ColumnPicker })))

interface HeaderProps {
  readonly resource: Resource
  readonly rows: Pick<ListRows, "total" | "age" | "reload" | "countExactly">
  readonly filter: string
  readonly deleted: boolean
  readonly order: string
  /** Arguments of a function. */
  readonly args: RowsQuery["args"]
  readonly choices: readonly Choice[]
  readonly onChoices: (choices: readonly Choice[] | null) => void
  readonly reorder: Pick<Reorder, "field" | "begin">
  readonly layout: Layout
  /** What others added, beside the number of records: there it covers no row and moves none. */
  readonly news: ReactNode
}

export const ListHeader = (props: HeaderProps): ReactNode => {
  const { args, choices, deleted, filter, layout, news, onChoices, order, reorder, resource, rows } = props
  const { format, t } = useLocale()
  const narrow = useNarrow()
  const { total } = rows
  const runExport = (as: "csv" | "ndjson"): void => {
    const fields = choices.map(({ field }) => field)
    import("./export.ts").then(
      ({ exportRows }) => exportRows({ resource, as, filter, order, deleted, fields, args, t, format }),
      (error: unknown) => sayProblem(error, t)
    )
  }
  const exports: readonly MenuEntry[] = [
    { label: t.list.exportAs.csv, onAction: () => runExport("csv") },
    { label: t.list.exportAs.json, onAction: () => runExport("ndjson") }
  ]
  const more: readonly MenuEntry[] = [
    { label: t.list.reload, onAction: rows.reload },
    {
      label: t.list.countExactly,
      disabled: total === null || total.accuracy === "exact" || rows.countExactly === null,
      onAction: () => rows.countExactly?.()
    },
    ...(resource.model.softDelete
      ? [{
        label: deleted ? t.list.hideDeleted : t.list.showDeleted,
        onAction: () => setQuery({ deleted: deleted ? null : "true" }, { replace: false })
      }]
      : []),
    ...(reorder.field === null ? [] : [{ label: t.list.reorder, onAction: reorder.begin }]),
    ...(resource.transfers.import.length === 0
      ? []
      : [{ label: t.list.import, onAction: () => go(`/-/import/${resource.name}`) }]),
    ...(resource.transfers.import.length + resource.transfers.bulk.length === 0
      ? []
      : [{ label: t.list.tasks, onAction: () => go("/-/tasks") }]),
    // A narrow window has no room for a button of its own.
    ...(narrow && resource.transfers.export ? [{ section: t.list.export, entries: exports }] : []),
    "line",
    {
      label: t.shell.startHere,
      onAction: () => setPreferences({ start: listAddress(resource.name) })
    }
  ]
  return (
    <header className={shell.top}>
      <div className={`${style.name} grow`}>
        <h1>{resource.view.label.plural}</h1>
        {total !== null && (
          <span className={`dim ${style.total}`} role="status">
            {total.accuracy === "exact" || rows.countExactly === null
              ? totalText(total, t, format)
              : (
                <button type="button" title={t.list.countExactly} onClick={rows.countExactly}>
                  {totalText(total, t, format)}
                </button>
              )}
          </span>
        )}
        {news}
        {rows.age !== null && (
          <Suspense fallback={null}>
            <DataAge resource={resource} age={rows.age} />
          </Suspense>
        )}
      </div>
      {narrow && (
        <button type="button" className="btn quiet bare" aria-label={t.shell.search} onClick={openPalette}>
          <Search className="icon" aria-hidden="true" />
        </button>
      )}
      {(total !== null || layout !== null) && resource.model.arguments === undefined && (
        <Suspense fallback={null}>
          <LayoutSwitch resource={resource} layout={layout} />
          <GroupMenu resource={resource} layout={layout} />
        </Suspense>
      )}
      {!narrow && (
        <Box
          label={t.list.columns}
          className={`btn quiet ${style.seldom}`}
          content={() => <ColumnPicker resource={resource} choices={choices} onChoices={onChoices} />}
        >
          <Columns3 className="icon" aria-hidden="true" /> <span className={style.word}>{t.list.columns}</span>
        </Box>
      )}
      {!narrow && resource.transfers.export && (
        <Menu
          label={t.list.export}
          className={`btn quiet ${style.seldom}`}
          entries={exports}
        >
          <Download className="icon" aria-hidden="true" /> <span className={style.word}>{t.list.export}</span>
        </Menu>
      )}
      <Menu label={t.list.more} name={t.list.more} className="btn quiet bare" entries={more}>
        <Ellipsis className="icon" aria-hidden="true" />
      </Menu>
      {resource.may.create && !narrow && (
        <Link to={`/${resource.name}/new`} className="btn primary">
          <Plus className="icon" aria-hidden="true" /> {t.list.newOne(resource.view.label.singular)}{" "}
          <kbd aria-hidden="true">N</kbd>
        </Link>
      )}
    </header>
  )
}
