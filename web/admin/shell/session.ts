/**
 * Who works in this tab: nobody yet, somebody, or somebody whose session has ended meanwhile and who goes on where they were after signing in again.
 * The token itself is the client's business; here is only what the pages show by it.
 */

import { useSyncExternalStore } from "react"
import type { MetaDocument } from "../../client/meta.ts"
import { ProblemError } from "../../client/problem.ts"
import type { SessionUser } from "../../client/session.ts"
import { config, prefix } from "../config.ts"
import { client } from "./client.ts"

export type Session =
  | { readonly state: "checking" }
  | { readonly state: "out" }
  | { readonly state: "failed"; readonly error: unknown }
  | {
    readonly state: "in"
    readonly meta: MetaDocument
    /** Null where accounts live elsewhere. */
    readonly user: SessionUser | null
    /** The session is over: calls fail until somebody signs in again. */
    readonly ended: boolean
  }

let session: Session = { state: "checking" }
const listeners = new Set<() => void>()

const put = (next: Session): void => {
  session = next
  for (const listener of listeners) listener()
}

/** Tells other tabs, which share the cookie. */
const channel = typeof BroadcastChannel === "function" ? new BroadcastChannel(`admin${prefix}:session`) : null

/** Reads who is signed in and what they see. `asked`: somebody has just signed in. */
export const enter = async (asked = false): Promise<void> => {
  const before = session
  try {
    const [meta, known] = await Promise.all([
      client.meta(),
      config.signIn === "password" ? client.auth.session().catch(() => null) : null
    ])
    if (before.state === "in" && before.meta.user.id !== meta.user.id) {
      // Somebody else: nothing of what the first one saw may stay on the page.
      location.reload()
      return
    }
    put({ state: "in", meta, user: known?.user ?? null, ended: false })
    if (asked) channel?.postMessage("in")
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401) put(before.state === "in" ? before : { state: "out" })
    else if (before.state !== "in") put({ state: "failed", error })
    if (asked) throw error
  }
}

/** To be told of every failed call: a 401 means that the session is over. */
export const noticeFailure = (error: unknown): void => {
  if (error instanceof ProblemError && error.status === 401 && session.state === "in" && !session.ended) {
    put({ ...session, ended: true })
  }
}

/** Ends the session here and in every tab. The page is loaded anew, so that nothing of what was seen stays. */
export const leave = async (): Promise<void> => {
  await client.auth.signOut().catch(() => undefined)
  channel?.postMessage("out")
  location.assign(prefix === "" ? "/" : prefix)
}

channel?.addEventListener("message", ({ data }) => {
  if (data === "out" && session.state === "in") put({ ...session, ended: true })
  if (data === "in" && (session.state === "out" || (session.state === "in" && session.ended))) void enter()
})

/** Reads the meta again: the service has another version of it. */
const refresh = async (): Promise<void> => {
  const before = session
  if (before.state !== "in" || before.ended) return
  try {
    const meta = await client.meta()
    if (meta !== before.meta) put({ ...before, meta })
  } catch (error) {
    noticeFailure(error)
  }
}
client.onMetaVersion(() => void refresh())

const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useSession = (): Session => useSyncExternalStore(subscribe, () => session)
