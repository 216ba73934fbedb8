/**
 * The links of a record's file: to open it, and to save it. Links of private files end. One that has ended is not followed: the record is read again, and
 * then the new link is.
 */

import { Download, ExternalLink } from "lucide-react"
import { type AnchorHTMLAttributes, type ReactNode, useEffect, useRef } from "react"
import { fileUrl } from "../../client/index.ts"
import type { FileValue } from "../../client/index.ts"
import { useLocale } from "../messages/locale.tsx"

/** Whether a signed link has ended. */
export const isOver = (url: string | undefined): boolean => {
  const end = url === undefined ? null : new URL(url, location.href).searchParams.get("exp")
  return end !== null && Number(end) * 1_000 <= Date.now()
}

type Renewal = (() => Promise<void>) | undefined

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly href: string
  /** Reads the record again. */
  readonly onOver: Renewal
}

const FileLink = ({ onOver, ...rest }: LinkProps): ReactNode => {
  const { href } = rest
  const link = useRef<HTMLAnchorElement>(null)
  /** Set from a click on a link that has ended until the new one is followed. */
  const awaited = useRef(false)
  const follow = (): void => {
    if (awaited.current) link.current?.click()
    awaited.current = false
  }
  useEffect(follow, [href])
  return (
    <a
      {...rest}
      ref={link}
      rel="noreferrer"
      onClick={(event) => {
        if (onOver === undefined || awaited.current || !isOver(href)) return
        event.preventDefault()
        awaited.current = true
        // Where the link stays the same, the clock here is ahead, and it is followed as it is.
        void onOver().finally(() => setTimeout(follow))
      }}
    />
  )
}

/** Nothing for a file that is not there, or no part of its record yet. Files elsewhere answer as they like, so they cannot be saved from here. */
export const FileLinks = (
  { file, onOver }: { readonly file: FileValue; readonly onOver: Renewal }
): ReactNode => {
  const { t } = useLocale()
  const { uri, url } = file
  const saved = fileUrl(file, null, { download: true })
  if (url === undefined || saved === null || url.startsWith("blob:")) return null
  return (
    <>
      <FileLink className="btn" href={url} target="_blank" onOver={onOver}>
        <ExternalLink className="icon" aria-hidden="true" /> {t.file.open}
      </FileLink>
      {saved !== uri && (
        <FileLink
          className="btn bare"
          href={saved}
          aria-label={t.file.download}
          title={t.file.download}
          onOver={onOver}
        >
          <Download className="icon" aria-hidden="true" />
        </FileLink>
      )}
    </>
  )
}
