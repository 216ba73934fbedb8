/** Who is calling, and the seal of what the service gives out and takes back. */

import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { tokensOf } from "../../adapters/auth/authenticator.ts"
import { makeSeal } from "../../adapters/seal/seal.ts"
import { Seal } from "../../core/ports/seal.ts"
import { Tokens } from "../../core/ports/tokens.ts"
import { Deployment } from "../deployment.ts"

/** Credentials and seals. */
export const auth = Layer.merge(
  Layer.effect(Tokens, Effect.map(Deployment, ({ authenticator }) => tokensOf(authenticator))),
  Layer.effect(Seal, Effect.map(Deployment, ({ secret }) => makeSeal(secret)))
)
