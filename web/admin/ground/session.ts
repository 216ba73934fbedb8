/**
 * The user of this tab: nobody yet, a signed-in user, or a user whose session has ended and who continues after signing in again. The client has the
 * token; this file has only what pages show.
 */

import { useSyncExternalStore } from "react"
import type { MetaDocument } from "../../client/meta.ts"
import { ProblemError } from "../../client/problem.ts"
import type { SessionUser } from "../../client/session.ts"
import { config, prefix } from "../config.ts"
import { endToken, ownClient as client, readMeta } from "../model/client.ts"
import { hasDrafts, keepDraftsOf } from "./drafts.ts"
import { leaveApp } from "./location.ts"
import { openOverlay } from "./overlays.ts"
import { endPlain, keepIn } from "./plain-rows.ts"

export type Session =
  | { readonly state: "checking" }
  | { readonly state: "out" }
  | { readonly state: "failed"; readonly error: unknown }
  | {
    readonly state: "in"
    readonly meta: MetaDocument
    /** The user. Null if another server has the accounts. */
    readonly user: SessionUser | null
    /** True if the session has ended. Calls fail until the user signs in again. */
    readonly ended: boolean
  }

let session: Session = { state: "checking" }
const listeners = new Set<() => void>()

const put = (next: Session): void => {
  session = next
  if (next.state === "in" || next.state === "out") keepIn(next.state === "in" && !next.ended)
  if (next.state !== "in") endPlain()
  for (const listener of listeners) listener()
}

/** Messages to other tabs, which share the cookie. */
const channel = typeof BroadcastChannel === "function" ? new BroadcastChannel(`admin${prefix}:session`) : null

/** Loads the code and the texts of the frame. */
let loadFrame: (() => Promise<void>) | undefined

/** Reads the signed-in user and the meta document. `asked`: the user has just signed in. */
export const enter = async (asked = false): Promise<void> => {
  const before = session
  try {
    const [meta, session] = await Promise.all([
      readMeta(),
      config.signIn === "password" ? client.auth.session().catch(() => null) : null,
      loadFrame?.()
    ])
    keepDraftsOf(meta.user.id)
    if (before.state === "in" && before.meta.user.id !== meta.user.id) {
      // Another user has signed in. No data of the first user may stay on the page.
      location.reload()
      return
    }
    put({ state: "in", meta, user: session?.user ?? null, ended: false })
    if (asked) channel?.postMessage("in")
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401) put(before.state === "in" ? before : { state: "out" })
    else if (before.state !== "in") put({ state: "failed", error })
    if (asked) throw error
  }
}

/** The page of mailed links works with and without a session. It is left by loading another page. */
export const isReset = location.pathname === `${prefix}/-/reset`

/** Asks who is signed in, and loads the frame meanwhile. */
export const begin = (load: () => Promise<void>): void => {
  loadFrame = load
  if (!isReset) void enter()
}

/** Whether the answer is from a source and not from the own service. */
const isForeign = ({ url }: ProblemError, meta: MetaDocument): boolean =>
  meta.sources.some((source) => url.startsWith(source.url.slice(0, source.url.lastIndexOf("/") + 1)))

/** Call this with the error of every failed call. True: it is a 401 of the own service, so the session has ended, and the user is asked to sign in again. */
export const noticeFailure = (error: unknown): boolean => {
  if (!(error instanceof ProblemError && error.status === 401) || session.state !== "in") return false
  if (isForeign(error, session.meta)) return false
  if (!session.ended) put({ ...session, ended: true })
  return true
}

/** Ends the session in every tab. The page is reloaded, so that no data stays on it. */
export const leave = async (): Promise<void> => {
  await client.auth.signOut().catch(() => undefined)
  keepDraftsOf(null)
  keepIn(false)
  channel?.postMessage("out")
  leaveApp(prefix === "" ? "/" : prefix)
}

/** Signs out. If drafts would be lost, the app asks first. */
export const signOut = (): void => {
  if (hasDrafts()) openOverlay("sign-out")
  else void leave()
}

channel?.addEventListener("message", ({ data }) => {
  if (data === "out" && session.state === "in") {
    endToken()
    put({ ...session, ended: true })
  }
  if (data === "in" && (session.state === "out" || (session.state === "in" && session.ended))) void enter()
})

/** Reads the meta document again after the service has reported a new version. */
const refresh = async (): Promise<void> => {
  const before = session
  if (before.state !== "in" || before.ended) return
  try {
    const meta = await client.meta()
    // The session may have ended meanwhile.
    if (session.state === "in" && meta !== session.meta) put({ ...session, meta })
  } catch (error) {
    noticeFailure(error)
  }
}
client.onMetaVersion(() => void refresh())
addEventListener("focus", () => void refresh())

const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useSession = (): Session => useSyncExternalStore(subscribe, () => session)
