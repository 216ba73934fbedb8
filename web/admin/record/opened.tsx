/**
 * A record as it is read and edited: its fields, related records, history, news and the bar that saves. The page of a record and the panel beside a list put
 * it where they want it, and say what stands around it.
 */

import { lazy, type ReactNode, Suspense, useRef } from "react"
import type { MetaField } from "../../client/index.ts"
import { linksFor } from "../action/link.ts"
import { RecordLinks } from "../action/links.tsx"
import { useShortcut } from "../ground/keys.ts"
import { go } from "../ground/location.ts"
import { useVersions } from "../ground/makers.ts"
import { Problem } from "../ground/problem.tsx"
import { say } from "../ground/toasts.tsx"
import { MergeDialog } from "../merge/merge-dialog.tsx"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { isMissing } from "../model/outcome.ts"
import { isolated } from "../model/plain.ts"
import { keepTemplate } from "./create.tsx"
import { Fields, focusProblem } from "./fields.tsx"
import { History } from "./history.tsx"
import { LeaveGuard } from "./leaving.tsx"
import style from "./record.module.css"
import { RelatedCount, RelatedRows, splitRelations, useManyRelations } from "./related.tsx"
import { SaveBar } from "./save-bar.tsx"
import { type RecordEdit, useRecordEdit } from "./use-record.ts"

/** The most relations that follow changes by others. Each watches with a connection of its own, as the list does, and a browser has six to a host. */
const mostFollowed = { page: 2, beside: 1 }

const LiveRecord = lazy(() => import("./live.tsx").then(({ LiveRecord }) => ({ default: LiveRecord })))

const useBringBack = (edit: RecordEdit, title: string): () => Promise<void> => {
  const { t } = useLocale()
  return async () => {
    if (await edit.bringBack()) say(t.record.broughtBack(isolated(title)))
  }
}

/** Notes above the fields, about the record as it was found: it is deleted or locked, or a draft was found. */
const StateNotes = (
  { deleted, edit, locked, resource, title }: Pick<NotesProps, "deleted" | "edit" | "resource" | "title"> & {
    readonly locked: boolean
  }
): ReactNode => {
  const { t } = useLocale()
  const bringBack = useBringBack(edit, title)
  return (
    <>
      {deleted && (
        <div className={`note ${style.notes}`}>
          <span className="grow">{t.record.deletedNote}</span>
          {resource.may.update && (
            <button type="button" className="btn" onClick={() => void bringBack()}>{t.record.undelete}</button>
          )}
        </div>
      )}
      {locked && !deleted && <div className={`note ${style.notes}`} data-tone="info">{t.record.locked}</div>}
      {edit.restored && (
        <div className={`note ${style.notes}`} data-tone="info" role="status">{t.record.draftFound}</div>
      )}
    </>
  )
}

interface NotesProps {
  readonly resource: Resource
  readonly edit: RecordEdit
  readonly keyText: string
  readonly title: string
  readonly deleted: boolean
  readonly gone: boolean
  readonly onDuplicate: () => void
}

/** What comes while somebody works: others changed or deleted the record, a save was refused. It stands below the form, so that nothing moves under the hands. */
const News = ({ edit, gone, keyText, onDuplicate, resource, title }: Omit<NotesProps, "deleted">): ReactNode => {
  const { t } = useLocale()
  const bringBack = useBringBack(edit, title)
  const typed = edit.count > 0
  return (
    <div className={style.news}>
      {gone && (
        <div className={`note ${style.notes}`} data-tone="bad" role="alert">
          <span className="grow">
            <b>{t.record.goneTitle}</b> {typed && t.record.goneText}
          </span>
          {edit.loaded?.deleted === true && resource.may.update && (
            <button
              type="button"
              className="btn"
              onClick={() => void bringBack()}
            >
              {t.record.undelete}
            </button>
          )}
          {typed && resource.may.create && (
            <button type="button" className="btn" onClick={onDuplicate}>{t.record.createFromIt}</button>
          )}
        </div>
      )}
      {(resource.model.events?.length ?? 0) > 0 && resource.may.read && (
        <Suspense fallback={null}>
          <LiveRecord resource={resource} keyText={keyText} edit={edit} gone={gone} />
        </Suspense>
      )}
      {edit.refusal !== null && <Problem error={edit.refusal} />}
    </div>
  )
}

/** The bar that saves, the guard on leaving, and the merge after somebody else has saved. */
const Saving = (
  { edit, gone, onSave, resource }: {
    readonly edit: RecordEdit
    readonly gone: boolean
    readonly onSave: () => void
    readonly resource: Resource
  }
): ReactNode => {
  const { format, t } = useLocale()
  return (
    <>
      {edit.count > 0 && (
        <SaveBar
          text={
            <>
              <b>{t.record.changes(edit.count, format.count(edit.count))}</b>{" "}
              <span className="dim">
                {Object.keys(edit.drafts).map((name) => fieldLabel(resource, name)).join(", ")}
              </span>
              {" "}
            </>
          }
          problems={Object.keys({ ...edit.problems, ...edit.rowProblems }).length}
          saving={edit.saving}
          waits={edit.waits}
          label={t.record.save}
          discardLabel={t.record.discard}
          onSave={onSave}
          onDiscard={edit.discard}
        />
      )}
      <LeaveGuard dirty={edit.count > 0 && !gone} />
      {edit.conflict !== null && (
        <MergeDialog
          resource={resource}
          conflict={edit.conflict}
          onBack={() => edit.endConflict(null)}
          onDiscard={edit.discard}
          onSave={(changes, base) => void edit.save({ changes, base })}
        />
      )}
    </>
  )
}

/** The form of the record, with the rows of related records that are edited in it. */
const Body = (
  { children, edit, keyText, mayUpdate, place, record, relations, resource }: {
    readonly edit: RecordEdit
    readonly keyText: string
    readonly mayUpdate: boolean
    readonly place: keyof typeof mostFollowed
    readonly record: AnyRecord
    readonly relations: ReturnType<typeof splitRelations>
    readonly resource: Resource
    readonly children: ReactNode
  }
): ReactNode => {
  const asked = useRef<Promise<unknown> | null>(null)
  // A picture fails once for each address, so reads of a file that no longer exists end. Several pictures ask for one read.
  const expired = async (): Promise<void> => {
    await (asked.current ??= edit.reload().finally(() => asked.current = null))
  }
  const writable = (field: MetaField): boolean =>
    mayUpdate && field.writable.update && (record.permissions?.fields?.[field.name] ?? "edit") === "edit"
  const followed = relations.inline.filter(({ target }) => (target.model.events?.length ?? 0) > 0)
    .slice(0, mostFollowed[place])
  return (
    <div className={style.body}>
      {children}
      <Fields
        resource={resource}
        record={record}
        drafts={edit.drafts}
        problems={edit.problems}
        writable={writable}
        onChange={edit.change}
        onExpired={expired}
        locked={!mayUpdate}
      >
        {relations.inline.map((of) => (
          <RelatedRows
            key={of.relation.name}
            live={followed.includes(of)}
            of={of}
            owner={[resource.name, keyText]}
            rows={edit.rows}
            problems={edit.rowProblems}
            editable={mayUpdate}
            onRows={edit.setRows}
          />
        ))}
      </Fields>
    </div>
  )
}

/** A record and what the caller may do with it. */
export interface Opened {
  readonly resource: Resource
  readonly keyText: string
  readonly edit: RecordEdit
  readonly title: string
  readonly relations: ReturnType<typeof splitRelations>
  readonly versions: Resource | undefined
  /** It is shown as a deleted one. */
  readonly deleted: boolean
  /** Somebody deleted it meanwhile: typed values stay in the form. */
  readonly gone: boolean
  readonly mayUpdate: boolean
  readonly mayDelete: boolean
  readonly save: () => void
  /** Opens the form for a record with the same values. */
  readonly duplicate: () => void
}

export const useOpened = (resource: Resource, keyText: string): Opened => {
  const edit = useRecordEdit(resource, keyText)
  const versions = useVersions(resource)
  const { base: record, loaded } = edit
  const relations = splitRelations(useManyRelations(resource, record ?? null))
  const removed = loaded?.deleted === true
  const gone = edit.gone || (removed && edit.count > 0) || isMissing(edit.error)
  const deleted = removed && !gone
  const save = async (): Promise<void> => {
    if (!await edit.save()) focusProblem({ ...edit.problems, ...edit.rowProblems })
  }
  useShortcut("mod+s", () => void save(), edit.count > 0)
  return {
    resource,
    keyText,
    edit,
    title: record === undefined ? "" : titleOf(resource, record),
    relations,
    versions,
    deleted,
    gone,
    mayUpdate: resource.may.update && !deleted && record?.permissions?.update !== false,
    mayDelete: resource.may.delete && !deleted && record?.permissions?.delete !== false,
    save: () => void save(),
    duplicate: () => {
      if (record === undefined) return
      keepTemplate(resource, { ...record, ...edit.changes })
      go(`/${resource.name}/new?from=${encodeURIComponent(keyText)}`)
    }
  }
}

/** Moves the focus to the first input of the form. False if there is none. */
export const focusForm = (): boolean => {
  const first = document.querySelector<HTMLElement>(`.${style.body} :is(input, select, textarea)`)
  first?.focus()
  return first !== null
}

/** The form, and what stands around the record: beside it, or below it in a panel. */
export const OpenedBody = (
  { of, place, record }: {
    readonly of: Opened
    readonly place: keyof typeof mostFollowed
    readonly record: AnyRecord
  }
): ReactNode => {
  const { t } = useLocale()
  const { deleted, edit, keyText, mayUpdate, relations, resource, title, versions } = of
  const { links } = resource.view
  const aside = relations.counted.length > 0 || versions !== undefined || linksFor(links, record).length > 0
  // A landmark of its own only where it stands beside.
  const Aside = place === "page" ? "aside" : "div"
  return (
    <div className={style.record} data-aside={aside ? "" : undefined}>
      <Body
        edit={edit}
        keyText={keyText}
        mayUpdate={mayUpdate}
        place={place}
        record={record}
        relations={relations}
        resource={resource}
      >
        <StateNotes
          resource={resource}
          edit={edit}
          title={title}
          deleted={deleted}
          locked={resource.may.update && record.permissions?.update === false}
        />
      </Body>
      {aside && (
        <Aside className={style.aside}>
          <RecordLinks links={links} record={record} />
          {relations.counted.length > 0 && (
            <section>
              <h2>{t.record.related}</h2>
              {relations.counted.map((each) => (
                <RelatedCount key={each.relation.name} of={each} owner={[resource.name, keyText]} />
              ))}
            </section>
          )}
          {versions !== undefined && (
            <section>
              <h2>{t.record.history}</h2>
              <History
                resource={resource}
                versions={versions}
                keyText={keyText}
                record={edit.loaded?.record ?? record}
              />
            </section>
          )}
        </Aside>
      )}
    </div>
  )
}

/** What stands below the form: news, and the bar that saves. */
export const OpenedFoot = ({ of }: { readonly of: Opened }): ReactNode => (
  <>
    <News
      resource={of.resource}
      edit={of.edit}
      keyText={of.keyText}
      title={of.title}
      gone={of.gone}
      onDuplicate={of.duplicate}
    />
    <Saving edit={of.edit} gone={of.gone} onSave={of.save} resource={of.resource} />
  </>
)
