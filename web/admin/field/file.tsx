/** The file of a record as it is shown: a small picture and a name. Nothing of a file becomes markup. */

import { FileText, Image as ImageIcon } from "lucide-react"
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from "react"
import { fileUrl } from "../../client/index.ts"
import type { FileValue } from "../../client/index.ts"
import { isObject } from "../../client/problem.ts"
import { useApp } from "../ground/app.ts"
import { useLocale } from "../messages/locale.tsx"
import { short } from "../model/plain.ts"
import style from "./file.module.css"
import { isOver } from "./link-end.ts"

/** Whether an address of a file may be opened: other schemes run code, or lead out of the browser. */
const isOpenable = (url: unknown): url is string =>
  typeof url === "string" && URL.canParse(url, location.href) &&
  /^(?:https?|blob):$/.test(new URL(url, location.href).protocol)

const members = { name: "string", type: "string", size: "number", placeholder: "string", missing: "boolean" } as const

/**
 * The file object of an answer. Null if the value is null or a ticket, which has no data of its file. The answer may come from a source, so members
 * of another type than they should have are left out.
 */
export const fileOf = (value: unknown): FileValue | null => {
  if (!isObject(value) || typeof value["uri"] !== "string") return null
  const given = value
  const variants = typeof given["variants"] === "object" && given["variants"] !== null ? given["variants"] : {}
  return {
    uri: given["uri"],
    ...Object.fromEntries(
      Object.entries(members).flatMap(([name, kind]) => typeof given[name] === kind ? [[name, given[name]]] : [])
    ),
    ...(isOpenable(given["url"]) ? { url: given["url"] } : {}),
    variants: Object.fromEntries(
      Object.entries(variants).filter(([, each]) => isObject(each) && isOpenable(each["url"]))
    )
  } as FileValue
}

/** The file's name, or its address where it has none. */
export const fileName = (file: FileValue): string => file.name ?? short(file.uri, 200)

export const isImage = (type: string | undefined): boolean => /^image\/(?:jpeg|png|webp|avif|gif)$/.test(type ?? "")

/** The picture of a placeholder hash as a data URL. Null without one, while the code for it is loaded, and if the hash is not valid. */
const usePlaceholder = (hash: string | null | undefined): string | null => {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    setUrl(null)
    if (hash == null || hash === "") return
    let current = true
    import("thumbhash").then(({ thumbHashToDataURL }) => {
      if (current) setUrl(thumbHashToDataURL(Uint8Array.from(atob(hash), (character) => character.charCodeAt(0))))
    }).catch(() => undefined)
    return () => void (current = false)
  }, [hash])
  return url
}

/** Tells whether a picture's host may get a referrer: the service's own host, and hosts that the operator lists. */
const useTrusted = (): (url: string) => boolean => {
  const { catalogue } = useApp()
  return useMemo(() => {
    const { files, sources } = catalogue.meta
    const hosts = new Set(files?.trustedHosts)
    for (const source of sources) {
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
  /** Pixels of the longer side, or all the room there is. */
  readonly size: number | "fill"
  readonly onExpired?: (() => void) | undefined
}

/** The picture of a file: first its placeholder, then its smallest variant. A file that is not an image gets an icon. */
export const Picture = ({ file, onExpired, size }: PictureProps): ReactNode => {
  const trusted = useTrusted()
  const [broken, setBroken] = useState<string | null>(null)
  const under = usePlaceholder(file.placeholder)
  const variant = Object.keys(file.variants ?? {})[0]
  const url = isImage(file.type) || variant !== undefined ? fileUrl(file, variant) : null
  const length = size === "fill" ? "100%" : size
  const box = { inlineSize: length, blockSize: length }
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

/** Called when signed links have expired. A list provides the function that reads its records again. */
export const FileExpiry = createContext<() => void>(() => {})

/** The picture of a file in a list. Only an ended link is a reason to read again, because a picture may fail for others. */
export const ListedPicture = ({ file, size }: Pick<PictureProps, "file" | "size">): ReactNode => {
  const again = use(FileExpiry)
  return (
    <Picture
      file={file}
      size={size}
      onExpired={() => {
        if (isOver(file.url)) again()
      }}
    />
  )
}

/** A file in one line, for cells. */
export const FileLine = ({ value }: { readonly value: unknown }): ReactNode => {
  const { t } = useLocale()
  const file = fileOf(value)
  if (file === null) return null
  return (
    <span className={style.line}>
      <ListedPicture file={file} size={24} />
      <bdi className="cut">{fileName(file)}</bdi>
      {file.missing === true && <span className="badge" data-tone="bad">{t.file.missing}</span>}
    </span>
  )
}

/** Several files in one line: the first of them, and how many more there are. */
export const FilesLine = ({ value }: { readonly value: unknown }): ReactNode => {
  const { format } = useLocale()
  if (!Array.isArray(value) || value.length === 0) return null
  return (
    <span className={style.line}>
      <FileLine value={value[0]} />
      {value.length > 1 && <span className="dim num">{`+${format.count(value.length - 1)}`}</span>}
    </span>
  )
}
