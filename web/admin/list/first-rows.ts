/**
 * The rows that are asked for before the list is drawn. The list takes them over if it asks for the very same ones, and asks anew if not. They are taken once,
 * at the address where the page began, and soon: a list that is opened later shows what is there by then.
 */

import { currentPlace } from "../ground/location.ts"
import type { Resource } from "../model/catalogue.ts"
import { type AnyPage, resourceClient } from "../model/client.ts"
import { pageSize, type parametersOf } from "./asked.ts"

type Parameters = ReturnType<typeof parametersOf>

export interface BegunRows {
  readonly answer: Promise<AnyPage>
  /** Once it is there. */
  page?: AnyPage
}

/** How long the rows wait for their list, in milliseconds. */
export const longestMs = 10_000

/** Null once they are taken or too old, or once a list has asked. */
let begun: BegunRows & { readonly question: string } | null | undefined

const questionOf = (resource: Resource, parameters: Parameters): string => JSON.stringify([resource.name, parameters])

/** Null if the list was first, or if the user has gone elsewhere. */
export const beginRows = (resource: Resource, parameters: Parameters): Promise<AnyPage> | null => {
  if (begun === null || currentPlace().turn > 0) return null
  const answer = resourceClient(resource.name).search({ ...parameters, page_size: pageSize })
  const asked: typeof begun = { question: questionOf(resource, parameters), answer }
  begun = asked
  // A refusal is told by whoever takes the rows over.
  answer.then((page) => asked.page = page, () => undefined)
  setTimeout(() => begun = null, longestMs)
  return answer
}

/** The first list takes them; any other list than that begins on its own. */
export const takeRows = (resource: Resource, parameters: Parameters): BegunRows | null => {
  const found = currentPlace().turn === 0 && begun?.question === questionOf(resource, parameters) ? begun : null
  begun = null
  return found
}
