/**
 * The sources of this user: the state of each, and the meta document with their resources. The code that reads them is loaded only if there are sources.
 * A source that fails, hangs or sends wrong data affects only its own resources.
 */

import { useEffect, useMemo, useRef, useState } from "react"
import type { Client } from "../../client/client.ts"
import type { MetaDocument } from "../../client/meta.ts"
import type { SourceMeta } from "../../client/source-meta.ts"
import type { Source } from "../../client/source.ts"
import { routeTo } from "../model/client.ts"
import type { Followed, Following } from "./follow.ts"

/** The state of a source. `ready`: it was read once, even if it failed later. `error`: it has never answered. */
export interface SourceState {
  readonly source: Source
  readonly state: "loading" | "ready" | "error"
  /** The error of the last failed read. */
  readonly error: unknown
  readonly retry: () => void
}

export interface Sources {
  readonly states: readonly SourceState[]
  /** The service's own meta document together with those of the sources. */
  readonly meta: MetaDocument
  readonly sourceOf: (resource: string) => Source | null
}

const nothing: Followed = { of: [], merge: (own) => own }

/** `meta`: the service's own document. `active` becomes true when the user has signed in again. */
export const useSources = (meta: MetaDocument, active: boolean): Sources => {
  const text = JSON.stringify(meta.sources)
  const listed = useMemo((): readonly Source[] => JSON.parse(text), [text])
  const [followed, setFollowed] = useState<Followed>(nothing)
  const following = useRef<Following | null>(null)
  useEffect(() => {
    if (listed.length === 0) return
    let stopped = false
    import("./follow.ts").then(
      ({ followSources }) => {
        if (!stopped) following.current = followSources(listed, setFollowed)
      },
      // After a deployment the file may be missing. The banner for a new version is shown then.
      () => undefined
    )
    return () => {
      stopped = true
      following.current?.stop()
      following.current = null
      setFollowed(nothing)
    }
  }, [listed])
  useEffect(() => {
    if (active) following.current?.refresh()
  }, [active])
  return useMemo((): Sources => {
    const own = new Set(meta.models.map(({ name }) => name))
    const places = new Map<string, { readonly source: Source; readonly client: Client }>()
    const parts: SourceMeta[] = []
    for (const { client, meta: part, source } of followed.of) {
      if (part === null || client === null) continue
      parts.push(part)
      for (const { name } of part.models) if (!own.has(name) && !places.has(name)) places.set(name, { source, client })
    }
    // During rendering, so that the first component already uses these clients. Repeated calls have the same effect.
    routeTo(new Map([...places].map(([name, { client }]) => [name, client])))
    return {
      states: listed.map((source) => {
        const { error = null, state = "loading" } = followed.of.find((each) => each.source === source) ?? {}
        return { source, state, error, retry: () => following.current?.retry(source) }
      }),
      meta: followed.merge(meta, parts),
      sourceOf: (resource) => places.get(resource)?.source ?? null
    }
  }, [meta, listed, followed])
}
