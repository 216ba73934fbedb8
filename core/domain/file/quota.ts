/**
 * How much a provider may hold (docs/guides/files.md#providers): the count of stored files, the space reserved by running uploads, and
 * whether another file fits. It counts, and lists nothing itself.
 */

/** What a provider holds, or may hold. */
export interface Amount {
  readonly bytes: number
  readonly files: number
}

/** Null: no limit. */
export interface QuotaLimits {
  readonly maxBytes: number | null
  readonly maxFiles: number | null
}

/** How long a count is valid: five minutes. */
export const countedMs = 5 * 60_000

export const isLimited = ({ maxBytes, maxFiles }: QuotaLimits): boolean => maxBytes !== null || maxFiles !== null

/** The count of one provider in this process: a list from time to time, the writes of this process since then, and running uploads. */
export class Quota {
  readonly limits: QuotaLimits
  #counted: Amount = { bytes: 0, files: 0 }
  #countedAt: number | null = null
  #pending: Amount = { bytes: 0, files: 0 }
  /** What was stored since the running list began. The list may or may not include it. */
  #since: Amount = { bytes: 0, files: 0 }

  constructor(limits: QuotaLimits) {
    this.limits = limits
  }

  /** Whether what is held has to be listed before the next upload. */
  isStale(now: number): boolean {
    return isLimited(this.limits) && (this.#countedAt === null || now - this.#countedAt >= countedMs)
  }

  /** A list begins. */
  begin(): void {
    this.#since = { bytes: 0, files: 0 }
  }

  /**
   * A list has ended with this amount. What was stored meanwhile is added even if the list included it: an overestimate is safer than an
   * underestimate.
   */
  count(held: Amount, now: number): void {
    this.#counted = { bytes: held.bytes + this.#since.bytes, files: held.files + this.#since.files }
    this.#countedAt = now
  }

  /** Whether this much more fits, beside stored files and running uploads. */
  fits({ bytes, files }: Amount): boolean {
    const { maxBytes, maxFiles } = this.limits
    return (maxBytes === null || this.#counted.bytes + this.#pending.bytes + bytes <= maxBytes) &&
      (maxFiles === null || this.#counted.files + this.#pending.files + files <= maxFiles)
  }

  /** Reserves space for an upload until `release`. */
  reserve({ bytes, files }: Amount): void {
    this.#pending = { bytes: this.#pending.bytes + bytes, files: this.#pending.files + files }
  }

  release({ bytes, files }: Amount): void {
    this.#pending = {
      bytes: Math.max(0, this.#pending.bytes - bytes),
      files: Math.max(0, this.#pending.files - files)
    }
  }

  /** This process stored something, or removed something (negative numbers). */
  add({ bytes, files }: Amount): void {
    this.#counted = {
      bytes: Math.max(0, this.#counted.bytes + bytes),
      files: Math.max(0, this.#counted.files + files)
    }
    this.#since = { bytes: Math.max(0, this.#since.bytes + bytes), files: Math.max(0, this.#since.files + files) }
  }
}
