/** The worker that solves a form's proof of work: it receives the challenge and answers the number. */

import { solver } from "./solve.ts"

const scope = globalThis as {
  onmessage?: ((message: { readonly data: { readonly challenge: string; readonly difficulty: number } }) => void) | null
  postMessage?: (solution: string) => void
}

scope.onmessage = ({ data }) => {
  const tryNext = solver(data.challenge, data.difficulty)
  for (;;) {
    const solution = tryNext(1 << 20)
    if (solution !== null) return scope.postMessage?.(solution)
  }
}
