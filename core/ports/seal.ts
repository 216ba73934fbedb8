/**
 * The port to keyed hashing and sealing. Synchronous, because every page and every record needs it.
 *
 * Contract (test/contracts/seal.ts runs it against every implementation): `digest` is a keyed hash, the same in every instance that shares the
 * secret; nobody without the secret can test guesses. `seal` encrypts and authenticates `text` together with `context`, to another token each
 * time; `open` gives the text back only for the same context and an untouched token, else null. Tokens are URL-safe text. Of several secrets the first
 * digests and seals, and each opens what it has sealed.
 */

import * as Context from "effect/Context"

export interface SealService {
  /** 22 characters of base64url (128 bits and a little). */
  readonly digest: (text: string) => string
  /** The digests under all secrets, that of the first one first: for comparing with a digest that an instance with another first secret gave out. */
  readonly digests: (text: string) => readonly string[]
  /** SHA-256 of the text in UTF-8, in hexadecimal. It has no key: for what a digest is made of. */
  readonly hash: (text: string) => string
  readonly seal: (context: string, text: string) => string
  readonly open: (context: string, token: string) => string | null
}

/** The service's own seal: of page tokens, ETags and secrets. */
export class Seal extends Context.Service<Seal, SealService>()("resource-admin/Seal") {}
