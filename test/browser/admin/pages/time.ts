/** The timeouts of a page, which `page.clock` does not know. */

/** Makes timeouts of a page end when `timeIsUp` is called, and not before. */
export const timeByHand = (): void => {
  const given: Array<readonly [milliseconds: number, end: AbortController]> = []
  AbortSignal.timeout = (milliseconds) => {
    const end = new AbortController()
    given.push([milliseconds, end])
    return end.signal
  }
  Object.assign(globalThis, {
    endTimeouts: () =>
      given.splice(0).map(([milliseconds, end]) => {
        end.abort(new DOMException("Time is up.", "TimeoutError"))
        return milliseconds
      })
  })
}
/** Ends all timeouts of a page that has its time by hand, and gives what they were given. */
export const timeIsUp = (): readonly number[] =>
  (globalThis as unknown as { readonly endTimeouts: () => readonly number[] }).endTimeouts()
