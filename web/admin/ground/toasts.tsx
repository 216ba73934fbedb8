/**
 * Short messages: saves, with Undo for ten seconds, and failures. Screen readers announce them. They stay while the pointer is over them, and never take
 * the focus. Undo is a separate write with its own precondition. `Mod Z` runs the last Undo.
 */

import { X } from "lucide-react"
import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react"
import { useMessages } from "../messages/locale.tsx"
import style from "../style/frame.module.css"
import { shownKeys, useShortcut } from "./keys.ts"

export interface Toast {
  readonly id: number
  readonly text: string
  readonly tone: "plain" | "bad"
  /** Details, such as the request's id. */
  readonly detail?: string
  readonly undo?: () => void | Promise<void>
}

let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()

const put = (next: readonly Toast[]): void => {
  toasts = next
  for (const listener of listeners) listener()
}

/** Shows a message and returns its id. At most four are shown. */
export const say = (text: string, more: Partial<Omit<Toast, "id" | "text">> = {}): number => {
  const id = ++last
  put([...toasts.slice(-3), { id, text, tone: "plain", ...more }])
  return id
}

export const dismiss = (id: number): void => put(toasts.filter((toast) => toast.id !== id))

const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Milliseconds that a message stays. */
const lifetime = 10_000

const runUndo = (toast: Toast): void => {
  dismiss(toast.id)
  void toast.undo?.()
}

const ToastBox = ({ toast }: { readonly toast: Toast }): ReactNode => {
  const t = useMessages()
  const [held, setHeld] = useState(false)
  useEffect(() => {
    if (held || toast.tone === "bad") return
    const timer = setTimeout(() => dismiss(toast.id), lifetime)
    return () => clearTimeout(timer)
  }, [held, toast])
  return (
    <div
      className={`float ${style.toast}`}
      data-tone={toast.tone}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
    >
      <span className="grow">
        <bdi>{toast.text}</bdi>
        {toast.detail !== undefined && <small className="dim mono">{toast.detail}</small>}
      </span>
      {toast.undo !== undefined && (
        <button type="button" className="btn quiet" onClick={() => runUndo(toast)}>
          {t.shell.undo} <kbd>{shownKeys("mod+z").join(" ")}</kbd>
        </button>
      )}
      <button type="button" className="btn quiet bare" aria-label={t.shell.dismiss} onClick={() => dismiss(toast.id)}>
        <X className="icon" aria-hidden="true" />
      </button>
    </div>
  )
}

export const Toasts = (): ReactNode => {
  const visible = useSyncExternalStore(subscribe, () => toasts)
  useShortcut("mod+z", () => {
    const toast = toasts.findLast(({ undo }) => undo !== undefined)
    if (toast === undefined) return false
    runUndo(toast)
    return undefined
  })
  return (
    <div className={style.toasts} role="status" aria-live="polite" aria-relevant="additions">
      {visible.map((toast) => <ToastBox key={toast.id} toast={toast} />)}
    </div>
  )
}
