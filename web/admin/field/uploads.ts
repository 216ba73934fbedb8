/**
 * Uploads of a field that holds several files: a queue that sends one after the other, each with its progress and its problem. What is called off, or whose
 * form was discarded, gives no ticket.
 */

import { useEffect, useRef, useState } from "react"
import { problemText } from "../ground/problem.tsx"
import { useLocale } from "../messages/locale.tsx"
import { client } from "../model/client.ts"
import { keepSent } from "./file-input.tsx"
import type { InputProps } from "./input-props.ts"

/** A file on its way, one that waits for its turn, or one that was refused. */
export interface Upload {
  readonly id: number
  readonly file: File
  /** Null: it waits. */
  readonly share: number | null
  readonly problem: string | null
}

let lastId = 0

export interface Uploads {
  readonly all: readonly Upload[]
  /** How many still go to the list. */
  readonly coming: number
  readonly add: (files: readonly File[], problemOf: (file: File) => string | null) => void
  readonly drop: (id: number) => void
}

/** Sends files one after the other. `onSent` is given each ticket, `onIdle` is called when none is left. */
export const useUploads = (
  { field, resource }: Pick<InputProps, "field" | "resource">,
  { discarded, onIdle, onSent }: {
    /** Changes when the form's change was discarded: what is under way goes with it. */
    readonly discarded: number
    readonly onSent: (ticket: string) => void
    readonly onIdle: () => void
  }
): Uploads => {
  const { t } = useLocale()
  const [all, setAll] = useState<readonly Upload[]>([])
  const queue = useRef<Upload[]>([])
  const running = useRef<{ readonly id: number; readonly abort: AbortController } | null>(null)
  /** The run that counts. Others were discarded. */
  const run = useRef(0)
  const calls = useRef({ onIdle, onSent })
  useEffect(() => {
    calls.current = { onIdle, onSent }
  })
  const stop = (): void => {
    run.current++
    queue.current = []
    running.current?.abort.abort()
    running.current = null
  }
  useEffect(() => stop, [])
  const before = useRef(discarded)
  useEffect(() => {
    if (before.current === discarded) return
    before.current = discarded
    stop()
    setAll([])
  }, [discarded])

  const change = (id: number, changes: Partial<Upload>): void =>
    setAll((now) => now.map((each) => each.id === id ? { ...each, ...changes } : each))
  const leave = (id: number): void => setAll((now) => now.filter((each) => each.id !== id))

  const work = async (): Promise<void> => {
    const own = run.current
    for (let next = queue.current.shift(); next !== undefined; next = queue.current.shift()) {
      const { file, id } = next
      const abort = new AbortController()
      running.current = { id, abort }
      change(id, { share: 0 })
      try {
        const uploaded = await client.upload(resource.name, field.name, file, {
          signal: abort.signal,
          onProgress: ({ loaded, total }) => change(id, { share: total === null || total === 0 ? 0 : loaded / total })
        })
        if (run.current !== own) return
        keepSent(uploaded, file)
        leave(id)
        calls.current.onSent(uploaded.value)
      } catch (error) {
        if (run.current !== own) return
        if (abort.signal.aborted) leave(id)
        else change(id, { share: null, problem: problemText(error, t) })
      }
    }
    running.current = null
    calls.current.onIdle()
  }

  return {
    all,
    coming: all.filter(({ problem }) => problem === null).length,
    add: (files, problemOf) => {
      const added = files.map((file): Upload => ({ id: ++lastId, file, share: null, problem: problemOf(file) }))
      setAll((now) => [...now, ...added])
      queue.current.push(...added.filter(({ problem }) => problem === null))
      if (running.current === null && queue.current.length > 0) void work()
    },
    drop: (id) => {
      if (running.current?.id === id) return running.current.abort.abort()
      queue.current = queue.current.filter((each) => each.id !== id)
      leave(id)
    }
  }
}
