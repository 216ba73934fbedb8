/**
 * How much a provider may hold (spec 2, Providers and configuration, 7): the count of what is there, what uploads under way may add, and whether
 * one more fits. It counts; it lists nothing itself.
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

/** How long a count is good: five minutes. */
export const countedMs = 5 * 60_000

export const isLimited = ({ maxBytes, maxFiles }: QuotaLimits): boolean => maxBytes !== null || maxFiles !== null

/** The count of one provider in this process: a list now and then, own writes in between, and uploads under way. */
export class Quota {
  readonly limits: QuotaLimits
  #counted: Amount = { bytes: 0, files: 0 }
  #countedAt: number | null = null
  #pending: Amount = { bytes: 0, files: 0 }
  /** What was stored since the list of a count began: a list may or may not have seen it. */
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

  /** A list has ended with this amount. What was stored meanwhile counts too, seen or not: rather too much than too little. */
  count(held: Amount, now: number): void {
    this.#counted = { bytes: held.bytes + this.#since.bytes, files: held.files + this.#since.files }
    this.#countedAt = now
  }

  /** Whether so much more fits beside what is there and what is under way. */
  fits({ bytes, files }: Amount): boolean {
    const { maxBytes, maxFiles } = this.limits
    return (maxBytes === null || this.#counted.bytes + this.#pending.bytes + bytes <= maxBytes) &&
      (maxFiles === null || this.#counted.files + this.#pending.files + files <= maxFiles)
  }

  /** Bytes that are left for one upload. */
  room(): number {
    const { maxBytes } = this.limits
    return maxBytes === null
      ? Number.POSITIVE_INFINITY
      : Math.max(0, maxBytes - this.#counted.bytes - this.#pending.bytes)
  }

  /** Keeps room for an upload until `release`. */
  reserve({ bytes, files }: Amount): void {
    this.#pending = { bytes: this.#pending.bytes + bytes, files: this.#pending.files + files }
  }

  release({ bytes, files }: Amount): void {
    this.#pending = {
      bytes: Math.max(0, this.#pending.bytes - bytes),
      files: Math.max(0, this.#pending.files - files)
    }
  }

  /** Something was stored (or, with negative numbers, removed) by this process. */
  add({ bytes, files }: Amount): void {
    this.#counted = {
      bytes: Math.max(0, this.#counted.bytes + bytes),
      files: Math.max(0, this.#counted.files + files)
    }
    this.#since = { bytes: Math.max(0, this.#since.bytes + bytes), files: Math.max(0, this.#since.files + files) }
  }
}
