/**
 * Where log lines go: standard output, as JSON for machines or as short lines for people. It gathers the lines of a turn into one write.
 * It decides nothing about what is logged; lines arrive finished.
 */

import { isBag } from "../core/domain/bag.ts"
import type { LogFormat } from "./environment.ts"

export interface LogSink {
  /** Takes a finished JSON line without its newline. */
  readonly line: (json: string) => void
  /** Something that happened to the service itself. `fields` must hold no secret. */
  readonly event: (
    level: "info" | "warn" | "error",
    event: string,
    fields?: { readonly [name: string]: unknown }
  ) => void
  /** Writes what is gathered. Call before the process ends. */
  readonly flush: () => void
}

/** The line of something that happened to the service itself. */
export const eventLine: (...event: Parameters<LogSink["event"]>) => string = (level, event, fields = {}) =>
  JSON.stringify({ level, time: new Date().toISOString(), event, ...fields })

/** A text without characters that move a terminal's cursor or begin a line. Ids of callers come from other issuers, too. */
const plain = (text: string): string =>
  text.replace(
    /[\u0000-\u001f\u007f-\u009f]/g,
    (character) => character === "\n" ? "\\n" : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/** A JSON log line as people read it: `12:00:01 GET /api/v1/orders 200 3.2 ms`. */
const prettyLine = (json: string): string => {
  const entry: unknown = JSON.parse(json)
  if (!isBag(entry)) return json
  const { event, level, time, ...rest } = entry
  const clock = typeof time === "string" ? time.slice(11, 19) : ""
  if (event === "request") {
    const { method, ms, path, status, user } = rest
    return `${clock} ${String(method)} ${String(path)} ${String(status)} ${String(ms)} ms${
      typeof user === "string" ? ` ${plain(user)}` : ""
    }`
  }
  const { frames, ...members } = rest
  const details = Object.entries(members).map(([name, value]) =>
    ` ${name}=${plain(typeof value === "string" ? value : JSON.stringify(value))}`
  )
  const trace = Array.isArray(frames) ? frames.map((frame) => `\n    ${String(frame)}`) : []
  return `${clock} ${level === "info" ? "" : `${String(level).toUpperCase()} `}${String(event)}${details.join("")}${
    trace.join("")
  }`
}

/** A sink that writes texts with `write`, at most once a turn of the event loop. */
export const openLog = (format: LogFormat, write: (text: string) => void): LogSink => {
  let gathered = ""
  let waiting = false
  const flush = (): void => {
    waiting = false
    const text = gathered
    gathered = ""
    if (text !== "") write(text)
  }
  const line = (json: string): void => {
    gathered += `${format === "pretty" ? prettyLine(json) : json}\n`
    if (gathered.length > 65_536) flush()
    else if (!waiting) {
      waiting = true
      setImmediate(flush)
    }
  }
  const silent = format === "off"
  return {
    line: silent ? () => {} : line,
    event: (level, event, fields) => {
      if (!silent) line(eventLine(level, event, fields))
    },
    flush
  }
}
