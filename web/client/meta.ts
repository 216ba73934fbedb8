/**
 * Caches the meta document. It is requested again with its ETag, and is outdated when an answer names another version. It does not interpret the
 * document.
 */

import type { MetaDocument } from "../../core/domain/meta/meta.ts"
import { type ShortMeta, wholeMeta } from "../../core/domain/meta/short.ts"
import type { Answer, Call, CallOptions } from "./transport.ts"

export type { MetaDocument, MetaField, MetaModel, MetaRelation } from "../../core/domain/meta/meta.ts"
export type { MetaBlock, MetaMenuItem, MetaPage, MetaView } from "../../core/domain/meta/view.ts"

export interface MetaHolder {
  /** What the caller sees of the declarations. Unchanged, it is the same object as before. */
  readonly meta: (options?: CallOptions) => Promise<MetaDocument>
  /** Told by the transport of every answer's version. */
  readonly saw: (version: string) => void
  /** Calls back when the service answers with another `X-Meta-Version` than before: read the meta again. Gives a function that ends it. */
  readonly onVersion: (listener: (version: string) => void) => () => void
  readonly forget: () => void
}

/** Options of a call, with limits that protect against a foreign service. */
export type MetaLimits = (options?: CallOptions) => Pick<Call, "maxBytes" | "signal">

export const holdMeta = (
  send: <T>(call: Call) => Promise<Answer<T>>,
  limits: MetaLimits = (options = {}) => options
): MetaHolder => {
  let copy: { readonly etag: string; readonly document: MetaDocument } | null = null
  let version: string | null = null
  let reading = 0
  const listeners = new Set<(version: string) => void>()
  return {
    meta: async (options) => {
      const held = copy
      reading++
      const { data, headers, status } = await send<MetaDocument | ShortMeta>({
        method: "GET",
        path: "/meta",
        system: true,
        headers: { "if-none-match": held?.etag },
        ...limits(options)
      }).finally(() => reading--)
      // The version of the document that was read. Otherwise a service that names another version in every answer would cause endless reads.
      version = headers.get("x-meta-version") ?? version
      if (status === 304 && held !== null) return held.document
      const document = wholeMeta(data)
      copy = { etag: headers.get("etag") ?? "", document }
      return document
    },
    saw: (seen) => {
      if (reading > 0) return
      const before = version
      version = seen
      if (before !== null && before !== seen) { for (const listener of listeners) listener(seen) }
    },
    onVersion: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    forget: () => {
      copy = null
      version = null
    }
  }
}
