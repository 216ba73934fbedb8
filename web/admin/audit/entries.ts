/** The type of the service's answers about who did what, and their query. */

import { useInfiniteQuery } from "@tanstack/react-query"
import { client } from "../model/client.ts"

export interface AuditEntry {
  readonly id: string
  readonly at: string
  readonly act: string
  /** Null: nobody who is known. */
  readonly who: { readonly id: string; readonly name: string | null } | null
  readonly key: string | null
  readonly subject: { readonly kind: string; readonly id: string; readonly name: string | null } | null
  readonly details: { readonly [name: string]: unknown }
  readonly request: string | null
}

/** Days that the list can be narrowed to, as the address has them. */
export const spans = ["1", "7", "30", "90"] as const

interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next_page_token: string | null
}

export interface AuditAsked {
  readonly who: string | null
  readonly what: string | null
  readonly search: string | null
  /** The last so many days; null: all. */
  readonly days: number | null
}

/** Where a page begins, and the range of time of them all. */
interface From {
  readonly token: string
  readonly since: string | null
}

const first: From = { token: "", since: null }

/** Entries in pages, the newest first. */
export const useAudit = ({ days, ...asked }: AuditAsked) =>
  useInfiniteQuery({
    queryKey: ["audit", asked, days],
    staleTime: 2_000,
    initialPageParam: first,
    queryFn: async ({ pageParam: { since, token }, signal }) => {
      // A token is of one range of time: later pages ask for that of the first.
      const from = since ?? (days === null ? null : new Date(Date.now() - days * 86_400_000).toISOString())
      const { data } = await client.request<AuditPage>({
        method: "GET",
        path: "/audit",
        system: true,
        query: { ...asked, since: from, page_size: 50, page_token: token },
        signal
      })
      return { ...data, since: from }
    },
    getNextPageParam: ({ next_page_token, since }) =>
      next_page_token === null ? undefined : { token: next_page_token, since }
  })
