/** How many records resources have, for the sidebar: all that are asked for at about the same time are one request. */

import { ownClient } from "../model/client.ts"

export interface Size {
  readonly total_size_estimate: number
  readonly total_size_accuracy?: "exact" | "estimate" | "counting"
}

type Sizes = { readonly [resource: string]: Size }

/** Most resources of one request, as the service has it. */
const most = 50

/** Milliseconds that a question waits for others. */
const collectMs = 20

let waiting = new Map<string, Array<(answer: Promise<Sizes>) => void>>()

const send = (): void => {
  const asked = waiting
  waiting = new Map()
  const names = [...asked.keys()]
  for (let from = 0; from < names.length; from += most) {
    const some = names.slice(from, from + most)
    const answer = ownClient.request<{ readonly sizes: Sizes }>({
      method: "GET",
      path: "/sizes",
      system: true,
      query: { resources: some.join(",") }
    }).then(({ data }) => data.sizes)
    for (const name of some) for (const give of asked.get(name) ?? []) give(answer)
  }
}

/** The size of a resource of the own service; null where the service does not tell. */
export const sizeOf = async (resource: string): Promise<Size | null> => {
  const answer = await new Promise<Sizes>((resolve) => {
    if (waiting.size === 0) setTimeout(send, collectMs)
    waiting.set(resource, [...waiting.get(resource) ?? [], resolve])
  })
  return answer[resource] ?? null
}
