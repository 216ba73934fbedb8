/** A value in wire form as exact, unformatted text. Null and undefined are empty. */
export const plain = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return value
    case "number":
    case "boolean":
    case "bigint":
      return String(value)
    default:
      return value === null || value === undefined ? "" : JSON.stringify(value)
  }
}

/** At most so many characters of a text, with a mark where it goes on. No character is cut in two. */
export const short = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}…`

/** Characters that change the direction of the words around them: marks, overrides, and letters written from right to left. */
const turning = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/

/** A value as a part of a sentence of the app: the words around it keep their order (UAX 9: an isolate ends what was begun within it). */
export const isolated = (text: string): string => turning.test(text) ? `\u2068${text}\u2069` : text

/** Whether somebody who looks sees anything of a text. */
export const isVisible = (text: string): boolean =>
  /[^\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}]/u.test(text)
