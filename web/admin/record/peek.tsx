/**
 * A record as a panel beside its list. It shows at once what the row has, and the whole record once the walk rests. Everything about the record is that of its
 * page; this file has what stands around it: the ways to the next one, to the page and out, and the width.
 */

import { useQueryClient } from "@tanstack/react-query"
import { ChevronDown, ChevronsLeft, ChevronsRight, ChevronUp, Maximize2, X } from "lucide-react"
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react"
import { shownKeys, useShortcut } from "../ground/keys.ts"
import { Link } from "../ground/link.tsx"
import { Problem } from "../ground/problem.tsx"
import type { PeekProps } from "../list/peeking.ts"
import { useLocale } from "../messages/locale.tsx"
import { useToggle } from "../messages/preferences.ts"
import { addressOf, type Resource, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { isMissing } from "../model/outcome.ts"
import shell from "../style/frame.module.css"
import { DeleteDialog } from "./delete-dialog.tsx"
import { Fields } from "./fields.tsx"
import { RecordMarks, RecordTools } from "./head.tsx"
import { focusForm, OpenedBody, OpenedFoot, useOpened } from "./opened.tsx"
import style from "./record.module.css"
import { type Loaded, recordKey } from "./use-record.ts"
import { WidthHandle } from "./width-handle.tsx"

/** Whether an element takes text, so that Escape leaves it first. */
const isField = (element: Element | null): boolean =>
  element?.matches("input, select, textarea, [contenteditable], [role=spinbutton]") === true

const inPanel = (): boolean => document.activeElement?.closest("[data-peek]") != null

/** `begins`: an input was asked for before there is one. */
const usePanelKeys = (props: PeekProps, wide: () => void, begins: RefObject<boolean>): void => {
  const { onClose, onList, onOpen, onWalk } = props
  useShortcut("j", () => onWalk(1))
  useShortcut("k", () => onWalk(-1))
  useShortcut("e", () => void (begins.current = !focusForm()))
  useShortcut("shift+Enter", () => onOpen())
  useShortcut("alt+Enter", wide)
  useShortcut("Escape", () => {
    const field = isField(document.activeElement)
    if (field && !inPanel()) return false
    if (field) onList()
    else onClose()
    return undefined
  })
}

/** The bar of the panel: the records beside this one, the place in the list, and the ways out. */
const Bar = (
  props: PeekProps & { readonly isWide: boolean; readonly onWide: () => void }
): ReactNode => {
  const { index, isWide, keyText, last, onClose, onOpen, onWalk, onWide, resource, total } = props
  const { format, t } = useLocale()
  const Wide = isWide ? ChevronsRight : ChevronsLeft
  const button = (label: string, keys: string, icon: ReactNode, onClick: () => void, disabled = false): ReactNode => (
    <button
      type="button"
      className="btn quiet bare"
      disabled={disabled}
      aria-label={label}
      title={`${label} ${shownKeys(keys).join(" ")}`}
      onClick={onClick}
    >
      {icon}
    </button>
  )
  return (
    <header className={shell.top}>
      {button(
        t.record.previous,
        "k",
        <ChevronUp className="icon" aria-hidden="true" />,
        () => onWalk(-1),
        index === 0
      )}
      {button(t.record.next, "j", <ChevronDown className="icon" aria-hidden="true" />, () => onWalk(1), last)}
      {index >= 0 && <span className="dim num">{t.record.position(format.count(index + 1), total)}</span>}
      <span className="grow" />
      {button(
        isWide ? t.peek.narrow : t.peek.wide,
        "alt+Enter",
        <Wide className="icon" data-flips="" aria-hidden="true" />,
        onWide
      )}
      <Link
        to={addressOf(resource, keyText)}
        className="btn quiet bare"
        aria-label={t.peek.full}
        title={`${t.peek.full} ${shownKeys("shift+Enter").join(" ")}`}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
          event.preventDefault()
          onOpen()
        }}
      >
        <Maximize2 className="icon" aria-hidden="true" />
      </Link>
      {button(t.peek.close, "Escape", <X className="icon" aria-hidden="true" />, onClose)}
    </header>
  )
}

interface PartProps extends PeekProps {
  /** How far the panel is scrolled. The record takes it over from what was shown before it. */
  readonly scrolled: RefObject<number>
}

/** The part that scrolls. */
const Scroll = ({ children, scrolled }: Pick<PartProps, "scrolled"> & { readonly children: ReactNode }): ReactNode => (
  <div
    className={style.panelScroll}
    ref={(element) => {
      if (element !== null) element.scrollTop = scrolled.current
    }}
    onScroll={(event) => void (scrolled.current = event.currentTarget.scrollTop)}
  >
    {children}
  </div>
)

const useTitleOf = (resource: Resource, record: AnyRecord | undefined): string =>
  record === undefined ? resource.view.label.singular : titleOf(resource, record)

/** The record as far as it is known without reading it. */
const Glance = ({ keyText, resource, row, scrolled }: PartProps): ReactNode => {
  const read = useQueryClient().getQueryData<Loaded>(recordKey(resource, keyText))
  const record = read === undefined ? row : read.record
  const title = useTitleOf(resource, record)
  const may = resource.may.update && record?.permissions?.update !== false
  return (
    <Scroll scrolled={scrolled}>
      <div className={style.panelHead}>
        <h2 className="cut">
          <bdi>{title}</bdi>
        </h2>
        {record !== undefined && <RecordMarks resource={resource} record={record} title={title} deleted={false} />}
      </div>
      <div className={style.record}>
        <div className={style.body} aria-busy="true">
          <Fields
            partial
            resource={resource}
            record={record ?? {}}
            drafts={{}}
            problems={{}}
            writable={({ name, writable }) =>
              may && writable.update && (record?.permissions?.fields?.[name] ?? "edit") === "edit"}
            onChange={() => {}}
          />
        </div>
      </div>
    </Scroll>
  )
}

/** The whole record. It is read as soon as this is drawn, and no more once it is not. */
const Whole = (props: PartProps & { readonly begins: RefObject<boolean> }): ReactNode => {
  const { begins, keyText, onChanged, onClose, onRecord, resource, savedAt, scrolled } = props
  const { t } = useLocale()
  const of = useOpened(resource, keyText)
  const [deleting, setDeleting] = useState(false)
  const { edit, title } = of
  const { base: record, error, loaded } = edit
  const etag = loaded?.record.etag
  const there = record !== undefined
  useEffect(() => {
    if (loaded !== undefined && !loaded.deleted) onRecord(loaded.record)
  }, [etag])
  useEffect(() => {
    if (there && begins.current) begins.current = !focusForm()
  }, [there, begins])
  const saved = useRef(savedAt)
  useEffect(() => {
    if (saved.current === savedAt) return
    saved.current = savedAt
    void edit.reload()
  }, [savedAt])
  if (record === undefined) {
    return error === null
      ? <Glance {...props} />
      : isMissing(error)
      ? (
        <div className={style.panelHead}>
          <div className="note grow" role="status">{t.missing.record}</div>
        </div>
      )
      : <Problem error={error} onRetry={() => void edit.reload()} />
  }
  return (
    <>
      <Scroll scrolled={scrolled}>
        <div className={style.panelHead}>
          <h2 className="cut">
            <bdi>{title}</bdi>
          </h2>
          <RecordMarks resource={resource} record={record} title={title} deleted={of.deleted} />
          <span className="grow" />
          <RecordTools of={of} record={record} onDelete={of.mayDelete ? () => setDeleting(true) : null} />
        </div>
        <OpenedBody of={of} place="beside" record={record} />
      </Scroll>
      <OpenedFoot of={of} />
      {deleting && (
        <DeleteDialog
          resource={resource}
          record={record}
          keyText={keyText}
          onClose={() => setDeleting(false)}
          onDeleted={() => {
            onChanged()
            onClose()
          }}
          onBroughtBack={onChanged}
        />
      )}
    </>
  )
}

/** Says that the panel has opened, and of what. What is walked on to is read out by the list, which has the focus. */
const Opened = ({ title }: { readonly title: string }): ReactNode => {
  const { t } = useLocale()
  const [said, setSaid] = useState("")
  useEffect(() => setSaid(t.peek.opened(title)), [])
  return <p className="hush" role="status">{said}</p>
}

export const Peek = (props: PeekProps): ReactNode => {
  const { keyText, resource, rests, row } = props
  const [isWide, toggleWide] = useToggle("peek:wide")
  const begins = useRef(false)
  const scrolled = useRef(0)
  const read = useQueryClient().getQueryData<Loaded>(recordKey(resource, keyText))
  const title = useTitleOf(resource, row ?? read?.record)
  usePanelKeys(props, toggleWide, begins)
  return (
    <aside className={style.panel} aria-label={title}>
      {!isWide && <WidthHandle />}
      <Opened title={title} />
      <Bar {...props} isWide={isWide} onWide={toggleWide} />
      {rests
        ? <Whole key={keyText} {...props} begins={begins} scrolled={scrolled} />
        : <Glance {...props} scrolled={scrolled} />}
    </aside>
  )
}
