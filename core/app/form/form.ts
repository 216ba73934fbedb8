/**
 * The use cases of public forms: the description of a form, a challenge, and a submission. A submission is a create by the role `anonymous` through
 * the same pipeline as all creates. Visitors learn whether they may retry and which values are wrong, and nothing of stored records.
 */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { visitor } from "../../domain/access/caller.ts"
import type { AccessResolver } from "../../domain/access/resolve.ts"
import {
  challengeContext,
  challengeMs,
  hasZeroBits,
  printChallenge,
  provenText,
  readChallenge,
  readProof
} from "../../domain/form/challenge.ts"
import { formAccess } from "../../domain/form/form.ts"
import type { Form, Forms, FormSettings } from "../../domain/form/form.ts"
import { formDocument } from "../../domain/meta/form.ts"
import { invalidParameter, notFound, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { isJsonObject } from "../../domain/value/json-kind.ts"
import type { Json } from "../../domain/value/kind.ts"
import type { SealService } from "../../ports/seal.ts"
import { SubmissionsError } from "../../ports/submissions.ts"
import type { SubmissionsService } from "../../ports/submissions.ts"
import { json, readJson } from "../ground/call.ts"
import type { Reply } from "../ground/call.ts"
import type { Core } from "../ground/core.ts"
import { createUnseen } from "../write/create.ts"

/** The dependencies of forms besides the core. */
export interface FormParts {
  readonly forms: Forms
  readonly settings: FormSettings
  /** Whether submissions belong to the tenant of the request, so that a challenge is good for one tenant. */
  readonly ofRequest?: boolean
  readonly resolver: AccessResolver
  readonly submissions: SubmissionsService
  /** Of its own secret, where one is set. */
  readonly seal: SealService
  /** SHA-256 of a text, in hexadecimal. */
  readonly sha256: (text: string) => string
}

/** The result of a submission that was answered as accepted. A `duplicate` was not written, and its sender is not told. */
export type Submitted = "created" | "duplicate"

export interface FormApp {
  readonly show: (name: string) => Effect.Effect<Reply, Problem>
  readonly challenge: (name: string) => Effect.Effect<Reply, Problem>
  /** Whether there is such a form: decides 404 before a byte of a body is read. */
  readonly has: (name: string) => boolean
  /** `client`: requests with the same text share one limit (docs/guides/forms.md#limits). */
  readonly submit: (name: string, client: string, body: Uint8Array) => Effect.Effect<Submitted, Problem>
}

const botCheckFailed = (): Problem =>
  problem(
    "bot-check-failed",
    "The bot check failed: the challenge is missing, wrong, expired or used. Ask for a new one."
  )

const tooManySubmissions = (seconds: number): Problem =>
  problem("too-many-submissions", "The form was sent too often from here. Try again later.", {}, {
    "retry-after": String(seconds)
  })

const away = (): Problem =>
  problem("unavailable", "The service cannot answer right now. Try again soon.", {}, { "retry-after": "2" })

/** Values and proof of a body. */
const readSubmission = (
  body: Uint8Array
): Result.Result<{ readonly values: Json; readonly proof: Json | undefined }, Problem> =>
  Result.flatMap(readJson(body), (read) => {
    if (!isJsonObject(read)) {
      return Result.fail(invalidParameter("values", "The body must be an object with values and proof."))
    }
    const extra = Object.keys(read).find((name) => name !== "values" && name !== "proof")
    if (extra !== undefined) return Result.fail(invalidParameter(extra.slice(0, 100), "The body has no such member."))
    const { proof, values } = read
    return values === undefined
      ? Result.fail(invalidParameter("values", "The values are required."))
      : Result.succeed({ values, proof })
  })

/** The use cases of forms over one core. */
export const makeForms = (core: Core, parts: FormParts): FormApp => {
  const { forms, resolver, seal, settings, sha256, submissions } = parts
  const caller = visitor(settings.tenant)
  const contextOf = (name: string): string =>
    parts.ofRequest === true ? JSON.stringify([challengeContext(name), settings.tenant]) : challengeContext(name)

  /** The form and what a visitor may do with it. If a rule no longer allows it, the form does not exist. */
  const formOf = (name: string): Result.Result<{ readonly form: Form; readonly access: Access }, Problem> => {
    const form = forms.get(name)
    const access = form === undefined ? null : resolver.resolve(caller, form.model.name)
    if (form === undefined || access === null || access.tenantMissing) return Result.fail(notFound())
    if (access.decisions.create.of === "deny") return Result.fail(notFound())
    return Result.succeed({ form, access: formAccess(form, access) })
  }

  const counted = <A>(work: Effect.Effect<A, SubmissionsError>): Effect.Effect<A, Problem> =>
    Effect.catch(work, () => Effect.fail(away()))

  const proven = Effect.fnUntraced(function*(form: Form, sent: Json | undefined): Effect.fn.Return<void, Problem> {
    const now = yield* Clock.currentTimeMillis
    const proof = readProof(sent)
    const opened = proof === null ? null : seal.open(contextOf(form.name), proof.challenge)
    const challenge = opened === null ? null : readChallenge(opened, now)
    if (proof === null || challenge === null || !hasZeroBits(sha256(provenText(proof)), challenge.difficulty)) {
      return yield* Effect.fail(botCheckFailed())
    }
    // A minute more, because the clocks of two instances may differ.
    // Under all secrets, so that it is used once also among processes whose first secrets differ.
    for (const id of seal.digests(proof.challenge)) {
      const fresh = yield* counted(submissions.spend(id, challenge.expires + 60_000))
      if (!fresh) return yield* Effect.fail(botCheckFailed())
    }
  })

  return {
    has: (name) => forms.has(name),
    show: (name) =>
      Effect.suspend(() => {
        const form = formOf(name)
        return Result.isFailure(form)
          ? Effect.fail(form.failure)
          : Effect.succeed(json(200, JSON.stringify(formDocument(form.success.form, form.success.access))))
      }),
    challenge: (name) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const form = formOf(name)
        if (Result.isFailure(form)) return Effect.fail(form.failure)
        const { difficulty } = settings
        const expires = now + challengeMs
        const challenge = seal.seal(contextOf(name), printChallenge({ expires, difficulty }))
        const answer = { challenge, difficulty, expires: new Date(expires).toISOString() }
        return Effect.succeed(json(200, JSON.stringify(answer)))
      }),
    submit: Effect.fnUntraced(function*(name, client, body): Effect.fn.Return<Submitted, Problem> {
      const lookup = formOf(name)
      if (Result.isFailure(lookup)) return yield* Effect.fail(lookup.failure)
      const { access, form } = lookup.success
      const own = parts.ofRequest === true ? [settings.tenant] : []
      const sender = seal.digest(JSON.stringify(["submission", name, client, ...own]))
      const wait = yield* counted(submissions.admit(sender, form.perMinute))
      if (wait > 0) return yield* Effect.fail(tooManySubmissions(wait))
      const read = readSubmission(body)
      if (Result.isFailure(read)) return yield* Effect.fail(read.failure)
      yield* proven(form, read.success.proof)
      return yield* createUnseen(core, access, read.success.values)
    })
  }
}
