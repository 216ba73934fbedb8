/**
 * Names that people give to themselves and to what they make: accounts, subscriptions, saved views, keys. They stand in lists, logs and mails beside other texts, so a name is one
 * line and turns no text around it. How long one may be says who keeps it.
 */

/** Control characters, line and paragraph separators, and what embeds or overrides a direction (Unicode, UAX #9). */
const unnameable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

/** Whether a text is one line of whole characters, without overrides of direction. It may be empty. */
export const isOneLine = (text: string): boolean => !unnameable.test(text) && text.isWellFormed()

/** Whether a text can be the name of something: one line that is not blank. */
export const isOwnName = (text: string): boolean => text.trim() !== "" && isOneLine(text)
