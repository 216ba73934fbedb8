/** How the service and its image processes talk: a length, a line of JSON of that length, then bytes whose number the JSON says. */

import type { RenderPlan } from "../../core/ports/images.ts"

/** What an image process is asked for. The bytes of the image follow. */
export interface Request {
  readonly size: number
  readonly plan: RenderPlan
  readonly maxPixels: number
  /** Bytes that the process may take while it works. It ends itself before it takes more. */
  readonly memory: number
  /** Whether an image that needs more is refused; else it is answered with `more`. */
  readonly last: boolean
}

/** What it answers. The bytes of the copies follow. */
export type ImageAnswer =
  | { readonly of: "ready" }
  /** The image cannot be read, or would take too much. */
  | { readonly of: "none" }
  /** The image needs more memory than it may take. */
  | { readonly of: "more" }
  | {
    readonly of: "made"
    readonly width: number
    readonly height: number
    readonly placeholder: string | null
    readonly copies: ReadonlyArray<{ readonly width: number; readonly height: number; readonly size: number }>
    /** Bytes that the process still takes. */
    readonly bytesHeld: number
  }

export const frame = (value: Request | ImageAnswer): Buffer => {
  const text = Buffer.from(JSON.stringify(value))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text])
}

/** Reads a stream by numbers of bytes. Null: it has ended before. */
export interface StreamReader {
  readonly bytes: (size: number) => Promise<Buffer | null>
  /** A message of the process at the other end, which is one of ours. */
  readonly json: <Message>() => Promise<Message | null>
}

export const makeReader = (stream: AsyncIterable<Buffer>): StreamReader => {
  const source = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  const bytes = async (size: number): Promise<Buffer | null> => {
    const all = Buffer.allocUnsafeSlow(size)
    let at = 0
    while (at < size) {
      if (rest.length === 0) {
        const next = await source.next().catch(() => null)
        if (next === null || next.done === true) return null
        rest = next.value
      }
      const part = rest.subarray(0, size - at)
      part.copy(all, at)
      at += part.length
      rest = rest.subarray(part.length)
    }
    return all
  }
  return {
    bytes,
    json: async () => {
      const length = await bytes(4)
      const text = length === null ? null : await bytes(length.readUInt32BE())
      return text === null ? null : JSON.parse(text.toString())
    }
  }
}
