/**
 * Names of files: how an uploaded name is cleaned, and how a download is named (RFC 6266, RFC 8187). A name is shown to people and never becomes a
 * path.
 */

import { extensionOf } from "./uri.ts"

/** Longest name in bytes of UTF-8. */
const maxName = 255

const encoder = new TextEncoder()

/** Control characters, and characters that turn the direction of writing or break the line: `evil<RLO>gpj.exe` must not show as `evilexe.jpg`. */
const invisible = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g

/** The longest beginning of a text that has at most so many bytes of UTF-8 and ends with a whole character. */
const cut = (text: string, bytes: number): string => {
  let start = ""
  let size = 0
  for (const character of text) {
    size += encoder.encode(character).length
    if (size > bytes) break
    start += character
  }
  return start
}

/**
 * The name to keep of the uploaded name: the last segment without control characters, at most 255 bytes with its extension. An empty result becomes
 * `file`.
 */
export const cleanName = (sent: string): string => {
  const last = sent.slice(Math.max(sent.lastIndexOf("/"), sent.lastIndexOf("\\")) + 1)
  const name = last.toWellFormed().replace(invisible, "").normalize("NFC").trim()
  if (/^[. ]*$/.test(name)) return "file"
  if (encoder.encode(name).length <= maxName) return name
  const extension = extensionOf(name)
  const tail = extension === "" || extension.length > 20 ? "" : name.slice(-extension.length - 1)
  return cut(name.slice(0, name.length - tail.length), maxName - encoder.encode(tail).length) + tail
}

/** The name of a download: as uploaded, with an extension that fits the type. `fits` says whether an extension does. */
export const downloadName = (name: string, extension: string, fits: (extension: string) => boolean): string => {
  if (extension === "") return name
  const own = extensionOf(name)
  if (own !== "" && fits(own)) return name
  return `${own === "" || own.length > 10 ? name : name.slice(0, -own.length - 1)}.${extension}`
}

/** A text in the form of RFC 8187: every character that is not an `attr-char` is percent-encoded UTF-8. */
const extended = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

/** The value of `Content-Disposition`. In the quoted text every unusual character becomes `_`, so no name can end the quoted text or the header. */
export const disposition = (kind: "inline" | "attachment", name: string): string => {
  const plain = cleanName(name)
  const ascii = plain.replace(/[^\x20-\x7e]|["\\%]/g, "_")
  return ascii === plain
    ? `${kind}; filename="${ascii}"`
    : `${kind}; filename="${ascii}"; filename*=UTF-8''${extended(plain)}`
}
