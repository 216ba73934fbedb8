/**
 * Reads the meta documents of sources: at once, when the window gets the focus, and when an answer names a new version. Each source is read separately,
 * within ten seconds, and at most every five seconds. If a later read fails, the last document stays.
 */

import { type Client, sourceClient } from "../../client/client.ts"
import type { MetaDocument } from "../../client/meta.ts"
import { mergeMeta, type SourceMeta, sourceMeta } from "../../client/source-meta.ts"
import type { Source } from "../../client/source.ts"
import { ownClient } from "../model/client.ts"

export interface FollowedSource {
  readonly source: Source
  readonly state: "loading" | "ready" | "error"
  readonly error: unknown
  readonly meta: SourceMeta | null
  /** Null if the token must not be sent there. */
  readonly client: Client | null
}

export interface Followed {
  readonly of: readonly FollowedSource[]
  readonly merge: (own: MetaDocument, parts: readonly SourceMeta[]) => MetaDocument
}

export interface Following {
  /** Reads one source again now. */
  readonly retry: (source: Source) => void
  /** Reads all sources again, except those that were just read. */
  readonly refresh: () => void
  readonly stop: () => void
}

/** Least milliseconds between two automatic reads of a source. A source with a new version in every answer would else be read all the time. */
const rest = 5_000

interface Entry {
  now: FollowedSource
  /** The last document. If it is unchanged, it stays the same object. */
  document: MetaDocument | null
  reading: boolean
  readAt: number
  timer: ReturnType<typeof setTimeout> | null
}

export const followSources = (sources: readonly Source[], tell: (followed: Followed) => void): Following => {
  const ending = new AbortController()
  const entries = sources.map((source): Entry => {
    let client: Client | null = null
    let error: unknown = null
    try {
      client = sourceClient(ownClient, source)
    } catch (refused) {
      error = refused
    }
    const state = client === null ? "error" : "loading"
    return { now: { source, state, error, meta: null, client }, document: null, reading: false, readAt: 0, timer: null }
  })
  const put = (entry: Entry, changed: Partial<FollowedSource>): void => {
    entry.now = { ...entry.now, ...changed }
    if (!ending.signal.aborted) tell({ of: entries.map(({ now }) => now), merge: mergeMeta })
  }

  const read = async (entry: Entry): Promise<void> => {
    const { client, meta, source } = entry.now
    if (client === null || entry.reading || ending.signal.aborted) return
    entry.reading = true
    if (entry.timer !== null) clearTimeout(entry.timer)
    entry.timer = null
    if (meta === null) put(entry, { state: "loading" })
    try {
      const document = await client.meta({ signal: ending.signal })
      if (document !== entry.document) {
        put(entry, { state: "ready", error: null, meta: sourceMeta(document, source) })
        entry.document = document
      } else if (entry.now.error !== null) put(entry, { error: null })
    } catch (error) {
      put(entry, { state: entry.now.meta === null ? "error" : "ready", error })
    } finally {
      entry.reading = false
      entry.readAt = performance.now()
    }
  }
  const readSoon = (entry: Entry): void => {
    const wait = entry.readAt + rest - performance.now()
    if (wait <= 0) void read(entry)
    else entry.timer ??= setTimeout(() => void read(entry), wait)
  }

  const leaving = entries.map((entry) => entry.now.client?.onMetaVersion(() => readSoon(entry)))
  const refresh = (): void => {
    for (const entry of entries) readSoon(entry)
  }
  addEventListener("focus", refresh)
  tell({ of: entries.map(({ now }) => now), merge: mergeMeta })
  for (const entry of entries) void read(entry)
  return {
    retry: (source) => {
      const entry = entries.find(({ now }) => now.source === source)
      if (entry !== undefined) void read(entry)
    },
    refresh,
    stop: () => {
      ending.abort()
      removeEventListener("focus", refresh)
      for (const leave of leaving) leave?.()
      for (const { timer } of entries) if (timer !== null) clearTimeout(timer)
    }
  }
}
