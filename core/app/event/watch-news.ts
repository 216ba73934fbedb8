/** The texts of a stream of changes, and the marks by which it goes on. It knows no stream. */

import { recordChange, type StoredChange } from "../../domain/event/change.ts"
import { type Telling, tellingOf, type Told } from "../../domain/event/watch.ts"
import type { Model } from "../../domain/model/model.ts"

/** For how long a stream can be resumed, in seconds. */
const resumableSeconds = 600

/** A change for those who follow. */
export interface News extends Telling {
  readonly textOf: (told: readonly Told[]) => string
}

const newsOf = (model: Model, at: string, stored: StoredChange, now: number): News | null => {
  const change = recordChange(model, stored)
  if (change === null) return null
  const id = markOf(at, Math.floor(now / 1_000))
  const texts = new Map<string, string>()
  const write = (told: readonly Told[]): string =>
    told.map(({ key, kind }, i) => {
      const data = { key, operation: change.operation, sequence: stored.sequence, kind }
      // A stream goes on after an id: the first of two events of one change has none.
      return `${i === told.length - 1 ? `id: ${id}\n` : ""}event: change\ndata: ${JSON.stringify(data)}\n\n`
    }).join("")
  return {
    ...tellingOf(change, BigInt(now) * 1000n),
    textOf: (told) => {
      const name = told.map(({ kind }) => kind).join()
      let text = texts.get(name)
      if (text === undefined) texts.set(name, text = write(told))
      return text
    }
  }
}

/** The news of one round, by resource and position. All streams of a resource share them. Null: the API could not have seen the change. */
export const makeNews = () => {
  const cache = new Map<string, News | null>()
  return (model: Model, at: string, stored: StoredChange, now: number): News | null => {
    const name = `${model.name} ${at}`
    let news = cache.get(name)
    if (news === undefined) cache.set(name, news = newsOf(model, at, stored, now))
    return news
  }
}

/** The id of a stream's place: a position, and when it was there in unix seconds. */
export const markOf = (position: bigint | string, seconds: number): string => `${position}-${seconds}`

/** Where a stream resumes: the position of a `Last-Event-ID` that is not too old. */
export const resumeAt = (mark: string | null, seconds: number): { readonly position: string } | "too-old" | null => {
  if (mark === null) return null
  const parts = /^(\d{1,19})-(\d{1,12})$/.exec(mark)
  if (parts === null) return "too-old"
  const age = seconds - Number(parts[2])
  return age < -60 || age > resumableSeconds ? "too-old" : { position: parts[1]! }
}
