/** How far a try says that it is. It is for people: nothing decides by it. */

/** What `progress` of a running job was last told. */
export interface Progress {
  readonly done: number
  /** Null: it does not know how much there is. */
  readonly total: number | null
  readonly note: string | null
}

/** Longest note that is kept, in characters. */
const longestNote = 200

/** How often the progress of a try is written at most. */
export const progressMs = 1_000

const isAmount = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && value >= 0

/** The arguments of `progress`. Throws for what is no amount: the call is wrong, whatever the data. A note is cut, and loses what a database cannot hold. */
export const readProgress = (done: unknown, total: unknown, note: unknown): Progress => {
  if (!isAmount(done)) throw new TypeError("progress(done, total, note): done is a number, 0 or more.")
  if (total !== undefined && total !== null && !isAmount(total)) {
    throw new TypeError("progress(done, total, note): total is a number, 0 or more.")
  }
  if (note !== undefined && note !== null && typeof note !== "string") {
    throw new TypeError("progress(done, total, note): note is a text.")
  }
  const text = note?.slice(0, longestNote).replaceAll("\0", "").toWellFormed() ?? ""
  return { done, total: total ?? null, note: text === "" ? null : text }
}
