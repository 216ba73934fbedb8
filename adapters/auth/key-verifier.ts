/**
 * Verification of API keys. A key is remembered by its id and the hash of its text until the key or its maker changes. What it opens
 * follows from both as stored. It never opens more than its maker may, and nothing once the maker is gone.
 */

import * as crypto from "node:crypto"
import { judgeKey, keyPrefix, type KeyText, readKeyText } from "../../core/domain/account/api-key.ts"
import { Expired, type Identity, KeysUnavailable, Refused, Unauthorized } from "./authenticator.ts"
import { makeCache } from "./cache.ts"
import { outageIn } from "./database.ts"
import type { AuthInternals } from "./internals.ts"
import { makeKeptSeals } from "./kept-seals.ts"
import { deletedEpoch, revokedKey } from "./migration.ts"

/** Milliseconds after which a known key is read again, changed or not. They are fewer than the time that revocations are kept. */
const knownMs = 5 * 60_000
/** Milliseconds between two notes of a key's use. */
const usedMs = 60_000

interface Row {
  readonly hash: string
  readonly roles: string
  readonly epoch: string
  readonly expires: string
  readonly revoked: boolean
  readonly userId: string
  readonly userRole: string
  readonly userEpoch: string
  readonly barred: boolean
}

/** What is known of a key. `identity` null: it opens nothing, for the reason in `why`. */
interface Entry {
  /** Null: there is no such key. */
  readonly hash: Buffer | null
  readonly epoch: number
  readonly maker: string
  readonly makerEpoch: number
  readonly expiresAt: number
  readonly identity: Identity | null
  readonly why: string
  /** Whether the maker has none of the key's roles any more: a valid credential that may do nothing. */
  readonly narrowed: boolean
  readonly readAt: number
  usedAt: number
}

/** Whether a bearer text claims to be a key. */
export const isKeyText = (text: string): boolean => text.startsWith(keyPrefix)

/** Answers the identity behind a key's text; an answer that is known comes without a promise. */
export const makeKeyVerifier = (
  internals: AuthInternals,
  tenant: string | number | undefined
): (text: string) => Identity | Promise<Identity> => {
  const { log, onError, revocations, sealer, store, table } = internals
  const keptSeals = makeKeptSeals(store, table)
  const cache = makeCache<Entry>(10_000)
  const reading = new Map<string, Promise<Entry>>()

  const identityOf = (id: string, roles: readonly string[]): Identity =>
    Object.freeze({ user: Object.freeze({ id, roles }), ...(tenant === undefined ? {} : { tenant }) })

  const read = async (id: string): Promise<Entry> => {
    const readAt = performance.now()
    let rows: readonly Row[]
    try {
      // One statement, so that key and maker are read at one moment. A later change raises an epoch above those that were read.
      rows = await store.query<Row>(
        `select k."hash", k."roles", k."epoch"::text as epoch, k."revokedAt" is not null as revoked,`
          + ` floor(extract(epoch from k."expiresAt") * 1000)::text as expires, u."id" as "userId",`
          + ` coalesce(u."role", '') as "userRole", u."tokenEpoch"::text as "userEpoch",`
          + ` coalesce(u."banned", false) and (u."banExpires" is null or u."banExpires" > now()) as barred`
          + ` from ${table("apiKey")} k join ${table("user")} u on u."id" = k."userId" where k."id" = $1`,
        [id]
      )
    } catch (cause) {
      if (outageIn(cause) !== null) throw new KeysUnavailable("the key cannot be looked up", { cause })
      throw cause
    }
    const [row] = rows
    const gone = {
      narrowed: false,
      maker: "",
      makerEpoch: deletedEpoch,
      expiresAt: Infinity,
      identity: null,
      readAt,
      usedAt: Infinity
    }
    if (row === undefined) return { ...gone, hash: null, epoch: deletedEpoch, why: "there is no such key" }
    const standing = judgeKey({ role: row.roles, revoked: row.revoked }, { role: row.userRole, barred: row.barred })
    return {
      hash: Buffer.from(row.hash, "hex"),
      epoch: Number(row.epoch),
      maker: row.userId,
      makerEpoch: Number(row.userEpoch),
      expiresAt: Number(row.expires),
      ...(standing.opens === null
        ? { identity: null, why: standing.why, narrowed: standing.narrowed }
        : { identity: identityOf(row.userId, standing.opens), why: "", narrowed: false }),
      readAt,
      usedAt: -Infinity
    }
  }

  const reread = (id: string): Promise<Entry> => {
    const pending = reading.get(id)
    if (pending !== undefined) return pending
    const started = read(id).then((fresh) => {
      fresh.usedAt = Math.max(fresh.usedAt, cache.get(id)?.usedAt ?? -Infinity)
      cache.set(id, fresh)
      return fresh
    }).finally(() => reading.delete(id))
    reading.set(id, started)
    return started
  }

  const noteUse = async (id: string, user: string): Promise<void> => {
    const [used] = await store.query<{ readonly first: boolean }>(
      `update ${table("apiKey")} set "lastUsedAt" = now(), "firstUsedAt" = coalesce("firstUsedAt", now())`
        + ` where "id" = $1 and ("lastUsedAt" is null or "lastUsedAt" < now() - interval '1 minute')`
        + ` returning "firstUsedAt" = "lastUsedAt" as first`,
      [id]
    )
    if (used?.first === true) log({ level: "info", event: "key-used-first", user, key: id })
  }

  /** What is known, if neither the key nor its maker has changed since. */
  const isCurrent = (id: string, entry: Entry): boolean | Promise<boolean> => {
    const ofKey = revocations.counts(revokedKey(id), entry.epoch)
    const ofMaker = entry.maker === "" ? true : revocations.counts(entry.maker, entry.makerEpoch)
    return typeof ofKey === "boolean" && typeof ofMaker === "boolean"
      ? ofKey && ofMaker
      : Promise.all([ofKey, ofMaker]).then(([one, other]) => one && other)
  }

  const judge = (id: string, digest: Buffer, entry: Entry): Identity => {
    if (entry.hash === null || !crypto.timingSafeEqual(digest, entry.hash)) {
      throw new Unauthorized("there is no such key")
    }
    if (entry.expiresAt <= Date.now()) throw new Expired("the key has expired")
    if (entry.identity === null) {
      throw entry.narrowed ? new Refused(entry.why) : new Unauthorized(entry.why)
    }
    const now = performance.now()
    if (now - entry.usedAt > usedMs) {
      entry.usedAt = now
      noteUse(id, entry.maker).catch(onError)
    }
    return entry.identity
  }

  /** Guessed and invented keys end here. They cost one query a minute, all of them together. */
  const checkSeal = async (key: KeyText): Promise<void> => {
    try {
      if (await keptSeals(key)) return
    } catch (cause) {
      if (outageIn(cause) !== null) throw new KeysUnavailable("the key cannot be looked up", { cause })
      throw cause
    }
    throw new Unauthorized("the API key was not made here")
  }

  return (text) => {
    const key = readKeyText(text)
    const id = key?.id ?? ""
    const digest = crypto.hash("sha256", text, "buffer")
    const entry = cache.get(id)
    if (entry === undefined || performance.now() - entry.readAt > knownMs) {
      if (key === null) throw new Unauthorized("the API key was not made here")
      if (!sealer.isSealed(key)) {
        return checkSeal(key).then(() => reread(id)).then((fresh) => judge(id, digest, fresh))
      }
      // The list of changes may be older than what is read now. Then it only causes another reading; it never hides a change.
      return reread(id).then((fresh) => judge(id, digest, fresh))
    }
    const current = isCurrent(id, entry)
    if (current === true) return judge(id, digest, entry)
    return Promise.resolve(current).then(async (still) => judge(id, digest, still ? entry : await reread(id)))
  }
}
