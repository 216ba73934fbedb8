/**
 * The files of a field that holds several. Where they are shown: small pictures in a row. Where they can be changed: a list to add to, to order and to
 * take from. Files are uploaded one after the other; the form holds the list of their tickets beside what is stored, and a save writes all of it.
 */

import { ArrowDown, ArrowUp, CloudUpload, GripVertical, X } from "lucide-react"
import { type DragEvent, type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react"
import type { FileValue } from "../../client/index.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { fieldLabel } from "../model/catalogue.ts"
import { isolated } from "../model/plain.ts"
import { Chooser, details, isAccepted, LinkForm, uploadsByTicket } from "./file-input.tsx"
import { FileLink, FileLinks, SaveLink } from "./file-links.tsx"
import { keysOf, moved, nameIn, textsOf } from "./file-list.ts"
import style from "./file.module.css"
import { fileName, fileOf, Picture } from "./file.tsx"
import type { InputProps } from "./input-props.ts"
import { acceptedNames } from "./type.ts"
import { useUploads } from "./uploads.ts"

/** The files of a value, as far as they are file objects. */
const filesOf = (value: unknown): readonly FileValue[] =>
  Array.isArray(value) ? value.flatMap((each) => fileOf(each) ?? []) : []

/** All files of a record that cannot be changed. */
export const FilesShown = (
  { onExpired, value }: { readonly value: unknown; readonly onExpired: InputProps["onExpired"] }
): ReactNode => {
  const { t } = useLocale()
  return (
    <ul className={style.shown}>
      {filesOf(value).map((file, at) => (
        <li key={`${at} ${file.uri}`}>
          <Picture file={file} size={54} onExpired={() => void onExpired?.()} />
          {file.url === undefined
            ? <bdi className="cut">{fileName(file)}</bdi>
            : (
              <FileLink className="cut" href={file.url} target="_blank" onOver={onExpired}>
                <bdi>{fileName(file)}</bdi>
              </FileLink>
            )}
          <SaveLink file={file} of={isolated(fileName(file))} onOver={onExpired} />
          {file.missing === true && <span className="badge" data-tone="bad">{t.file.missing}</span>}
        </li>
      ))}
    </ul>
  )
}

/** Stored files that this tab has shown, by uri: a draft holds texts only. */
const cache = new Map<string, FileValue>()
const mostShown = 2_000

const remember = (files: readonly FileValue[]): void => {
  for (const file of files) {
    cache.delete(file.uri)
    cache.set(file.uri, file)
  }
  for (const uri of cache.keys()) {
    if (cache.size <= mostShown) break
    cache.delete(uri)
  }
}

/** What is known of a file by its text: of one of the record's, of a ticket, of an address elsewhere. */
const fileIn = (stored: ReadonlyMap<string, FileValue>, text: string): FileValue => {
  const file = stored.get(text) ?? cache.get(text) ?? uploadsByTicket.get(text)?.file
  if (file !== undefined) return file
  if (text.startsWith("https://")) return { uri: text, name: text, url: text }
  return { uri: text, name: nameIn(text) ?? "…" }
}

/** What is focused once the list is drawn again: a part of the file at a place, or the button that adds. */
interface Focus {
  readonly at: number
  readonly part: string
}

export const FilesInput = (props: InputProps): ReactNode => {
  const { describedBy, disabled = false, field, id, invalid = false, label, onChange, onExpired, resource, value } =
    props
  const { held = value } = props
  const { format, t } = useLocale()
  const w = useMessages().files
  const { accept = null, externalUrls = false, maxFiles = 100, maxSize = Number.POSITIVE_INFINITY } = field.file ?? {}
  const [problem, setProblem] = useState<string | null>(null)
  const [over, setOver] = useState(false)
  const [linking, setLinking] = useState(false)
  const [dragged, setDragged] = useState<number | null>(null)
  const [target, setTarget] = useState<number | null>(null)
  const [said, setSaid] = useState("")
  const [discarded, setDiscarded] = useState(0)
  const box = useRef<HTMLDivElement>(null)
  const chooser = useRef<HTMLInputElement>(null)
  const focus = useRef<Focus | null>(null)
  const name = label ?? fieldLabel(resource, field.name)
  const texts = textsOf(value)
  // A draft holds texts only. The links of the record's files end, and come anew with the record.
  const stored = new Map([...filesOf(held), ...filesOf(value)].map((file) => [file.uri, file]))
  const fileFor = (text: string): FileValue => fileIn(stored, text)

  /** The list as it is now: an upload that ends goes to its end. */
  const list = useRef(texts)
  /** The lists that the form was told. A later one may be under way when it shows one of them. */
  const told = useRef(new WeakSet<readonly string[]>())
  /** Whether the form has taken over a change. A value of another's then means that the change was discarded. */
  const taken = useRef(false)
  const busy = useRef(false)
  // At once, so that no upload ends between the form's change and this.
  useLayoutEffect(() => {
    remember(filesOf(value).filter(({ url }) => url !== undefined))
    const own = Array.isArray(value) && told.current.has(value)
    if (!own) {
      list.current = textsOf(value)
      if (busy.current && taken.current) {
        busy.current = false
        setDiscarded((count) => count + 1)
      }
    }
    taken.current = own
  }, [value])
  useEffect(() => {
    const { at, part } = focus.current ?? { at: -1, part: "" }
    if (focus.current === null) return
    focus.current = null
    const element = box.current?.querySelector<HTMLElement>(`[data-at="${at}"] [data-part="${part}"]`)
    const add = box.current?.querySelector<HTMLElement>("[data-part=add]")
    ;(element ?? add)?.focus()
  })

  const put = (next: readonly string[]): void => {
    // Null elements of an array have no text: a write leaves them out.
    list.current = next.filter((text) => text !== "")
    told.current.add(list.current)
    // The form cannot be saved during an upload.
    onChange({ value: list.current, ...(busy.current ? { problem: t.file.underWay, waits: true } : { problem: null }) })
  }
  const uploads = useUploads(props, {
    discarded,
    onSent: (ticket) => put([...list.current, ticket]),
    onIdle: () => {
      busy.current = false
      put(list.current)
    }
  })

  const problemOf = (file: File): string | null =>
    file.size > maxSize
      ? t.file.tooLarge(format.bytes(maxSize))
      : isAccepted(accept, file.type)
      ? null
      : t.file.wrongType(acceptedNames(accept ?? [], t.file.types))
  const take = (files: FileList | null | undefined): void => {
    const chosen = [...files ?? []]
    if (chosen.length === 0 || disabled) return
    const room = Math.max(0, maxFiles - list.current.length - uploads.coming)
    setProblem(chosen.length > room ? w.most(maxFiles) : null)
    const added = chosen.slice(0, room)
    if (added.some((file) => problemOf(file) === null) && !busy.current) {
      busy.current = true
      put(list.current)
    }
    uploads.add(added, problemOf)
  }
  const nameOf = (text: string): string => isolated(fileName(fileFor(text)))
  const move = (from: number, to: number, part: string): void => {
    const next = moved(list.current, from, to)
    if (next === list.current) return
    focus.current = { at: to, part }
    setSaid(w.place(nameOf(next[to]!), format.count(to + 1), format.count(next.length)))
    put(next)
  }
  const remove = (at: number): void => {
    setProblem(null)
    setSaid(w.removed(nameOf(list.current[at]!)))
    focus.current = { at: Math.min(at, list.current.length - 2), part: "remove" }
    put(list.current.toSpliced(at, 1))
  }
  const onKeyDown = (event: KeyboardEvent, at: number): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step === 0 || !event.altKey || disabled) return
    event.preventDefault()
    event.stopPropagation()
    move(at, at + step, (event.target instanceof HTMLElement ? event.target.dataset["part"] : undefined) ?? "up")
  }
  const endLink = (next: string | null): void => {
    setLinking(false)
    setProblem(next)
  }
  const onDrop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    if (dragged === null) take(event.dataTransfer.files)
    else if (target !== null) move(dragged, target, "up")
    setDragged(null)
    setTarget(null)
  }
  const keys = keysOf(texts)

  return (
    <div
      ref={box}
      className={style.outer}
      role="group"
      aria-label={name}
      onDragOver={(event) => {
        if (dragged === null && !event.dataTransfer.types.includes("Files")) return
        event.preventDefault()
        setOver(dragged === null)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
      onPaste={(event) => {
        if (event.clipboardData.files.length === 0) return
        event.preventDefault()
        take(event.clipboardData.files)
      }}
    >
      {texts.length + uploads.all.length > 0 && (
        <ol className={style.items}>
          {texts.map((text, at) => {
            const file = fileFor(text)
            const sent = uploadsByTicket.get(text)
            const own = nameOf(text)
            return (
              <li
                key={keys[at]}
                data-at={at}
                data-over={target === at && dragged !== null && dragged !== at ? "" : undefined}
                draggable={!disabled}
                onDragStart={() => setDragged(at)}
                onDragEnter={() => setTarget(at)}
                onDragEnd={() => {
                  setDragged(null)
                  setTarget(null)
                }}
                onKeyDown={(event) => onKeyDown(event, at)}
              >
                {!disabled && <GripVertical className="icon" aria-hidden="true" />}
                <Picture file={file} size={54} onExpired={sent === undefined ? () => void onExpired?.() : undefined} />
                <span className="grow">
                  <b className="cut">
                    <bdi>{fileName(file)}</bdi>
                  </b>
                  <span className="dim">
                    {file.missing === true ? t.file.missingText : details(file, { format, t })}
                  </span>
                  {sent?.corrected != null && (
                    <span className="dim">{t.file.corrected(sent.corrected.from, sent.corrected.to)}</span>
                  )}
                </span>
                <span className={style.tools}>
                  <FileLinks file={file} of={own} onOver={onExpired} />
                  {!disabled && (
                    <>
                      <button
                        type="button"
                        className="btn quiet bare"
                        data-part="up"
                        aria-label={w.up(own)}
                        aria-disabled={at === 0}
                        onClick={() => move(at, at - 1, "up")}
                      >
                        <ArrowUp className="icon" aria-hidden="true" />
                      </button>
                      <button
                        type="button"
                        className="btn quiet bare"
                        data-part="down"
                        aria-label={w.down(own)}
                        aria-disabled={at === texts.length - 1}
                        onClick={() => move(at, at + 1, "down")}
                      >
                        <ArrowDown className="icon" aria-hidden="true" />
                      </button>
                      <button
                        type="button"
                        className="btn quiet bare"
                        data-part="remove"
                        aria-label={w.remove(own)}
                        onClick={() => remove(at)}
                      >
                        <X className="icon" aria-hidden="true" />
                      </button>
                    </>
                  )}
                </span>
              </li>
            )
          })}
          {uploads.all.map((upload) => (
            <li key={upload.id} data-sending={upload.problem === null ? "" : undefined}>
              {upload.share !== null && <span className="spinner" />}
              <span className="grow">
                <bdi className="cut">{upload.file.name}</bdi>
                {upload.problem !== null
                  ? <span className="hint" data-bad="" role="alert">{upload.problem}</span>
                  : upload.share === null
                  ? <span className="dim">{w.waiting}</span>
                  : (
                    <progress
                      className={style.progress}
                      max={1}
                      value={upload.share}
                      aria-label={t.file.sending(isolated(upload.file.name))}
                    />
                  )}
              </span>
              {upload.share !== null && <span className="dim num">{format.share(upload.share)}</span>}
              <button
                type="button"
                className="btn quiet bare"
                aria-label={w.remove(isolated(upload.file.name))}
                onClick={() => uploads.drop(upload.id)}
              >
                <X className="icon" aria-hidden="true" />
              </button>
            </li>
          ))}
        </ol>
      )}
      {!disabled && (
        <div
          className={style.box}
          data-over={over ? "" : undefined}
          data-invalid={invalid || problem !== null ? "" : undefined}
        >
          <CloudUpload className="icon" aria-hidden="true" />
          <span className="grow dim">
            {w.drop} {accept !== null && <small>{acceptedNames(accept, t.file.types)}</small>}
          </span>
          {externalUrls && (
            <button type="button" className="btn quiet" onClick={() => setLinking(!linking)}>{t.file.link}</button>
          )}
          <button
            type="button"
            className="btn quiet"
            id={id}
            data-part="add"
            aria-label={`${w.add}: ${name}`}
            aria-describedby={describedBy}
            onClick={() => chooser.current?.click()}
          >
            {w.add}
          </button>
          <Chooser ref={chooser} accept={accept} multiple onChoose={take} />
        </div>
      )}
      {linking && (
        <LinkForm
          onProblem={endLink}
          onLink={(url) => {
            const full = list.current.length + uploads.coming >= maxFiles
            endLink(full ? w.most(maxFiles) : null)
            if (!full && !list.current.includes(url)) put([...list.current, url])
          }}
        />
      )}
      {problem !== null && <p className="hint" data-bad="" role="alert">{problem}</p>}
      <p className="hush" aria-live="polite">{said}</p>
    </div>
  )
}
