/**
 * The port to signatures over texts that leave the service and come back, as links do. Synchronous, because every record with a file needs it.
 *
 * Contract (test/contracts/signer.ts runs it against every implementation): `sign` is a keyed hash that nobody without the secret can make, the
 * same in every instance that shares the secret; `verify` accepts that signature and no other, and takes the same time for every wrong one. Of several
 * secrets the first signs, and `verify` accepts the signatures of each.
 */

import * as Context from "effect/Context"

export interface SignerService {
  /** 43 characters of base64url. */
  readonly sign: (text: string) => string
  readonly verify: (text: string, signature: string) => boolean
}

/** Signatures of links to files. */
export class Signer extends Context.Service<Signer, SignerService>()("resource-admin/Signer") {}
