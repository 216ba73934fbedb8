/** The user's tasks, the details of one task, and the page that begins an import. */

import { useQueryClient } from "@tanstack/react-query"
import { Upload } from "lucide-react"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { canFind } from "../../../core/domain/value/traits.ts"
import { holdsFiles } from "../field/kind.ts"
import { useReader } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { listAddress } from "../ground/last-address.ts"
import { Link } from "../ground/link.tsx"
import { go } from "../ground/location.ts"
import { useNarrow } from "../ground/narrow.ts"
import { Missing, Problem, sayProblem } from "../ground/problem.tsx"
import { useRun } from "../ground/run.ts"
import { noticeFailure } from "../ground/session.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { aboutOf, fieldLabel, type Resource } from "../model/catalogue.ts"
import { type Column, Empty, Moment, type PageProps, Table, Top } from "../place/parts.tsx"
import place from "../place/place.module.css"
import style from "./task.module.css"
import { isOver, type Plan, planTask, type Task, taskKey, uploadFile, useTask, useTasks } from "./tasks.ts"
import { Progress, StateBadge, TaskButtons } from "./view.tsx"

/** The title of a task. */
const useTitleOf = (): (task: Task) => string => {
  const w = useMessages().task
  const { catalogue } = useApp()
  return (task) => {
    const plural = catalogue.resources.get(task.resource)?.view.label.plural ?? task.resource
    return task.kind === "import" ? w.importOf(plural) : w.bulk[task.op ?? "update"](plural)
  }
}

const TaskList = (): ReactNode => {
  const w = useMessages().task
  const { format } = useLocale()
  const { now } = useReader()
  const titleOf = useTitleOf()
  const { data, error, refetch } = useTasks()
  const importable = [...useApp().catalogue.resources.values()].find(({ transfers }) => transfers.import.length > 0)
  const columns: ReadonlyArray<Column<Task>> = [
    { name: "what", label: w.what, cell: (task) => <Link to={`/-/tasks/${task.id}`}>{titleOf(task)}</Link> },
    { name: "state", label: w.state, cell: (task) => <StateBadge task={task} /> },
    {
      name: "progress",
      label: "%",
      end: true,
      wide: true,
      cell: ({ done, total }) => w.progress(format.count(done), total === null ? "…" : format.count(total))
    },
    { name: "started", label: w.started, wide: true, cell: ({ created_at }) => <Moment at={created_at} now={now} /> }
  ]
  return (
    <>
      <Top title={w.tasks} />
      {data === undefined
        ? error !== null && <Problem error={error} onRetry={() => void refetch()} />
        : data.length === 0
        ? (
          <Empty title={w.noTasks} text={w.noTasksText} guide="bulk-and-import">
            {importable !== undefined && (
              <Link className="btn primary" to={`/-/import/${importable.name}`}>
                {w.importOf(importable.view.label.plural)}
              </Link>
            )}
          </Empty>
        )
        : (
          <div className={place.list}>
            <Table label={w.tasks} rows={data} columns={columns} idOf={({ id }) => id} />
          </div>
        )}
    </>
  )
}

interface SelectProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: ReadonlyArray<readonly [value: Value, label: string]>
  readonly onChange: (value: Value) => void
  /** True for a select without a label, in cells of a table. */
  readonly bare?: boolean
}

const Select = <Value extends string>(
  { bare = false, label, onChange, options, value }: SelectProps<Value>
): ReactNode => {
  const choose = (text: string): void => {
    for (const [each] of options) if (each === text) onChange(each)
  }
  const box = (
    <span className="input">
      <select value={value} aria-label={bare ? label : undefined} onChange={({ target }) => choose(target.value)}>
        {options.map(([each, text]) => <option key={each} value={each}>{text}</option>)}
      </select>
    </span>
  )
  return bare ? box : (
    <label>
      <span className="label">{label}</span>
      {box}
    </label>
  )
}

/** The form for the mapping of columns, and for the mode of the import. */
const PlanForm = ({ resource, task }: { readonly resource: Resource; readonly task: Task }): ReactNode => {
  const w = useMessages().task
  const { format, t } = useLocale()
  const queries = useQueryClient()
  const columns = task.columns ?? []
  const { import: may } = resource.transfers
  const modes = [
    ...(may.includes("create") ? ["create"] as const : []),
    ...(may.includes("update") ? ["update"] as const : []),
    ...(may.length === 2 ? ["upsert"] as const : [])
  ]
  const [mapping, setMapping] = useState(task.plan?.mapping ?? columns.map(({ guess }) => guess))
  const [mode, setMode] = useState(task.plan?.mode ?? modes[0] ?? "create")
  const { primaryKey } = resource.model
  const whole = primaryKey.length > 1
  /** Empty: the primary key where it has several fields. */
  const [match, setMatch] = useState(() => {
    const named = task.plan?.match ?? (whole ? "" : primaryKey[0] ?? "")
    return typeof named === "string" ? named : ""
  })
  const [errors, setErrors] = useState(task.plan?.errors ?? "stop")
  const [busy, setBusy] = useState(false)
  const fields = resource.model.fields.filter((field) =>
    !holdsFiles(field) && (field.writable.create || field.writable.update || primaryKey.includes(field.name))
  )
  const finders = resource.model.fields.filter(({ filterable, kind, name }) =>
    (filterable && canFind(kind)) || (!whole && primaryKey.includes(name))
  )
  const plan: Plan = { mapping, mode, errors, ...(mode === "create" || match === "" ? {} : { match }) }
  const send = async (verb: "check" | "start"): Promise<void> => {
    setBusy(true)
    try {
      queries.setQueryData(taskKey(task.id), await planTask(task.id, verb, plan))
    } catch (error) {
      noticeFailure(error)
      sayProblem(error, t)
    } finally {
      setBusy(false)
    }
  }
  const used = mapping.some((name) => name !== null)
  return (
    <>
      <table className={style.mapping}>
        <thead>
          <tr>
            <th scope="col">{w.column}</th>
            <th scope="col" className={style.samples}>{w.sample}</th>
            <th scope="col">{w.goesTo}</th>
          </tr>
        </thead>
        <tbody>
          {columns.map(({ name, samples }, at) => (
            <tr key={at}>
              <th scope="row">
                <bdi>{name}</bdi>
              </th>
              <td className={style.samples}>
                <bdi className="cut">{samples.join(" · ")}</bdi>
              </td>
              <td>
                <Select
                  bare
                  label={`${w.goesTo}: ${name}`}
                  value={mapping[at] ?? ""}
                  options={[
                    ["", w.leaveOut],
                    ...fields.filter((field) => mapping[at] === field.name || !mapping.includes(field.name))
                      .map((field) => [field.name, fieldLabel(resource, field.name)] as const)
                  ]}
                  onChange={(field) => setMapping(mapping.with(at, field === "" ? null : field))}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className={style.choices}>
        <Select
          label={w.mode}
          value={mode}
          options={modes.map((each) => [each, w.modes[each]])}
          onChange={setMode}
        />
        {mode !== "create" && (
          <Select
            label={w.match}
            value={match}
            options={[
              ...(whole ? [["", primaryKey.map((name) => fieldLabel(resource, name)).join(" + ")] as const] : []),
              ...finders.map(({ name }) => [name, fieldLabel(resource, name)] as const)
            ]}
            onChange={setMatch}
          />
        )}
        <Select
          label={w.onError}
          value={errors}
          options={[["stop", w.errors.stop], ["skip", w.errors.skip]]}
          onChange={setErrors}
        />
      </div>
      <div className={style.buttons}>
        <button type="button" className="btn" disabled={busy || !used} onClick={() => void send("check")}>
          {w.checkAll}
        </button>
        <button type="button" className="btn primary" disabled={busy || !used} onClick={() => void send("start")}>
          {w.start(task.total ?? 0, format.count(task.total ?? 0))}
        </button>
      </div>
    </>
  )
}

const TaskPage = ({ id }: { readonly id: string }): ReactNode => {
  const w = useMessages().task
  const { catalogue } = useApp()
  const titleOf = useTitleOf()
  const queries = useQueryClient()
  const narrow = useNarrow()
  const { data: task, error, refetch } = useTask(id)
  const over = task !== undefined && isOver(task)
  useEffect(() => {
    if (over) void queries.invalidateQueries({ queryKey: ["list", task.resource] })
  }, [over])
  if (task === undefined) return error === null ? null : <Problem error={error} onRetry={() => void refetch()} />
  const resource = catalogue.resources.get(task.resource)
  if (resource === undefined) return <Missing />
  const open = task.kind === "import" && (task.state === "uploaded" || task.state === "checked")
  return (
    <>
      <Top title={titleOf(task)} {...(narrow || task.name == null ? {} : { note: task.name })}>
        <Link to="/-/tasks" className={`btn quiet ${style.wide}`}>{w.tasks}</Link>
        <Link to={listAddress(resource.name)} className="btn quiet">{w.back(resource.view.label.plural)}</Link>
      </Top>
      <div className={place.sheet}>
        {open && <PlanForm key={task.state} resource={resource} task={task} />}
        {task.state !== "uploaded" && <Progress task={task} />}
        <div className={style.buttons}>
          <TaskButtons task={task} />
          {over && task.kind === "import" && <Link to={`/-/import/${resource.name}`} className="btn">{w.another}</Link>}
        </div>
      </div>
    </>
  )
}

export const TasksPage = ({ part }: PageProps): ReactNode =>
  part === null ? <TaskList /> : <TaskPage key={part} id={part} />

/** The page that begins an import: the uploaded file becomes a task that waits. */
export const ImportPage = ({ part }: PageProps): ReactNode => {
  const w = useMessages().task
  const { t } = useLocale()
  const { catalogue } = useApp()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const input = useRef<HTMLInputElement>(null)
  const { end, run } = useRun(setError)
  const resource = part === null ? undefined : catalogue.resources.get(part)
  if (resource === undefined || resource.transfers.import.length === 0) return <Missing />
  const about = aboutOf(resource)
  const send = async (file: File | null | undefined): Promise<void> => {
    if (file == null || busy) return
    setBusy(true)
    setError(null)
    await run(async (signal) => {
      const { id } = await uploadFile(resource.name, file, signal)
      go(`/-/tasks/${id}`, { replace: true })
    })
    setBusy(false)
  }
  return (
    <>
      <Top title={w.importOf(resource.view.label.plural)}>
        <Link to="/-/tasks" className={`btn quiet ${style.wide}`}>{w.tasks}</Link>
        <Link to={listAddress(resource.name)} className="btn quiet">{w.back(resource.view.label.plural)}</Link>
      </Top>
      <div className={place.sheet}>
        <div
          className={style.drop}
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault()
            void send(event.dataTransfer.files[0])
          }}
        >
          {about !== null && <p dir="auto" className="about">{about}</p>}
          <p>{w.chooseText}</p>
          <input
            ref={input}
            type="file"
            hidden
            accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv,application/x-ndjson"
            aria-label={w.choose}
            onChange={({ target }) => {
              void send(target.files?.[0])
              target.value = ""
            }}
          />
          <button type="button" className="btn primary" disabled={busy} onClick={() => input.current?.click()}>
            <Upload className="icon" aria-hidden="true" /> {w.choose}
          </button>
          {busy && (
            <p role="status">
              <span className="spinner" aria-hidden="true" /> {w.uploading}
            </p>
          )}
        </div>
        {error !== null && <Problem error={error} onRetry={() => input.current?.click()} />}
        {busy && <button type="button" className="btn" onClick={end}>{t.shell.cancel}</button>}
      </div>
    </>
  )
}
