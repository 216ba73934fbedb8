/**
 * The file of a record where it can be changed: an area to drop, paste or choose a file. A file is uploaded at once. The form then holds its ticket, and a save
 * writes that ticket.
 */

import { CloudUpload, X } from "lucide-react"
import { type ClipboardEvent, type DragEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from "react"
import type { FileValue, Uploaded } from "../../client/index.ts"
import { problemText } from "../ground/problem.tsx"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel } from "../model/catalogue.ts"
import { client } from "../model/client.ts"
import { isolated } from "../model/plain.ts"
import { FileLinks } from "./file-links.tsx"
import style from "./file.module.css"
import { fileName, fileOf, isImage, Picture } from "./file.tsx"
import type { InputProps } from "./input-props.ts"
import { acceptedNames, typeName } from "./type.ts"

/** Whether a type passes `accept`. True for a type that the browser does not know: the service decides then. */
export const isAccepted = (accept: readonly string[] | null, type: string): boolean =>
  accept === null || type === "" ||
  accept.some((each) =>
    each === "*/*" || each === type ||
    (each.endsWith("/*") && type.startsWith(each.slice(0, -1)) && type !== "image/svg+xml")
  )

interface Sending {
  readonly file: File
  readonly share: number
  readonly abort: AbortController
}

export interface Sent {
  readonly ticket: string
  readonly file: FileValue
  readonly corrected: { readonly from: string; readonly to: string } | null
}

/** Files uploaded from this tab, by ticket. A form that is mounted again still shows them. */
export const uploadsByTicket = new Map<string, Sent>()

export const details = (
  file: FileValue,
  { format, t }: Pick<ReturnType<typeof useLocale>, "format" | "t">
): string =>
  [
    file.type === undefined ? null : typeName(file.type, t.file.types),
    file.size === undefined ? null : format.bytes(file.size)
  ].filter((each) => each !== null && each !== "").join(" · ")

/** The file of a ticket, as it is shown until a record has it. */
export const keepSent = (uploaded: Uploaded, chosen: File): void => {
  uploadsByTicket.set(uploaded.value, {
    ticket: uploaded.value,
    file: {
      uri: "",
      ...uploaded.file,
      ...(isImage(uploaded.file.type) ? { url: URL.createObjectURL(chosen) } : {})
    },
    corrected: uploaded.corrected ?? null
  })
}

interface ChooserProps {
  readonly ref: RefObject<HTMLInputElement | null>
  /** Types that the dialog offers; null: all. */
  readonly accept: readonly string[] | null
  readonly multiple?: boolean
  readonly onChoose: (files: FileList | null) => void
}

/** What opens the browser's dialog for files. It is not seen: a button clicks it. The same file can be chosen again. */
export const Chooser = ({ accept, multiple = false, onChoose, ref }: ChooserProps): ReactNode => (
  <input
    ref={ref}
    type="file"
    multiple={multiple}
    hidden
    tabIndex={-1}
    accept={accept?.join(",")}
    onChange={({ target }) => {
      onChoose(target.files)
      target.value = ""
    }}
  />
)

/** The line for the address of a file elsewhere. */
export const LinkForm = (
  { onLink, onProblem }: { readonly onLink: (url: string) => void; readonly onProblem: (problem: string) => void }
): ReactNode => {
  const { t } = useLocale()
  const [link, setLink] = useState("")
  return (
    <form
      className={style.link}
      onSubmit={(event) => {
        event.preventDefault()
        const url = link.trim()
        if (/^https:\/\/[^\s/@]+(?:\/\S*)?$/.test(url)) onLink(url)
        else onProblem(t.file.notLink)
      }}
    >
      <div className="input">
        <input
          type="url"
          autoFocus
          aria-label={t.file.link}
          placeholder="https://"
          value={link}
          onChange={({ target }) => setLink(target.value)}
        />
      </div>
      <button type="submit" className="btn">{t.file.useLink}</button>
    </form>
  )
}

export const FileInput = (props: InputProps): ReactNode => {
  const { describedBy, disabled = false, field, id, invalid = false, label, onChange, onExpired, resource, value } =
    props
  const { format, t } = useLocale()
  const { accept = null, externalUrls = false, maxSize = Number.POSITIVE_INFINITY } = field.file ?? {}
  const [sending, setSending] = useState<Sending | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [over, setOver] = useState(false)
  const [linking, setLinking] = useState(false)
  const chooser = useRef<HTMLInputElement>(null)
  const name = label ?? fieldLabel(resource, field.name)
  /** The upload under way, and the value before it. */
  const running = useRef<{ readonly abort: AbortController; readonly before: unknown } | null>(null)
  useEffect(() => () => running.current?.abort.abort(), [])
  /** Whether the form has taken over that a file is under way. */
  const awaited = useRef(false)
  useEffect(() => {
    const discarded = sending !== null && awaited.current && value !== undefined
    awaited.current = sending !== null && value === undefined
    if (!discarded) return
    running.current = null
    sending.abort.abort()
    setSending(null)
  }, [sending, value])

  const sent = typeof value === "string" ? uploadsByTicket.get(value) ?? null : null
  const external: FileValue | null = typeof value === "string" && value.startsWith("https://")
    ? { uri: value, name: value, url: value }
    : null
  const file = fileOf(value) ?? sent?.file ?? external

  const send = async (chosen: File): Promise<void> => {
    setProblem(null)
    if (chosen.size > maxSize) return setProblem(t.file.tooLarge(format.bytes(maxSize)))
    if (!isAccepted(accept, chosen.type)) return setProblem(t.file.wrongType(acceptedNames(accept ?? [], t.file.types)))
    const abort = new AbortController()
    const before = running.current === null ? value : running.current.before
    running.current?.abort.abort()
    running.current = { abort, before }
    /** False once another file has taken the place of this one, or the change was discarded. */
    const counts = (): boolean => running.current?.abort === abort
    setSending({ file: chosen, share: 0, abort })
    // The form cannot be saved during an upload.
    onChange({ value: undefined, problem: t.file.underWay, waits: true })
    try {
      const uploaded = await client.upload(resource.name, field.name, chosen, {
        signal: abort.signal,
        onProgress: ({ loaded, total }) =>
          setSending((now) =>
            now === null ? null : { ...now, share: total === null || total === 0 ? 0 : loaded / total }
          )
      })
      if (!counts()) return
      keepSent(uploaded, chosen)
      onChange({ value: uploaded.value, problem: null })
    } catch (error) {
      if (!counts()) return
      onChange({ value: before, problem: null })
      if (!abort.signal.aborted) setProblem(problemText(error, t))
    } finally {
      if (counts()) {
        running.current = null
        setSending(null)
      }
    }
  }

  const take = (files: FileList | null | undefined): void => {
    const [first] = files ?? []
    if (first !== undefined && !disabled) void send(first)
  }
  const events = {
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes("Files")) return
      event.preventDefault()
      setOver(true)
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      setOver(false)
      take(event.dataTransfer.files)
    },
    onPaste: (event: ClipboardEvent) => {
      if (event.clipboardData.files.length === 0) return
      event.preventDefault()
      take(event.clipboardData.files)
    }
  }
  const endLink = (problem: string | null): void => {
    setLinking(false)
    setProblem(problem)
  }

  return (
    <div className={style.outer}>
      <div
        className={style.box}
        data-over={over ? "" : undefined}
        data-invalid={invalid || problem !== null ? "" : undefined}
        role="group"
        aria-label={name}
        {...events}
      >
        {sending !== null
          ? (
            <>
              <span className="spinner" />
              <span className="grow">
                <bdi className="cut">{sending.file.name}</bdi>
                <progress
                  className={style.progress}
                  max={1}
                  value={sending.share}
                  aria-label={t.file.sending(isolated(sending.file.name))}
                />
              </span>
              <span className="dim num">{format.share(sending.share)}</span>
              <button type="button" className="btn quiet" onClick={() => sending.abort.abort()}>
                {t.shell.cancel}
              </button>
            </>
          )
          : file === null
          ? (
            <>
              <CloudUpload className="icon" aria-hidden="true" />
              <span className="grow dim">
                {t.file.drop} {accept !== null && <small>{acceptedNames(accept, t.file.types)}</small>}
              </span>
            </>
          )
          : (
            <>
              <Picture
                file={file}
                size={54}
                onExpired={fileOf(value) === null ? undefined : () => void onExpired?.()}
              />
              <span className="grow">
                <b className="cut">
                  <bdi>{fileName(file)}</bdi>
                </b>
                <span className="dim">{file.missing === true ? t.file.missingText : details(file, { format, t })}</span>
              </span>
              <FileLinks file={file} onOver={onExpired} />
            </>
          )}
        {sending === null && !disabled && (
          <>
            {externalUrls && (
              <button type="button" className="btn quiet" onClick={() => setLinking(!linking)}>{t.file.link}</button>
            )}
            <button
              type="button"
              className="btn quiet"
              id={id}
              aria-label={`${file === null ? t.file.choose : t.file.replace}: ${name}`}
              aria-describedby={describedBy}
              onClick={() => chooser.current?.click()}
            >
              {file === null ? t.file.choose : t.file.replace}
            </button>
            {file !== null && field.optional && (
              <button
                type="button"
                className="btn quiet bare"
                aria-label={t.file.remove}
                onClick={() => onChange({ value: null, problem: null })}
              >
                <X className="icon" aria-hidden="true" />
              </button>
            )}
          </>
        )}
        <Chooser ref={chooser} accept={accept} onChoose={take} />
      </div>
      {linking && (
        <LinkForm
          onProblem={endLink}
          onLink={(url) => {
            endLink(null)
            onChange({ value: url, problem: null })
          }}
        />
      )}
      {sent?.corrected != null && sending === null && (
        <p className="hint">{t.file.corrected(sent.corrected.from, sent.corrected.to)}</p>
      )}
      {problem !== null && <p className="hint" data-bad="" role="alert">{problem}</p>}
    </div>
  )
}
