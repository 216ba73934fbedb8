/** The fields of a form in their groups: label, input or value, earlier value, and problem. It has no state. */

import { ExternalLink } from "lucide-react"
import { type ReactNode, useId } from "react"
import type { MetaField } from "../../client/index.ts"
import { FilesShown } from "../field/files.tsx"
import { Input } from "../field/input.tsx"
import { holdsFiles, isLong, relationOf } from "../field/kind.ts"
import type { Draft } from "../field/parse.ts"
import { textOf } from "../field/text.ts"
import { ArrayShown, useReader, Value } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Link } from "../ground/link.tsx"
import { useMessages } from "../messages/locale.tsx"
import { addressOf, expandedOf, fieldHelp, fieldLabel, keyOf, type Resource } from "../model/catalogue.ts"
import { isolated, plain, short } from "../model/plain.ts"
import type { Drafts, FormValues } from "./draft.ts"
import style from "./record.module.css"

export interface FieldsProps {
  readonly resource: Resource
  /** The record, or the initial values of a new one. */
  readonly record: FormValues
  readonly drafts: Drafts
  readonly problems: { readonly [field: string]: string }
  /** Whether a field has an input. Otherwise its value is shown, or it is left out of a new record. */
  readonly writable: (field: MetaField) => boolean
  /** True for a new record: fields that cannot be written are left out, and there are no earlier values. */
  readonly fresh?: boolean
  /** True if nothing of the record may be changed. The page says so once, and the fields do not repeat it. */
  readonly locked?: boolean
  /** True while only some values are there: nothing takes input yet, and what has no value has its room. */
  readonly partial?: boolean
  readonly onChange: (field: string, draft: Draft) => void
  /** Called when the link of a file has expired, so that the record is read again. */
  readonly onExpired?: () => Promise<void>
}

/** Whether a field takes the whole width. */
const isWide = (field: MetaField): boolean =>
  holdsFiles(field) || field.kind === "array" || isLong(field) || (field.kind === "range" && field.of === "timestamp")

/** The name of the field whose value the page's head shows: a key of one part that nobody changes, and that points at nothing. */
export const keyInHead = ({ fields, model }: Resource): string | null => {
  const [name, ...more] = model.primaryKey
  const field = name === undefined || more.length > 0 ? undefined : fields.get(name)
  return field === undefined || field.writable.update || field.relation !== undefined ? null : field.name
}

/** The groups of the view. Fields without a group come last. */
const groupsOf = (
  { model, view }: Resource
): readonly { readonly label: string | null; readonly fields: readonly string[] }[] => {
  const placed = new Set(view.layout.flatMap(({ fields }) => fields))
  const rest = model.fields.map(({ name }) => name).filter((name) => !placed.has(name))
  return rest.length === 0 ? view.layout : [...view.layout, { label: null, fields: rest }]
}

const RelatedLink = (
  { field, record, resource }: { readonly resource: Resource; readonly field: MetaField; readonly record: FormValues }
) => {
  const { catalogue } = useApp()
  const target = field.relation === undefined ? undefined : catalogue.resources.get(field.relation)
  const relation = relationOf(resource, field)
  const related = relation === undefined ? null : expandedOf(record, relation.name)
  if (target === undefined || related === null) return null
  const key = keyOf(target, related)
  return key === null ?
    null :
    (
      <Link className={style.jump!} to={addressOf(target, key)} aria-label={target.view.label.singular}>
        <ExternalLink className="icon" aria-hidden="true" />
      </Link>
    )
}

/** A value as text. */
const Shown = ({ field, onExpired, record, resource }: FieldsProps & { readonly field: MetaField }): ReactNode => {
  const t = useMessages()
  const value = record[field.name]
  return value === null || value === undefined
    ? <span className="dim">{t.field.empty}</span>
    : field.kind === "files"
    ? <FilesShown value={value} onExpired={onExpired} />
    : field.kind === "array"
    ? <ArrayShown resource={resource} field={field} value={value} />
    : isWide(field) && field.kind !== "file"
    ? <bdi>{field.kind === "json" ? JSON.stringify(value, null, 2) : plain(value)}</bdi>
    : <Value resource={resource} field={field} value={value} record={record} />
}

/** A value before its input is there, in the same place. */
const Waiting = (props: FieldsProps & { readonly field: MetaField }): ReactNode => {
  const { field, record, writable } = props
  return (
    <div className={writable(field) ? "input" : style.text}>
      {record[field.name] === undefined
        ? <i className={`skeleton late ${style.stub}`} />
        : (
          <span className={isWide(field) ? style.whole : "cut grow"}>
            <Shown {...props} />
          </span>
        )}
    </div>
  )
}

const Field = (props: FieldsProps & { readonly field: MetaField }): ReactNode => {
  const { drafts, field, fresh = false, locked = false, onChange, onExpired, partial = false, problems, record } = props
  const { resource, writable } = props
  const t = useMessages()
  const reader = useReader()
  const id = useId()
  const { name } = field
  const changed = name in drafts
  const problem = problems[name]
  const edits = writable(field)
  const was = !fresh && changed ? textOf(resource, field, record[name], reader) : ""
  const draft = drafts[name]
  // A file on its way is said in a calm voice.
  const hint = problem ?? (draft?.waits === true ? draft.problem : null) ??
    (!fresh && changed
      ? t.record.was(was === "" ? t.field.empty : isolated(short(was, 120)))
      : fresh && field.default !== undefined && "db" in field.default
      ? t.record.dbDefault
      : !edits && !fresh && !locked && field.writable.update
      ? t.record.mayNot
      : edits
      ? fieldHelp(field)
      : null)
  const label = (
    <>
      {fieldLabel(resource, name)}
      {edits && field.optional && <em>{` ${t.field.optional}`}</em>}
    </>
  )
  return (
    <div className={isWide(field) ? style.wide : undefined} data-field={name}>
      {edits && !partial
        ? <label className="label" htmlFor={id}>{label}</label>
        : <span className="label" id={id}>{label}</span>}
      <div className={style.box} data-changed={changed && !fresh ? "" : undefined}>
        {partial ? <Waiting {...props} /> : edits
          ? (
            <>
              <Input
                id={id}
                resource={resource}
                field={field}
                value={changed ? drafts[name]!.value : record[name]}
                held={record[name]}
                typed={drafts[name]?.text}
                label={holdsFiles(field) ? fieldLabel(resource, name) : undefined}
                invalid={problem !== undefined}
                describedBy={hint === null ? undefined : `${id}-hint`}
                onChange={(draft) => onChange(name, draft)}
                {...(onExpired === undefined ? {} : { onExpired })}
              />
              {!changed && field.relation !== undefined && (
                <RelatedLink resource={resource} field={field} record={record} />
              )}
            </>
          )
          : (
            <div className={style.text} data-read-only="" role="group" aria-labelledby={id}>
              <span className={isWide(field) ? style.whole : "cut grow"}>
                <Shown {...props} />
              </span>
            </div>
          )}
      </div>
      {hint !== null && (
        <p className="hint" id={`${id}-hint`} data-bad={problem === undefined ? undefined : ""}>{hint}</p>
      )}
    </div>
  )
}

/** The fields in their groups. `children` are rows of related records: they stand before the first group with a long text, but after one group at least. */
export const Fields = ({ children, ...props }: FieldsProps & { readonly children?: ReactNode }): ReactNode => {
  const { fresh = false, resource, writable } = props
  const head = fresh ? null : keyInHead(resource)
  const groups = groupsOf(resource).flatMap(({ fields, label }) => {
    const visible = fields.flatMap((name) => {
      const field = resource.fields.get(name)
      // When it was deleted is of interest once it was.
      const isLive = resource.model.softDelete && name === "deleted_at" && props.record[name] == null
      return field === undefined || isLive || name === head || (fresh && !writable(field)) ? [] : [field]
    })
    return visible.length === 0 ? [] : [{ label, visible }]
  })
  const long = groups.findIndex(({ visible }, at) => at > 0 && visible.some(isLong))
  const before = long === -1 ? groups.length : long
  const draw = (from: number, to: number): ReactNode =>
    groups.slice(from, to).map(({ label, visible }) => (
      <section key={label ?? ""} className={style.group} aria-label={label ?? undefined}>
        {label !== null && <h2>{label}</h2>}
        <div className={style.fields}>
          {visible.map((field) => <Field key={field.name} {...props} field={field} />)}
        </div>
      </section>
    ))
  return (
    <>
      {draw(0, before)}
      {children}
      {draw(before, groups.length)}
    </>
  )
}

/** Moves to the first field, or cell of a row, with a problem. Cells are named as in `rowProblems`. */
export const focusProblem = (problems: { readonly [place: string]: string }): void => {
  for (const box of document.querySelectorAll<HTMLElement>("[data-field], [data-cell]")) {
    const { cell, field } = box.dataset
    if (!((field ?? cell)! in problems)) continue
    const inner = box.querySelector<HTMLElement>("input, select, textarea, button")
    ;(inner ?? box).focus()
    box.scrollIntoView({ block: "center" })
    return
  }
}
