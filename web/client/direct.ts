/**
 * Uploads straight to a bucket: the service signs a request, the file goes to the bucket with it, and the service is told that it is there. It is loaded
 * with the first of them.
 */

import { makeAttempts } from "./attempts.ts"
import type { Shared } from "./attempts.ts"
import type { Uploaded } from "./file.ts"
import type { SendOptions } from "./pieces.ts"
import type { Answer, FetchFunction } from "./transport.ts"

/** Failures in a row of the bucket. A rule that it lacks looks to a page like a line that is cut. */
const mostFailures = 5

interface Signed {
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string }
}

/** Sends a file straight to the bucket of its field. Null: the service takes none so, and the file can go another way. */
export const sendDirect = async (
  shared: Shared,
  resource: string,
  field: string,
  file: Blob,
  { fetchOf, name, once, signal, tell, type }: SendOptions
): Promise<Uploaded | null> => {
  const { ConnectionError, ProblemError, send } = shared
  const collection = `/${encodeURIComponent(resource)}:upload`
  let begun: Answer<Signed>
  try {
    begun = await send<Signed>({
      method: "POST",
      path: collection,
      query: { field, direct: 1 },
      json: { name, type, size: file.size },
      headers: once,
      repeatable: true,
      signal
    })
  } catch (error) {
    // A folder, a file that is too long for it, or an older service.
    const direct = error instanceof ProblemError && error.errors.some(({ parameter }) => parameter === "direct")
    if (direct) return null
    throw error
  }
  const id = /[^/]+$/.exec(begun.headers.get("location") ?? "")?.[0]
  if (id === undefined) throw new ConnectionError(null, "The answer is not the service's.")
  const { headers, method, url } = begun.data
  // Its length is the runtime's to say.
  const { "content-length": _, ...sent } = headers
  const put: FetchFunction = fetchOf?.(tell) ?? fetch
  const attempts = makeAttempts(shared, `${collection}/${id}`, signal)

  const bring = async (): Promise<void> => {
    let status: number
    try {
      const answer = await put(url, { method, headers: sent, body: file, redirect: "error", signal: signal ?? null })
      status = answer.status
      await answer.body?.cancel()
      if (answer.ok) return
    } catch (cause) {
      throw new ConnectionError(cause, "The bucket cannot be reached.")
    }
    throw new ConnectionError(
      status >= 500 || status === 429 ? status : null,
      `The bucket has refused the file, with status ${status}.`
    )
  }

  try {
    for (let there = false; !there;) {
      try {
        await bring()
        there = true
      } catch (error) {
        await attempts.wait(error, mostFailures)
      }
    }
    attempts.begin()
    tell(file.size)
    return (await attempts.repeated<Uploaded>({ method: "POST", path: `${collection}/${id}`, signal })).data
  } catch (error) {
    attempts.abandon()
    throw error
  } finally {
    attempts.end()
  }
}
