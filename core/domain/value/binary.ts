/** Bytes as standard base64 (RFC 4648, 4), which is their cell. It decodes nothing: lengths follow from the text. */

/** Most bytes of a field that says nothing else, and of any field. */
export const usualBytes = 65_536
export const mostBytes = 16_777_216

const pattern = /^[A-Za-z0-9+/]*={0,2}$/
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/** How many bytes a base64 text stands for; null when it is none in its one canonical form: padded, without blanks, its unused bits zero. */
export const bytesOfBase64 = (text: string): number | null => {
  if (text.length % 4 !== 0 || !pattern.test(text)) return null
  if (text === "") return 0
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0
  const last = alphabet.indexOf(text[text.length - 1 - padding]!)
  return (last & (padding === 2 ? 15 : padding === 1 ? 3 : 0)) === 0 ? text.length / 4 * 3 - padding : null
}
