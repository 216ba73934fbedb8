/**
 * How long a server may be silent. The server ends its statements by itself. This is for a server, or a network, that disappears without a
 * word. When an answer is due and nothing passes, the connection is closed, and whoever waits is told. It never looks at what passes.
 */

/** What a line runs over. Sockets of Node are such. */
export interface Wire {
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly destroyed: boolean
  readonly destroy: (error: Error) => unknown
}

/** One connection to a server, as far as its silence goes. */
export interface Line {
  /** Whether a statement is under way. An idle line may be silent for ever. */
  readonly isDue: () => boolean
  /** What it runs over now, the side connection that cancels a statement included. */
  readonly wires: () => readonly Wire[]
}

/** What was found at the last look. */
interface Look {
  bytes: number
  /** Consecutive looks at which an answer was due and nothing had passed. */
  quiet: number
}

/** Looks per silence. A line is closed after that silence, or a quarter of it later. */
const looks = 4

/** Watches lines until it is closed. */
export interface SilenceWatch {
  readonly add: (line: Line) => void
  readonly remove: (line: Line) => void
  readonly close: () => void
}

const silent = (silenceMs: number): Error =>
  Object.assign(new Error(`The database server did not answer for ${silenceMs} ms.`), { code: "ETIMEDOUT" })

/**
 * Starts to watch. One timer serves all lines, so a statement costs nothing here. It counts looks and not time, so a machine that pauses
 * does not make a server look silent.
 */
export const watchSilence = (silenceMs: number): SilenceWatch => {
  const lines = new Map<Line, Look>()
  const look = (): void => {
    for (const [line, last] of lines) {
      const wires = line.wires()
      const bytes = wires.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0)
      last.quiet = line.isDue() && bytes === last.bytes ? last.quiet + 1 : 0
      last.bytes = bytes
      if (last.quiet < looks) continue
      last.quiet = 0
      for (const wire of wires) wire.destroy(silent(silenceMs))
    }
  }
  const timer = setInterval(look, Math.ceil(silenceMs / looks)).unref()
  return {
    add: (line) => void lines.set(line, { bytes: 0, quiet: 0 }),
    remove: (line) => void lines.delete(line),
    close: () => clearInterval(timer)
  }
}
