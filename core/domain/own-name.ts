/**
 * Names that people give to themselves and to what they make: accounts, subscriptions, saved views, keys. They stand in lists, logs and mails beside other texts, so a name is one
 * line, turns no text around it, and has an end.
 */

/** Most characters of such a name. */
export const ownNameMax = 200

/** Control characters, line and paragraph separators, and what embeds or overrides a direction (Unicode, UAX #9). */
const unnameable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

/** Whether a text is one line of whole characters, without overrides of direction. It may be empty. */
export const isOneLine = (text: string): boolean => !unnameable.test(text) && text.isWellFormed()

/** Whether a text is no longer than a name may be. Characters are code points, as fields of resources count them. */
export const fitsName = (text: string): boolean =>
  text.length <= ownNameMax || (text.length <= 2 * ownNameMax && Array.from(text).length <= ownNameMax)

/** Whether a text can be the name of something: one line that is not blank, and fits without the spaces around it. */
export const isOwnName = (text: string): boolean => {
  const name = text.trim()
  return name !== "" && fitsName(name) && isOneLine(text)
}
