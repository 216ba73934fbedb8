/**
 * Hooks: requests of other systems, which prove who they are by a signature. These are the declared form and the compiled form. Other modules judge
 * declarations, verify requests and run the work.
 */

import type { JobContext, JobDeclaration, JobModel } from "../job/definition.ts"
import type { EnqueueOptions } from "../job/enqueue.ts"
import type { StandardSchema } from "../value/standard-schema.ts"

/** Largest body of a message, in bytes. */
export const largestBody = 1024 * 1024

/** How requests are signed, as far as the service knows it. */
export type SignatureScheme = "standard" | "stripe" | "github"

/** Who may sign: one secret, or several while one takes the place of another. Undefined, as of a missing variable, refuses to start. */
export interface HookSecrets {
  readonly secret?: string | undefined
  /** Instead of `secret`: each of them is good. */
  readonly secrets?: readonly (string | undefined)[]
}

export interface StripeSecrets extends HookSecrets {
  /** How far the time of a signature may be from now: 1 to 3,600 seconds, default 300. */
  readonly toleranceSeconds?: number
}

/** A scheme with its secrets, as it was declared. */
export interface DeclaredScheme {
  readonly _tag: "HookScheme"
  readonly scheme: SignatureScheme
  readonly options: unknown
}

/** Takes what is signed by [Standard Webhooks](https://www.standardwebhooks.com): the headers `webhook-id`, `webhook-timestamp`, `webhook-signature`. */
export const standardWebhooks = (options: HookSecrets): DeclaredScheme => ({
  _tag: "HookScheme",
  scheme: "standard",
  options
})

/** Takes what Stripe signs: the header `Stripe-Signature`. The secret is that of the endpoint, `whsec_…`. */
export const stripeSignature = (options: StripeSecrets): DeclaredScheme => ({
  _tag: "HookScheme",
  scheme: "stripe",
  options
})

/** Takes what GitHub signs: the headers `X-Hub-Signature-256` and `X-GitHub-Delivery`. */
export const githubSignature = (options: HookSecrets): DeclaredScheme => ({
  _tag: "HookScheme",
  scheme: "github",
  options
})

/** A request as a function that verifies it gets it: nothing about it is known to be true. */
export interface UnverifiedRequest {
  /** As it was sent. */
  readonly body: Uint8Array
  readonly headers: { readonly get: (name: string) => string | null }
  /** Aborts when the time to verify is over, or the sender goes away. */
  readonly signal: AbortSignal
  /** The tenant of the host or path that was called, where these decide (`fromHost`); else null. */
  readonly tenant: string | null
}

/** `true` or an object: somebody who may has sent it. With an `id`, the same message runs once within 24 hours. */
export type Verdict = boolean | { readonly id?: string }

/** Verifies a request. What it throws denies, and so does every other answer than true or an object, and none within five seconds. */
export type VerifyRequest = (request: UnverifiedRequest) => Verdict | Promise<Verdict>

/** A verified message, as `run` gets it. */
export interface HookMessage<Input = undefined> {
  /** What its sender calls it: the same for every copy. Null where `verify` tells none. */
  readonly id: string | null
  readonly receivedAt: Date
  /** The tenant of the host or path that was called, where these decide (`fromHost`); else null. */
  readonly tenant: string | null
  /** By name in lower case, without those of credentials and signatures. Most signatures do not cover them. */
  readonly headers: { readonly [name: string]: string }
  /** As it was sent: a text, or bytes where it is no text in UTF-8. */
  readonly body: string | Uint8Array
  /** The body as JSON. For a body that is none it throws `FatalJobError`: another try would change nothing. */
  readonly json: () => unknown
  /** What the schema `input` makes of the JSON. */
  readonly input: Input
}

/** A job as `defineJob` gives it. */
interface EnqueuedJob<Payload> {
  readonly enqueue: (db: JobContext["db"], payload: Payload, options?: EnqueueOptions) => Promise<string>
}

/** What `run` gets besides its message: what a job has, and `enqueue`. */
export interface HookContext extends JobContext {
  /** Enqueues a job. It is there at once, whatever becomes of this try. Within `db.transaction`, use the job's own `enqueue`. */
  readonly enqueue: <Payload>(job: EnqueuedJob<Payload>, payload: Payload, options?: EnqueueOptions) => Promise<string>
}

/** How its job is tried, as with `defineJob`. */
type Tries = Pick<
  JobDeclaration<unknown, unknown>,
  "maxAttempts" | "retryDelay" | "maxRetryDelay" | "retrySteps" | "timeout" | "concurrency" | "maxRunning" | "rate"
>

/** What `defineHook` takes. */
export interface HookDeclaration<Input, Output> extends Tries {
  /** Who may send: `standardWebhooks`, `stripeSignature` or `githubSignature` with secrets, or a function of your own. */
  readonly verify: DeclaredScheme | VerifyRequest
  /** A Standard Schema of the body's JSON. It is checked when the job runs; what it refuses fails for good. */
  readonly input?: StandardSchema<Input, Output>
  /** The work, as a job: it runs at least once, so it must be safe to run twice. What it throws fails the try. */
  readonly run: (message: HookMessage<Output>, context: HookContext) => void | Promise<void>
  /** One sentence for the reference. */
  readonly description?: string
}

/** A hook as declared, for `hooks` of the configuration. */
export interface DeclaredHook {
  readonly _tag: "Hook"
  readonly declaration: unknown
}

/**
 * Declares a hook. Its name is its place in `hooks` of the configuration, and others call it with `POST /api/hooks/{name}`.
 *
 * @example
 * hooks: {
 *   stripe: defineHook({
 *     verify: stripeSignature({ secret: process.env.STRIPE_WEBHOOK_SECRET }),
 *     run: async (message, { db }) => { … }
 *   })
 * }
 */
export const defineHook = <Input = undefined, Output = Input>(
  declaration: HookDeclaration<Input, Output>
): DeclaredHook => ({ _tag: "Hook", declaration })

/** How requests of a hook are verified. */
export type Verifier =
  | {
    readonly of: "signature"
    readonly scheme: SignatureScheme
    /** Keys of HMAC-SHA-256. */
    readonly keys: readonly Uint8Array[]
    readonly toleranceSeconds: number
  }
  | { readonly of: "function"; readonly verify: VerifyRequest }

/** A checked hook. */
export interface Hook {
  readonly name: string
  readonly description: string | null
  readonly verifier: Verifier
  /** What runs its messages. */
  readonly job: JobModel
}

export type Hooks = ReadonlyMap<string, Hook>
