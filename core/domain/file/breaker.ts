/** Whether a storage that does not answer is asked again: after some failures in a row it is left alone for a while. It counts, and asks nothing itself. */

/** Failures in a row after which a storage counts as down, and milliseconds until it is asked again. */
const breakerLimits = { failures: 3, pauseMs: 5_000 } as const

/** The breaker of one provider in this process. Times are milliseconds since 1970. */
export class Breaker {
  #failures = 0
  #until = 0

  /** Whether the storage is left alone now. */
  isOpen(now: number): boolean {
    return now < this.#until
  }

  /** Notes an answer. The first call after a pause decides whether there is another. */
  note(answered: boolean, now: number): void {
    this.#failures = answered ? 0 : this.#failures + 1
    if (this.#failures >= breakerLimits.failures) this.#until = now + breakerLimits.pauseMs
  }
}
