// Runs the contract of the tokens port on the fake, on signed tokens of any issuer, and on those that can be revoked, beside those of a trusted app.
import * as Effect from "effect/Effect"
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import { vi } from "vitest"
import { tokensOf } from "../../adapters/auth/authenticator.ts"
import { clockToleranceSeconds, jwtAuthenticator, loadKeys, makeVerifier } from "../../adapters/auth/jwt.ts"
import { withTrustedApps } from "../../adapters/auth/trusted.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { makeFakeTokens } from "../fakes/tokens.ts"
import { tokensContract } from "./tokens.ts"

tokensContract(
  "in memory",
  { revoke: true, bar: true },
  Effect.sync(() => {
    const fake = makeFakeTokens()
    const other = makeFakeTokens()
    const keyless = makeFakeTokens()
    keyless.lose(true)
    // Tokens of the other have texts that this one will not issue.
    for (let i = 0; i < 10_000; i++) other.issue({ id: "nobody", roles: [], tenant: null }, 1)
    const guest: Caller = { id: "guest", roles: ["sales"], tenant: null }
    fake.bar(guest.id)
    return {
      tokens: fake.service,
      issue: (caller, seconds) => Effect.sync(() => fake.issue(caller, seconds)),
      forge: (caller) => Effect.sync(() => other.issue(caller, 3_600)),
      pass: (seconds) => Effect.sync(() => fake.pass(seconds)),
      tolerance: 0,
      keyless: keyless.service,
      revoke: (id) => Effect.sync(() => fake.revoke(id)),
      barred: Effect.sync(() => fake.issue(guest, 3_600))
    }
  })
)

interface Issuer {
  readonly jwk: JWK
  readonly sign: (claims: { readonly [name: string]: unknown }) => Effect.Effect<string>
}

const makeIssuer = (kid: string): Effect.Effect<Issuer> =>
  Effect.promise(async () => {
    const { privateKey, publicKey } = await generateKeyPair("EdDSA", { extractable: true })
    return {
      jwk: { ...await exportJWK(publicKey), alg: "EdDSA", kid },
      sign: (claims) =>
        Effect.promise(() => new SignJWT({ ...claims }).setProtectedHeader({ alg: "EdDSA", kid }).sign(privateKey))
    }
  })

const issuer = "https://shop.example"
let last = 0

/** What a token says of somebody. Each is another token. */
const claimsOf = ({ id, roles, tenant }: Caller, seconds: number): { readonly [name: string]: unknown } => ({
  iss: issuer,
  aud: issuer,
  sub: id,
  role: roles,
  ...(tenant === null ? {} : { org: tenant }),
  exp: Math.floor(Date.now() / 1_000) + seconds,
  jti: String(++last)
})

/** Moves the clock that tokens are judged by. */
const pass = (seconds: number) =>
  Effect.sync(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + seconds * 1_000 }))
const realTime = Effect.acquireRelease(Effect.void, () => Effect.sync(() => void vi.useRealTimers()))

tokensContract(
  "signed by any issuer",
  { revoke: false, bar: false },
  Effect.gen(function*() {
    yield* realTime
    const own = yield* makeIssuer("k1")
    // The same name of a key, and another key.
    const stranger = yield* makeIssuer("k1")
    const options = { issuer, audience: issuer, tenantClaim: "org" }
    return {
      tokens: tokensOf(jwtAuthenticator({ ...options, keys: [own.jwk] })),
      issue: (caller, seconds) => own.sign(claimsOf(caller, seconds)),
      forge: (caller) => stranger.sign(claimsOf(caller, 3_600)),
      pass,
      tolerance: clockToleranceSeconds,
      keyless: tokensOf(jwtAuthenticator({ ...options, jwksUrl: "http://127.0.0.1:9/jwks" })),
      revoke: null,
      barred: null
    }
  })
)

tokensContract(
  "signed here or by a trusted app, and revoked",
  { revoke: true, bar: true },
  Effect.gen(function*() {
    yield* realTime
    const own = yield* makeIssuer("k1")
    const app = yield* makeIssuer("k2")
    const epochs = new Map<string, number>()
    const epochOf = (id: string): number => epochs.get(id) ?? 0
    const verifier = (load: () => Promise<unknown>) =>
      makeVerifier({
        load,
        issuer,
        audience: issuer,
        algorithms: ["EdDSA"],
        rolesClaim: "role",
        cache: undefined,
        admit: ({ payload, roles, subject }) => ({
          identity: {
            user: { id: subject, roles },
            ...(typeof payload["org"] === "string" ? { tenant: payload["org"] } : {})
          },
          counts: () => Number(payload["epoch"]) >= epochOf(subject)
        })
      })
    const theirs = "https://crm.example"
    const apps = [{ issuer: theirs, roles: { clerk: "sales" }, keys: [app.jwk] }]
    const sign = ({ sign: by }: Issuer, caller: Caller, seconds: number) =>
      by({ ...claimsOf(caller, seconds), epoch: epochOf(caller.id) })
    return {
      tokens: tokensOf(withTrustedApps(verifier(loadKeys([own.jwk])), issuer, apps)),
      issue: (caller, seconds) => sign(own, caller, seconds),
      forge: (caller) => sign(app, caller, 3_600),
      pass,
      tolerance: clockToleranceSeconds,
      keyless: tokensOf(verifier(() => Promise.reject(new Error("no keys")))),
      revoke: (id) => Effect.sync(() => void epochs.set(id, epochOf(id) + 1)),
      barred: Effect.suspend(() =>
        app.sign({
          ...claimsOf({ id: "guest", roles: ["chief"], tenant: null }, 3_600),
          iss: theirs,
          aud: theirs
        })
      )
    }
  })
)
