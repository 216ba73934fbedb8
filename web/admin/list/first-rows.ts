/**
 * The rows that are asked for before the list is drawn. The list takes them over if it asks for the very same ones, and asks anew if not. They are taken once.
 */

import type { Resource } from "../model/catalogue.ts"
import { type AnyPage, resourceClient } from "../model/client.ts"
import { pageSize, type parametersOf } from "./asked.ts"

type Parameters = ReturnType<typeof parametersOf>

export interface BegunRows {
  readonly answer: Promise<AnyPage>
  /** Once it is there. */
  page?: AnyPage
}

let begun: BegunRows & { readonly question: string } | null = null

const questionOf = (resource: Resource, parameters: Parameters): string => JSON.stringify([resource.name, parameters])

export const beginRows = (resource: Resource, parameters: Parameters): Promise<AnyPage> => {
  const answer = resourceClient(resource.name).search({ ...parameters, page_size: pageSize })
  const asked: typeof begun = { question: questionOf(resource, parameters), answer }
  begun = asked
  // A refusal is told by whoever takes the rows over.
  answer.then((page) => asked.page = page, () => undefined)
  return answer
}

/** The first list takes them; any other list than that begins on its own. */
export const takeRows = (resource: Resource, parameters: Parameters): BegunRows | null => {
  const found = begun?.question === questionOf(resource, parameters) ? begun : null
  begun = null
  return found
}
