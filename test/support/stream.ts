/** Listens to a stream of `:watch` as it comes over HTTP: its events, the marks that it is taken up by, and its end. */

export interface Heard {
  readonly status: number
  readonly headers: Headers
  /** The text of a refusal; empty for a stream. */
  readonly refusal: string
  readonly events: Array<
    { readonly id: string; readonly event: string; readonly data: { readonly [name: string]: unknown } }
  >
  readonly marks: string[]
  readonly ended: () => boolean
  readonly close: () => void
}

/** `fetch` calls as somebody. It comes back once the stream stands, or with what refused it. */
export const listen = async (
  fetch: (path: string, init: RequestInit) => Promise<Response>,
  until: (holds: () => boolean, what?: string) => Promise<void>,
  path: string,
  lastId?: string
): Promise<Heard> => {
  const controller = new AbortController()
  const response = await fetch(path, {
    signal: controller.signal,
    headers: lastId === undefined ? {} : { "last-event-id": lastId }
  })
  const events: Heard["events"] = []
  const marks: string[] = []
  let ended = false
  const streams = response.status === 200
  const refusal = streams ? "" : await response.text()
  const reader = streams ? response.body!.pipeThrough(new TextDecoderStream()).getReader() : null
  const read = async (): Promise<void> => {
    let text = ""
    for (;;) {
      const { done, value } = await reader!.read()
      if (done) return
      text += value
      const parts = text.split("\n\n")
      text = parts.pop()!
      for (const part of parts) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1]
        if (field("id") !== undefined) marks.push(field("id")!)
        if (field("data") !== undefined) {
          events.push({
            id: field("id") ?? "",
            event: field("event")!,
            data: JSON.parse(field("data")!) as { readonly [name: string]: unknown }
          })
        }
      }
    }
  }
  const cancel = (): void => void reader?.cancel().catch(() => undefined)
  controller.signal.addEventListener("abort", cancel)
  if (streams) {
    read().catch(() => undefined).finally(() => {
      ended = true
    })
    await until(() => marks.length > 0 || ended, "a first mark")
  }
  return {
    status: response.status,
    headers: response.headers,
    refusal,
    events,
    marks,
    ended: () => ended,
    close: () => controller.abort()
  }
}
