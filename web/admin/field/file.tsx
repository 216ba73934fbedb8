/**
 * A file of a record: as a small picture and a name where it is shown, and as a place to drop, paste or choose one where it can be changed. A file is
 * sent at once; what the form then holds is the ticket for it, which a save writes. Nothing of a file becomes markup.
 */

import { CloudUpload, Download, FileText, Image as ImageIcon, X } from "lucide-react"
import { type ClipboardEvent, type DragEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react"
import { thumbHashToDataURL } from "thumbhash"
import { fileUrl } from "../../client/index.ts"
import type { FileValue } from "../../client/index.ts"
import { useLocale } from "../messages/locale.tsx"
import { useApp } from "../shell/app.ts"
import { client } from "../shell/client.ts"
import { problemText } from "../shell/problem.tsx"
import style from "./file.module.css"
import type { InputProps } from "./input-props.ts"

/** The value as an answer has it; null for none, and for a ticket, which says nothing of its file. */
export const fileOf = (value: unknown): FileValue | null =>
  typeof value === "object" && value !== null && typeof (value as { uri?: unknown }).uri === "string"
    ? value as FileValue
    : null

/** What the file is called. */
export const fileName = (file: FileValue): string => file.name ?? file.uri

const isImage = (type: string | undefined): boolean => /^image\/(?:jpeg|png|webp|avif|gif)$/.test(type ?? "")

/** The picture of a placeholder, or null where it is none. */
const placeholderUrl = (hash: string | null | undefined): string | null => {
  if (hash == null || hash === "") return null
  try {
    return thumbHashToDataURL(Uint8Array.from(atob(hash), (character) => character.charCodeAt(0)))
  } catch {
    return null
  }
}

/** Whether a host may learn where its picture is shown: the own one, and those that the operator trusts. */
const useTrusted = (): (url: string) => boolean => {
  const { catalogue } = useApp()
  return useMemo(() => {
    const { files, sources } = catalogue.meta
    const hosts = new Set(files?.trustedHosts)
    for (const source of sources as ReadonlyArray<{ readonly url?: unknown }>) {
      if (typeof source.url === "string" && URL.canParse(source.url)) hosts.add(new URL(source.url).hostname)
    }
    return (text) => {
      const url = new URL(text, location.href)
      return url.origin === location.origin || url.protocol === "blob:" || hosts.has(url.hostname)
    }
  }, [catalogue])
}

interface PictureProps {
  readonly file: FileValue
  /** Pixels of the longer side. */
  readonly size: number
  readonly onExpired?: (() => void) | undefined
}

/** The picture of a file: its placeholder first, then the smallest variant; a sign for what is no picture. */
export const Picture = ({ file, onExpired, size }: PictureProps): ReactNode => {
  const trusted = useTrusted()
  const [broken, setBroken] = useState<string | null>(null)
  const under = useMemo(() => placeholderUrl(file.placeholder), [file.placeholder])
  const variant = Object.keys(file.variants ?? {})[0]
  const url = isImage(file.type) || variant !== undefined ? fileUrl(file, variant) : null
  const box = { inlineSize: size, blockSize: size }
  if (url === null || broken === url) {
    return (
      <span className={style.sign} style={box}>
        {isImage(file.type)
          ? <ImageIcon className="icon" aria-hidden="true" />
          : <FileText className="icon" aria-hidden="true" />}
      </span>
    )
  }
  return (
    <img
      className={style.picture}
      style={{ ...box, ...(under === null ? {} : { backgroundImage: `url(${under})` }) }}
      src={url}
      alt=""
      loading="lazy"
      decoding="async"
      referrerPolicy={trusted(url) ? "strict-origin-when-cross-origin" : "no-referrer"}
      onError={() => {
        setBroken(url)
        onExpired?.()
      }}
    />
  )
}

/** A file in one line: for cells. */
export const FileLine = ({ value }: { readonly value: unknown }): ReactNode => {
  const { t } = useLocale()
  const file = fileOf(value)
  if (file === null) return null
  return (
    <span className={style.line}>
      <Picture file={file} size={24} />
      <bdi className="cut">{fileName(file)}</bdi>
      {file.missing === true && <span className="badge" data-tone="bad">{t.file.missing}</span>}
    </span>
  )
}

/** Whether a type passes `accept`. What the browser does not know is for the service to judge. */
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

interface Sent {
  readonly ticket: string
  readonly file: FileValue
  readonly corrected: { readonly from: string; readonly to: string } | null
}

/** What was sent from this tab, by its ticket: so that a form that is drawn anew still shows the file. */
const known = new Map<string, Sent>()

const details = (file: FileValue, format: ReturnType<typeof useLocale>["format"]): string =>
  [file.type?.replace(/^.*\//, "").toUpperCase(), file.size === undefined ? null : format.bytes(file.size)]
    .filter((each) => each !== null && each !== undefined && each !== "").join(" · ")

export const FileInput = (props: InputProps): ReactNode => {
  const { describedBy, disabled = false, field, id, invalid = false, label, onChange, onExpired, resource, value } =
    props
  const { format, t } = useLocale()
  const { accept = null, externalUrls = false, maxSize = Number.POSITIVE_INFINITY } = field.file ?? {}
  const [sending, setSending] = useState<Sending | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [over, setOver] = useState(false)
  const [linking, setLinking] = useState(false)
  const [link, setLink] = useState("")
  const chooser = useRef<HTMLInputElement>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  const sent = typeof value === "string" ? known.get(value) ?? null : null
  const external: FileValue | null = typeof value === "string" && value.startsWith("https://")
    ? { uri: value, name: value, url: value }
    : null
  const file = fileOf(value) ?? sent?.file ?? external

  const send = async (chosen: File): Promise<void> => {
    setProblem(null)
    if (chosen.size > maxSize) return setProblem(t.file.tooLarge(format.bytes(maxSize)))
    if (!isAccepted(accept, chosen.type)) return setProblem(t.file.wrongType((accept ?? []).join(", ")))
    const abort = new AbortController()
    running.current?.abort()
    running.current = abort
    setSending({ file: chosen, share: 0, abort })
    // A form with a file under way cannot be saved yet.
    onChange({ value: undefined, problem: t.file.underWay })
    try {
      const uploaded = await client.upload(resource.name, field.name, chosen, {
        signal: abort.signal,
        onProgress: ({ loaded, total }) =>
          setSending((before) =>
            before === null ? null : { ...before, share: total === null || total === 0 ? 0 : loaded / total }
          )
      })
      known.set(uploaded.value, {
        ticket: uploaded.value,
        file: {
          uri: "",
          ...uploaded.file,
          ...(isImage(uploaded.file.type) ? { url: URL.createObjectURL(chosen) } : {})
        },
        corrected: uploaded.corrected ?? null
      })
      onChange({ value: uploaded.value, problem: null })
    } catch (error) {
      // Back to what it was.
      onChange({ value, problem: null })
      if (!abort.signal.aborted) setProblem(problemText(error, t))
    } finally {
      if (running.current === abort) {
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
  const takeLink = (): void => {
    setLinking(false)
    setProblem(null)
    if (!/^https:\/\/[^\s/@]+(?:\/\S*)?$/.test(link.trim())) return setProblem(t.file.notLink)
    onChange({ value: link.trim(), problem: null })
  }

  return (
    <div className={style.outer}>
      <div
        className={style.box}
        data-over={over ? "" : undefined}
        data-invalid={invalid || problem !== null ? "" : undefined}
        role="group"
        aria-label={label}
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
                  aria-label={t.file.sending(sending.file.name)}
                />
              </span>
              <span className="dim num">{format.percent(sending.share)}</span>
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
                {t.file.drop} {accept !== null && <small>{accept.join(", ")}</small>}
              </span>
            </>
          )
          : (
            <>
              <Picture file={file} size={54} onExpired={fileOf(value) === null ? undefined : onExpired} />
              <span className="grow">
                <b className="cut">
                  <bdi>{fileName(file)}</bdi>
                </b>
                <span className="dim">{file.missing === true ? t.file.missingText : details(file, format)}</span>
              </span>
              {file.url !== undefined && !file.url.startsWith("blob:") && (
                <a className="btn" href={file.url} target="_blank" rel="noreferrer">
                  <Download className="icon" aria-hidden="true" /> {t.file.open}
                </a>
              )}
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
        <input
          ref={chooser}
          type="file"
          hidden
          tabIndex={-1}
          accept={accept?.join(",")}
          onChange={({ target }) => {
            take(target.files)
            target.value = ""
          }}
        />
      </div>
      {linking && (
        <form
          className={style.link}
          onSubmit={(event) => {
            event.preventDefault()
            takeLink()
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
      )}
      {sent?.corrected != null && sending === null && (
        <p className="hint">{t.file.corrected(sent.corrected.from, sent.corrected.to)}</p>
      )}
      {problem !== null && <p className="hint" data-bad="" role="alert">{problem}</p>}
    </div>
  )
}
