/**
 * The public keys that tokens are verified with. They are read once, again every ten minutes in the background, and once more when a token
 * names an unknown key. It picks the one key that a header may mean, and never takes a key from a token.
 */

import type { CryptoKey, JWK } from "jose"
import { importJWK } from "jose/key/import"
import { isBag } from "../../core/domain/bag.ts"
import { KeysUnavailable, Unauthorized } from "./authenticator.ts"

/** A JWK set (RFC 7517, 5). */
export interface KeySet {
  readonly keys: readonly JWK[]
}

/** Settings of a key cache (docs/guides/authentication.md#tokens). */
export interface KeyCache {
  /** Milliseconds after which the keys are read again; default 10 minutes. */
  readonly refreshMs?: number | undefined
  /** Fewest milliseconds between two readings because of unknown key ids; default 30 seconds. */
  readonly minReloadMs?: number | undefined
}

export interface KeySource {
  /** The key a token's header names. Fails with `Unauthorized` when there is none, `KeysUnavailable` when no keys can be read. */
  readonly find: (alg: string, kid: string | undefined) => Promise<CryptoKey | Uint8Array>
  /** Starts a background reading when one is due. Cheap: called on every hit. */
  readonly touch: () => void
}

interface Key {
  readonly jwk: JWK
  readonly text: string
  readonly imported: Map<string, Promise<CryptoKey | Uint8Array>>
}

const curves: { readonly [alg: string]: string } = {
  ES256: "P-256",
  ES384: "P-384",
  ES512: "P-521",
  EdDSA: "Ed25519",
  Ed25519: "Ed25519"
}

const typeOf = (alg: string): string =>
  alg.startsWith("HS") ? "oct" : alg.startsWith("ES") ? "EC" : alg.startsWith("Ed") ? "OKP" : "RSA"

const sameAlgorithm = (one: string, other: string): boolean =>
  one === other || (curves[one] === "Ed25519" && curves[other] === "Ed25519")

const fits = ({ jwk }: Key, alg: string, kid: string | undefined): boolean =>
  jwk.kty === typeOf(alg)
  && (kid === undefined || jwk.kid === kid)
  && (curves[alg] === undefined || jwk.crv === curves[alg])
  && (typeof jwk.alg !== "string" || sameAlgorithm(jwk.alg, alg))
  && (jwk.use === undefined || jwk.use === "sig")
  && (!Array.isArray(jwk.key_ops) || jwk.key_ops.includes("verify"))

const isKey = (value: unknown): value is JWK => isBag(value) && typeof value["kty"] === "string"

/** The keys of a set as in its document. Entries that are no keys are left out. A set without any key is refused, unless it may be empty. */
const readKeys = (set: unknown, mayBeEmpty: boolean): readonly JWK[] => {
  const keys = isBag(set) ? set["keys"] : undefined
  const read = Array.isArray(keys) ? keys.filter(isKey) : []
  if (read.length === 0 && !mayBeEmpty) throw new Error("the key set has no keys")
  return read
}

/**
 * A key source over `load`, which answers a JWK set. `dropped` is called when a key is gone, for what was verified with it. `mayBeEmpty`: the set is one's own, and has no
 * key before the first token.
 */
export const makeKeys = (
  load: () => Promise<unknown>,
  cache: KeyCache = {},
  dropped: () => void = () => {},
  mayBeEmpty = false
): KeySource => {
  const refreshMs = cache.refreshMs ?? 600_000
  const minReloadMs = cache.minReloadMs ?? 30_000
  let keys: readonly Key[] | undefined
  let readAt = -Infinity
  let triedAt = -Infinity
  let unknownAt = -Infinity
  let reading: Promise<void> | undefined

  const read = async (): Promise<void> => {
    triedAt = performance.now()
    const next = readKeys(await load(), mayBeEmpty).map((jwk): Key => {
      const text = JSON.stringify(jwk)
      return keys?.find((key) => key.text === text) ?? { jwk, text, imported: new Map() }
    })
    const gone = keys?.some((key) => !next.includes(key)) ?? false
    keys = next
    readAt = performance.now()
    if (gone) dropped()
  }
  const reload = (): Promise<void> =>
    reading ??= read().finally(() => {
      reading = undefined
    })
  // A failed reading keeps the known keys. The next one is tried after a pause.
  const due = (): boolean => {
    const now = performance.now()
    return now - readAt > refreshMs && now - triedAt > Math.min(refreshMs, 10_000)
  }
  const reloaded = (): Promise<boolean> => reload().then(() => true, () => false)

  const pick = (alg: string, kid: string | undefined): Key | undefined => {
    const fitting = keys?.filter((key) => fits(key, alg, kid)) ?? []
    return fitting.length === 1 ? fitting[0] : undefined
  }

  return {
    touch: () => {
      if (due()) void reloaded()
    },
    find: async (alg, kid) => {
      const first = keys === undefined || keys.length === 0
      if (first) {
        if (reading === undefined && performance.now() - triedAt < 1_000) {
          if (keys !== undefined) throw new Unauthorized("no token was signed here yet")
          throw new KeysUnavailable("the key set could not be read a moment ago")
        }
        await reload().catch((cause: unknown) => {
          throw new KeysUnavailable("the key set cannot be read", { cause })
        })
      } else if (due()) {
        // After a long pause the old keys count only once the new ones were asked for.
        const reloading = reloaded()
        if (performance.now() - readAt > 2 * refreshMs) await reloading
      }
      let key = pick(alg, kid)
      if (key === undefined && kid !== undefined && !(keys?.some(({ jwk }) => jwk.kid === kid) ?? false)) {
        if (reading !== undefined) {
          await reloaded()
        } else if (!first && performance.now() - unknownAt >= minReloadMs) {
          unknownAt = performance.now()
          await reloaded()
        }
        key = pick(alg, kid)
      }
      if (key === undefined) throw new Unauthorized("the token names no key of the set")
      const earlier = key.imported.get(alg)
      if (earlier !== undefined) return earlier
      const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, oth: _oth, ...publicPart } = key.jwk
      const imported = importJWK(publicPart, alg)
      key.imported.set(alg, imported)
      return imported
    }
  }
}

/** Milliseconds that an answer over HTTP may take. */
const timeoutMs = 5_000

/**
 * Reads JSON over HTTP: at most 5 seconds and so many bytes, no redirect. Reading stops there, because an endless answer would fill the
 * memory.
 */
export const fetchJson = async (
  url: string,
  most: number,
  request: Pick<RequestInit, "body" | "method"> & { readonly headers?: Readonly<Record<string, string>> } = {}
): Promise<unknown> => {
  const { body, ok, status } = await fetch(url, {
    ...request,
    headers: { accept: "application/json", ...request.headers },
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs)
  })
  if (!ok) {
    await body?.cancel()
    throw new Error(`the server answered ${status}`)
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > most) throw new Error("the answer is too large")
    chunks.push(chunk)
  }
  return JSON.parse(new TextDecoder().decode(Buffer.concat(chunks)))
}

/** Reads a key set over HTTP: at most 5 seconds, 1 MiB, no redirect. */
export const fetchKeys = (url: string) => (): Promise<unknown> => fetchJson(url, 1_048_576)
