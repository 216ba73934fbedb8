/** What may be said of a thrown value. Its text may quote values of records, so a log gets its class and frames instead. */

/** The class of an error; of another value its type. A class whose name is no identifier may quote anything, so it is left out. */
export const classOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return typeof thrown
  const made: unknown = thrown.constructor
  const name: unknown = typeof made === "function" ? made.name : null
  return typeof name === "string" && /^[\p{ID_Start}$_][\p{ID_Continue}$]{0,99}$/u.test(name) ? name : "Error"
}

/** A line of a stack: it ends with a place in a file, or says that there is none. */
const frame = /^\s+at .*(?::\d+|<anonymous>|native|index \d+)\)?$/

/**
 * The frames of an error, without the message before them, whose own lines may look like frames. Somebody may have changed the message since, or the stack;
 * then there are none.
 */
export const framesOf = ({ message, name, stack }: Error): readonly string[] => {
  if (typeof stack !== "string") return []
  // With source maps, the text before the frames has the name of now, which may quote the message.
  const header = message === "" ? name : `${name}: ${message}`
  const at = stack.startsWith(header) ? header.length - message.length : stack.indexOf(message)
  return at === -1
    ? []
    : stack.slice(at + message.length).split("\n").filter((line) => frame.test(line)).map((line) => line.trim())
}
