/** The top of a list: what it is and how many, columns, export, and what else can be done with the list as a whole. */

import { Columns3, Download, Ellipsis, Plus } from "lucide-react"
import { lazy, type ReactNode, Suspense } from "react"
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components"
import { useLocale } from "../messages/locale.tsx"
import type { Resource } from "../shell/catalogue.ts"
import { Link } from "../shell/link.tsx"
import { currentPlace, setQuery } from "../shell/location.ts"
import { useNarrow } from "../shell/narrow.ts"
import { Item, Line, Menu } from "../shell/parts.tsx"
import { setPreferences } from "../shell/preferences.ts"
import { sayProblem } from "../shell/problem.tsx"
import shell from "../shell/shell.module.css"
import style from "./list.module.css"
import type { Reorder } from "./reorder.tsx"
import type { Rows } from "./rows.ts"
import type { Choice } from "./state.ts"
import { totalText } from "./total.ts"

const ColumnPicker = lazy(() => import("./column-picker.tsx").then(({ ColumnPicker }) => ({ default: ColumnPicker })))

interface HeaderProps {
  readonly resource: Resource
  readonly rows: Rows
  readonly filter: string
  readonly deleted: boolean
  readonly order: string
  readonly choices: readonly Choice[]
  readonly onChoices: (choices: readonly Choice[] | null) => void
  readonly reorder: Reorder
}

export const ListHeader = (props: HeaderProps): ReactNode => {
  const { choices, deleted, filter, onChoices, order, reorder, resource, rows } = props
  const { format, t } = useLocale()
  const narrow = useNarrow()
  const { total } = rows
  const runExport = (as: "csv" | "json"): void => {
    const fields = choices.map(({ field }) => field)
    import("./export.ts").then(
      ({ exportRows }) => exportRows({ resource, as, filter, order, deleted, fields, t, format }),
      (error: unknown) => sayProblem(error, t)
    )
  }
  return (
    <header className={shell.top}>
      <div className={`${style.name} grow`}>
        <h1>{resource.view.label.plural}</h1>
        {total !== null && (
          <span className={`dim ${style.total}`} role="status">
            {total.accuracy === "exact"
              ? totalText(total, t, format)
              : (
                <button type="button" title={t.list.countExactly} onClick={rows.countExactly}>
                  {totalText(total, t, format)}
                </button>
              )}
          </span>
        )}
      </div>
      {!narrow && (
        <DialogTrigger>
          <Button className="btn quiet">
            <Columns3 className="icon" aria-hidden="true" /> {t.list.columns}
          </Button>
          <Popover className="float" placement="bottom end" offset={4}>
            <Dialog aria-label={t.list.columns}>
              <Suspense fallback={null}>
                <ColumnPicker resource={resource} choices={choices} onChoices={onChoices} />
              </Suspense>
            </Dialog>
          </Popover>
        </DialogTrigger>
      )}
      {!narrow && (
        <Menu
          label={t.list.export}
          trigger={
            <Button className="btn quiet">
              <Download className="icon" aria-hidden="true" /> {t.list.export}
            </Button>
          }
        >
          <Item onAction={() => runExport("csv")}>{t.list.exportAs.csv}</Item>
          <Item onAction={() => runExport("json")}>{t.list.exportAs.json}</Item>
        </Menu>
      )}
      <Menu
        label={t.list.more}
        trigger={
          <Button className="btn quiet bare" aria-label={t.list.more}>
            <Ellipsis className="icon" aria-hidden="true" />
          </Button>
        }
      >
        <Item onAction={rows.reload}>{t.list.reload}</Item>
        <Item onAction={rows.countExactly} isDisabled={total === null || total.accuracy === "exact"}>
          {t.list.countExactly}
        </Item>
        {resource.model.softDelete && (
          <Item onAction={() => setQuery({ deleted: deleted ? null : "true" }, { replace: false })}>
            {deleted ? t.list.hideDeleted : t.list.showDeleted}
          </Item>
        )}
        {reorder.field !== null && <Item onAction={reorder.begin}>{t.list.reorder}</Item>}
        <Line />
        <Item
          onAction={() =>
            setPreferences({ start: currentPlace().path + (location.search === "" ? "" : location.search) })}
        >
          {t.shell.startHere}
        </Item>
      </Menu>
      {resource.may.create && !narrow && (
        <Link to={`/${resource.name}/new`} className="btn primary">
          <Plus className="icon" aria-hidden="true" /> {t.list.newOne(resource.view.label.singular.toLowerCase())}{" "}
          <kbd aria-hidden="true">N</kbd>
        </Link>
      )}
    </header>
  )
}
