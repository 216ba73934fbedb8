/**
 * The links of a record's file: to open it, and to save it. Links of private files end. One that has ended is not followed: the record is read again, and
 * then the new link is.
 */

import { Download, ExternalLink } from "lucide-react"
import { type AnchorHTMLAttributes, type ReactNode, useEffect, useRef } from "react"
import { fileUrl } from "../../client/index.ts"
import type { FileValue } from "../../client/index.ts"
import { useLocale } from "../messages/locale.tsx"
import { isOver } from "./link-end.ts"

type Renewal = (() => Promise<void>) | undefined

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly href: string
  /** Reads the record again. */
  readonly onOver: Renewal
}

/** A link to a file. */
export const FileLink = ({ onOver, ...rest }: LinkProps): ReactNode => {
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

interface FileProps {
  readonly file: FileValue
  readonly onOver: Renewal
  /** The name of a file among others. Its links are small then, and are named after it. */
  readonly of?: string
}

const labelled = (text: string, of: string | undefined): string => of === undefined ? text : `${text}: ${of}`

/** Nothing for a file that is not there, or no part of its record yet. Files elsewhere answer as they like, so they cannot be saved from here. */
export const SaveLink = ({ file, of, onOver }: FileProps): ReactNode => {
  const { t } = useLocale()
  const url = fileUrl(file, null, { download: true })
  if (url === null || url === file.uri || url.startsWith("blob:")) return null
  const label = labelled(t.file.download, of)
  return (
    <FileLink
      className={of === undefined ? "btn bare" : "btn quiet bare"}
      href={url}
      aria-label={label}
      title={label}
      onOver={onOver}
    >
      <Download className="icon" aria-hidden="true" />
    </FileLink>
  )
}

/** Both links, where there is a file to open. */
export const FileLinks = (props: FileProps): ReactNode => {
  const { t } = useLocale()
  const { file: { url }, of, onOver } = props
  if (url === undefined || url.startsWith("blob:")) return null
  return (
    <>
      {of === undefined
        ? (
          <FileLink className="btn" href={url} target="_blank" onOver={onOver}>
            <ExternalLink className="icon" aria-hidden="true" /> {t.file.open}
          </FileLink>
        )
        : (
          <FileLink
            className="btn quiet bare"
            href={url}
            target="_blank"
            aria-label={labelled(t.file.open, of)}
            title={labelled(t.file.open, of)}
            onOver={onOver}
          >
            <ExternalLink className="icon" aria-hidden="true" />
          </FileLink>
        )}
      <SaveLink {...props} />
    </>
  )
}
