/**
 * Addresses that a deployment names: the public URL of the API, and origins whose pages are trusted. A wildcard in the wrong place trusts
 * strangers, and a password in an address travels in every token, so both are refused. It asks nobody whether an address is there.
 */

/** Whether a text is an http(s) URL without name, password, query and fragment; a path is allowed. */
export const isPlainUrl = (text: string): boolean => {
  const url = /^https?:\/\/./i.test(text) ? URL.parse(text) : null
  return url !== null && url.username === "" && url.password === "" && !/[?#]/.test(text)
}

/** Whether a text is an origin as browsers send it. `*` may stand for leading labels and nothing else: `https://*.example.org`. */
export const isOriginPattern = (text: string): boolean => {
  const plain = text.replace("://*.", "://any.")
  // `URL` takes `*` for a letter of a host.
  return !plain.includes("*") && isPlainUrl(plain) && URL.parse(plain)?.origin === plain
}
