/**
 * What other people read of the name of an account. It decides what of a text is shown, and asks nobody.
 */

/** Most characters of a name that others read, and that are looked at. */
const longestName = 100
const longestRead = 1_000

/** Control characters, and characters that are not seen, turn the direction of writing or break the line: no name looks like another's or moves the words around it. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu

/** A mail address, wherever it stands in a name: it is told to nobody who may not list accounts. */
const address = /[^\s@]@[^\s@]/

/** The name as it is shown to others: one line of at most 100 characters. Null: it shows nothing, or it has a mail address. */
export const shownName = (name: string): string | null => {
  const plain = name.slice(0, longestRead).normalize("NFC").replace(unseen, " ").replace(/\s+/g, " ").trim()
  if (plain === "" || address.test(plain.replaceAll(" ", ""))) return null
  return plain.length <= longestName
    ? plain
    : `${plain.slice(0, longestName - 1).replace(/[\ud800-\udbff]$/, "").trimEnd()}…`
}
