/** Filters that are meant to hurt: how long the service takes to answer each, one at a time. The answer itself is the tests' business. */

import type { State } from "./cases.ts"
import { once } from "./load.ts"

const longest = 200_000

const repeated = (text: string, length: number): string => text.repeat(Math.floor(length / text.length))

const filters: { readonly [name: string]: string } = {
  "10,000 parentheses": repeated("(", 10_000),
  "10,000 negations": repeated("NOT ", 40_000) + "status = paid",
  "99,990 values": `in(id,${repeated("1,", longest - 20)}1)`,
  "200,000 characters of one text": `note = "${repeated("x", longest - 20)}"`,
  "200,000 characters of conditions": `${repeated("id = 1 OR ", longest - 20)}id = 1`,
  "200,000 characters of words": repeated("word ", longest),
  "200,000 quotes": repeated("\"", longest),
  "200,000 backslashes": repeated("\\", longest)
}

export interface HostileAnswer {
  readonly name: string
  readonly status: number
  /** The median of five, in milliseconds. */
  readonly ms: number
}

export const hostileAnswers = async (state: State): Promise<readonly HostileAnswer[]> => {
  const answers: HostileAnswer[] = []
  for (const [name, filter] of Object.entries(filters)) {
    let status = 0
    const times: number[] = []
    for (let attempt = 0; attempt < 5; attempt++) {
      const begin = performance.now()
      const answer = await once(state.port, {
        method: "POST",
        path: "/api/v1/orders:search",
        headers: { Authorization: `Bearer ${state.world.keys.tokens.admin}` },
        body: JSON.stringify({ filter })
      })
      status = answer.status
      times.push(performance.now() - begin)
    }
    answers.push({ name, status, ms: times.sort((a, b) => a - b)[2]! })
  }
  return answers
}
