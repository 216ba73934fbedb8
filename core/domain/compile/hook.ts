/**
 * Compiles `hooks` of a configuration: names, who may send, and the job of each. A hook without a secret is refused, as anybody could send to it. No
 * refusal quotes a value that may be a secret.
 */

import * as Result from "effect/Result"
import { type Bag, isBag, isFunction, isList } from "../bag.ts"
import { quoteValue, type Report } from "../declare/refusal.ts"
import { toleranceSeconds as usualTolerance } from "../event/signature.ts"
import type {
  Hook,
  HookContext,
  HookMessage,
  Hooks,
  SignatureScheme,
  Verifier,
  VerifyRequest
} from "../hook/declaration.ts"
import { messageSchema } from "../hook/message.ts"
import { keyOfSecret } from "../hook/signature.ts"
import { hookPrefix } from "../job/definition.ts"
import { isStandardSchema } from "../value/standard-schema.ts"
import { isCount, isProse, refuseUnknownKeys, type Say } from "./check.ts"
import { routeName } from "./function.ts"
import { readTries, triesNames } from "./jobs.ts"

type HookWork = (message: HookMessage<unknown>, context: HookContext) => void | Promise<void>

const example = "defineHook({ verify: standardWebhooks({ secret }), run: async (message, { db }) => { … } })"

/** The functions that make schemes, as people write them. */
const makers: { readonly [scheme in SignatureScheme]: string } = {
  standard: "standardWebhooks",
  stripe: "stripeSignature",
  github: "githubSignature"
}

const isScheme = (value: unknown): value is SignatureScheme => typeof value === "string" && Object.hasOwn(makers, value)

/** Most secrets of one hook: each is tried for each request. */
const mostSecrets = 10

/** The longest time that a signature of Stripe may be from now. Its message is remembered for longer. */
const longestTolerance = 3_600

const compileSecrets = (scheme: SignatureScheme, options: Bag, say: Say): readonly Uint8Array[] => {
  const { secret, secrets } = options
  const fix = scheme === "github"
    ? "Give the secret of the webhook, of 16 characters or more, from a variable of the environment."
    : "Give the secret that the sender shows, whsec_…, from a variable of the environment."
  if ("secret" in options && "secrets" in options) {
    say("has secret and secrets.", "Keep one of them: secrets is for several, while one takes the place of another.")
    return []
  }
  const several = "secrets" in options
  const all = several ? secrets : [secret]
  if (!isList(all) || all.length === 0 || all.length > mostSecrets) {
    say(`has secrets that are no list of 1 to ${mostSecrets} texts.`, fix)
    return []
  }
  return all.flatMap((each, index) => {
    const key = keyOfSecret(scheme, each)
    if (Result.isSuccess(key)) return [key.success]
    say(`has ${several ? `secrets[${index}]` : "a secret"} that cannot be used: ${key.failure}.`, fix)
    return []
  })
}

const compileVerifier = (raw: unknown, path: string, say: Say): Verifier | null => {
  if (isFunction<VerifyRequest>(raw)) return { of: "function", verify: raw }
  const scheme = isBag(raw) && raw["_tag"] === "HookScheme" ? raw["scheme"] : undefined
  if (!isBag(raw) || !isScheme(scheme)) {
    say(
      `${path} is ${raw === undefined ? "missing" : "no way to verify a request"}: anybody could send to it.`,
      "Write standardWebhooks, stripeSignature or githubSignature with a secret, or a function of the request."
    )
    return null
  }
  const { options } = raw
  const made = `${path}: ${makers[scheme]}`
  if (!isBag(options)) {
    say(`${made} has no secret.`, `Write ${makers[scheme]}({ secret: process.env.… }).`)
    return null
  }
  // Left out or undefined, a secret is missing. Every other name must be known.
  const named = Object.fromEntries(Object.entries(options).filter(([name]) => name !== "secret" && name !== "secrets"))
  refuseUnknownKeys(named, scheme === "stripe" ? ["toleranceSeconds"] : [], path, say)
  const { toleranceSeconds = usualTolerance } = options
  if (!isCount(toleranceSeconds, 1, longestTolerance)) {
    say(
      `${made} has a toleranceSeconds of ${quoteValue(toleranceSeconds)}.`,
      `Write a whole number from 1 to ${longestTolerance}.`
    )
  }
  const keys = compileSecrets(scheme, options, (message, fix) => say(`${made} ${message}`, fix))
  return keys.length === 0 ? null : {
    of: "signature",
    scheme,
    keys,
    toleranceSeconds: isCount(toleranceSeconds, 1, longestTolerance) ? toleranceSeconds : usualTolerance
  }
}

const compileHook = (name: string, raw: unknown, say: Say): Hook | null => {
  const path = `hooks.${name}`
  if (!routeName.test(name)) {
    say(`${quoteValue(name)} is no name of a hook.`, "Use letters, digits, - and _, beginning with a letter.")
    return null
  }
  const declaration = isBag(raw) && raw["_tag"] === "Hook" ? raw["declaration"] : undefined
  if (!isBag(declaration)) {
    say(`${path} is not a hook of defineHook.`, `Write ${name}: ${example}.`)
    return null
  }
  refuseUnknownKeys(declaration, ["verify", "input", "run", "description", ...triesNames], path, say)
  const { description, input, run, verify } = declaration
  const verifier = compileVerifier(verify, `${path}.verify`, say)
  if (input !== undefined && !isStandardSchema(input)) {
    say(
      `${path}.input is ${quoteValue(input)}, not a Standard Schema.`,
      "Use a schema of Effect, Zod, Valibot or ArkType, or leave it out."
    )
  }
  if (!isFunction<HookWork>(run)) {
    say(`${path}.run is ${quoteValue(run)}, not a function.`, `Write ${name}: ${example}.`)
  }
  if (description !== undefined && !isProse(description, 1_000)) {
    say(`${path}.description is not a text of at most 1,000 characters.`, "Write one sentence.")
  }
  const tries = readTries(declaration, (message, fix) => say(`${path}: ${message}`, fix))
  if (verifier === null || !isFunction<HookWork>(run)) return null
  return {
    name,
    description: typeof description === "string" ? description : null,
    verifier,
    job: {
      name: `${hookPrefix}${name}`,
      payload: messageSchema(isStandardSchema(input) ? input : null),
      // The queue gives a job what its schema made.
      run: (message, context) =>
        run(message as HookMessage<unknown>, {
          ...context,
          enqueue: (job, payload, options) => job.enqueue(context.db, payload, options)
        }),
      ...tries,
      ordered: false,
      schedule: null
    }
  }
}

/** Compiles all hooks, by name in declared order. */
export const compileHooks = (raw: unknown, report: Report): Hooks => {
  const hooks = new Map<string, Hook>()
  if (raw === undefined) return hooks
  const say: Say = (message, fix) => report(null, null, message, fix)
  if (!isBag(raw)) {
    say("hooks is not an object.", `Write hooks: { payments: ${example} }.`)
    return hooks
  }
  for (const [name, each] of Object.entries(raw)) {
    const compiled = compileHook(name, each, say)
    if (compiled !== null) hooks.set(name, compiled)
  }
  return hooks
}
