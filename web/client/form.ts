/**
 * Public forms: the description of a form, the proof of work against automated submissions, and sending. No call sends a token, so the service
 * cannot tell a visitor from a signed-in user.
 */

import type { MetaModel, MetaView } from "./meta.ts"
import { ProblemError } from "./problem.ts"
import { solver } from "./solve.ts"
import { pause, until } from "./transport.ts"
import type { Answer, Call, CallOptions } from "./transport.ts"
import type { Json } from "./typed.ts"

/** A form as its page needs it: the resource with the form's fields only, and the view's hints for them. Texts are texts, never markup. */
export interface FormDocument {
  readonly name: string
  readonly title?: string
  readonly fields: readonly string[]
  readonly thanks: string
  readonly resource: MetaModel
  readonly view: Partial<MetaView>
}

/** A proof-of-work challenge: valid for one submission of one form until it expires. */
export interface FormChallenge {
  readonly challenge: string
  /** Zero bits that the digest has to begin with. */
  readonly difficulty: number
  /** When it expires. */
  readonly expires: string
}

export interface FormProof {
  readonly challenge: string
  readonly solution: string
}

interface WorkerLike {
  onmessage: ((message: { readonly data: string }) => void) | null
  onerror: ((event: { readonly preventDefault?: () => void }) => void) | null
  postMessage: (challenge: FormChallenge) => void
  terminate: () => void
}

declare const Worker: new(url: URL, options: { readonly type: "module" }) => WorkerLike

const startWorker = (): WorkerLike | null => {
  try {
    return typeof Worker === "undefined"
      ? null
      : new Worker(new URL("./worker.ts", import.meta.url), { type: "module" })
  } catch {
    // A page whose policy allows no worker solves the challenge itself.
    return null
  }
}

/** Solves in slices, so that the page stays responsive. */
const solveHere = async (
  { challenge, difficulty }: FormChallenge,
  signal: AbortSignal | undefined
): Promise<string> => {
  const tryNext = solver(challenge, difficulty)
  for (;;) {
    const solution = tryNext(1 << 14)
    if (solution !== null) return solution
    await pause(0, signal)
  }
}

/** Finds the solution of a challenge, in a worker where there is one. About a second of work. */
export const solveChallenge = async (challenge: FormChallenge, options: CallOptions = {}): Promise<FormProof> => {
  const { signal } = options
  const worker = startWorker()
  let solution: string | null = null
  if (worker !== null) {
    const answered = new Promise<string | null>((resolve) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = (event) => {
        event.preventDefault?.()
        resolve(null)
      }
      worker.postMessage(challenge)
    })
    solution = await until(signal, answered).finally(() => worker.terminate())
  }
  return { challenge: challenge.challenge, solution: solution ?? await solveHere(challenge, signal) }
}

export interface FormClient {
  readonly form: (name: string, options?: CallOptions) => Promise<FormDocument>
  readonly formChallenge: (name: string, options?: CallOptions) => Promise<FormChallenge>
  /**
   * Sends a form. Without a proof it fetches a challenge and solves it. It does so once more when the first proof was not accepted. Refused fields
   * are in the problem's `fields`. A 429 `too-many-submissions` says how long to wait.
   */
  readonly submitForm: (
    name: string,
    values: { readonly [field: string]: Json },
    proof?: FormProof | null,
    options?: CallOptions
  ) => Promise<void>
}

export const makeForms = (send: <T>(call: Call) => Promise<Answer<T>>): FormClient => {
  const call = async <T>(method: string, name: string, verb: string, rest: Partial<Call>): Promise<T> => {
    const path = `/forms/${encodeURIComponent(name)}${verb}`
    return (await send<T>({ ...rest, method, path, system: true, token: false })).data
  }
  const formChallenge: FormClient["formChallenge"] = (name, options = {}) => call("GET", name, ":challenge", options)
  return {
    form: (name, options = {}) => call("GET", name, "", options),
    formChallenge,
    submitForm: async (name, values, proof, options = {}) => {
      const { signal } = options
      const post = async (given: FormProof): Promise<void> => {
        await call("POST", name, "", { json: { values, proof: given }, signal })
      }
      const solve = async (): Promise<FormProof> => solveChallenge(await formChallenge(name, options), options)
      if (proof != null) return post(proof)
      try {
        await post(await solve())
      } catch (error) {
        // The challenge may have expired while a slow or sleeping machine worked on it.
        if (!(error instanceof ProblemError && error.slug === "bot-check-failed")) throw error
        await post(await solve())
      }
    }
  }
}
