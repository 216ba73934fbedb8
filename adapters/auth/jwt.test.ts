import { CompactSign, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import type { Credentials } from "../../core/ports/tokens.ts"
import { type Authenticator, type Identity, KeysUnavailable, Refused, Unauthorized } from "./authenticator.ts"
import { jwtAuthenticator } from "./jwt.ts"
import { withTrustedApps } from "./trusted.ts"

interface Signer {
  readonly jwk: JWK
  readonly sign: (claims: Record<string, unknown>, header?: Record<string, unknown>) => Promise<string>
}

const makeSigner = async (kid: string, alg = "EdDSA"): Promise<Signer> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return {
    jwk: { ...await exportJWK(publicKey), alg, kid },
    sign: (claims, header = {}) =>
      new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
        .setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
  }
}

const now = (): number => Math.floor(Date.now() / 1_000)
const claims = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  sub: "u1",
  role: "sales,finance",
  exp: now() + 900,
  iss: "https://a.example",
  aud: "https://a.example",
  ...more
})
const withHeader = (authorization: string | null): Credentials => ({
  method: "GET",
  url: "http://localhost/api/v1/orders",
  headers: new Headers(authorization === null ? {} : { authorization })
})
const request = (token: string): Credentials => withHeader(`Bearer ${token}`)
const text = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")
const outcome = async (authenticator: Authenticator, credentials: Credentials): Promise<Identity | string> => {
  try {
    return await authenticator(credentials)
  } catch (cause) {
    if (cause instanceof Unauthorized || cause instanceof Refused || cause instanceof KeysUnavailable) return cause.name
    throw cause
  }
}

/** A key whose tokens are written by hand. */
const pair = generateKeyPairSync("ed25519")
const trusted = {
  privateKey: pair.privateKey,
  jwk: { ...pair.publicKey.export({ format: "jwk" }), kid: "own", alg: "EdDSA" } as JWK
}

let signer: Signer
let authenticator: Authenticator

beforeAll(async () => {
  signer = await makeSigner("k1")
  authenticator = jwtAuthenticator({
    keys: { keys: [signer.jwk] },
    issuer: "https://a.example",
    audience: "https://a.example"
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

// What every token has in common is in test/contracts/tokens.ts.
describe("a valid token", () => {
  it("is verified once when it arrives many times at once", async () => {
    const token = await signer.sign(claims({ jti: "burst" }))
    const verify = vi.spyOn(crypto.subtle, "verify")
    const all = await Promise.all(Array.from({ length: 20 }, async () => authenticator(request(token))))
    expect(new Set(all).size).toBe(1)
    expect(verify).toHaveBeenCalledTimes(1)
  })

  it.each(["ES256", "ES384", "PS256", "RS256", "Ed25519"])("may be signed with %s", async (alg) => {
    const other = await makeSigner("k2", alg)
    const accepts = jwtAuthenticator({ keys: [other.jwk] })
    expect(await outcome(accepts, request(await other.sign(claims())))).toMatchObject({ user: { id: "u1" } })
  })

  it("needs no key id when the set has one key for it", async () => {
    const token = await signer.sign(claims(), { kid: undefined })
    expect(await outcome(authenticator, request(token))).toMatchObject({ user: { id: "u1" } })
  })

  it("needs no key id when the set's other keys are for something else, or none at all", async () => {
    const [mine, small, large] = await Promise.all(["EdDSA", "ES256", "ES384"].map((alg) => makeSigner("k", alg)))
    const [bare, ...others] = [mine!, small!, large!].map(({ jwk }) => ({ ...jwk, alg: undefined }))
    // As it comes over the wire.
    const set = JSON.stringify([null, 7, {}, bare, { ...bare, key_ops: ["sign"] }, ...others])
    const accepts = jwtAuthenticator({ keys: JSON.parse(set) })
    for (const each of [mine!, small!, large!]) {
      const token = await each.sign(claims(), { kid: undefined })
      expect(await outcome(accepts, request(token))).toMatchObject({ user: { id: "u1" } })
    }
  })

  it.each([
    [{ rolesClaim: "groups" }, { groups: ["a", "b", "a"] }, { user: { id: "u1", roles: ["a", "b"] } }],
    [{ rolesClaim: "groups" }, { groups: ["a", 7] }, "Unauthorized"],
    [{ rolesClaim: "groups" }, { groups: ["a", null] }, "Unauthorized"],
    [{ rolesClaim: "groups" }, { groups: { a: true } }, "Unauthorized"],
    [{ rolesClaim: "groups" }, { groups: ["a", " admin"] }, "Unauthorized"],
    [{ rolesClaim: "groups" }, { groups: ["a", "admin\t"] }, "Unauthorized"],
    [{ rolesClaim: "groups" }, { groups: ["a", ""] }, "Unauthorized"],
    [{}, { role: "sales manager" }, "Unauthorized"],
    [{}, { role: 7 }, "Unauthorized"],
    [{}, { iat: 1.5 }, "Unauthorized"],
    [{}, { iat: "1" }, "Unauthorized"],
    [{}, { nbf: 1.5 }, "Unauthorized"],
    [{}, { exp: 2 ** 53 }, "Unauthorized"],
    [{}, { exp: 99_999_999_999.5 }, "Unauthorized"],
    [{ rolesClaim: "groups" }, { groups: ["x,admin"] }, {
      user: { id: "u1", roles: ["x,admin"] }
    }],
    [{ rolesClaim: "toString" }, {}, { user: { id: "u1", roles: [] } }],
    [{}, { role: null }, { user: { id: "u1", roles: [] } }],
    [{ tenant: 7 }, { tenant: 8 }, { user: { id: "u1", roles: ["sales", "finance"] }, tenant: 7 }],
    [{ tenantClaim: "org" }, { org: "o1" }, { user: { id: "u1", roles: ["sales", "finance"] }, tenant: "o1" }],
    [{ tenantClaim: "org" }, { org: 12 }, { user: { id: "u1", roles: ["sales", "finance"] }, tenant: 12 }],
    [{ tenantClaim: "org" }, {}, { user: { id: "u1", roles: ["sales", "finance"] } }],
    [{ tenantClaim: "constructor" }, {}, { user: { id: "u1", roles: ["sales", "finance"] } }],
    [{ tenantClaim: "org" }, { org: { id: 1 } }, "Unauthorized"],
    [{ tenantClaim: "org" }, { org: 1.5 }, "Unauthorized"],
    [{ tenantClaim: "org" }, { org: "o\u00001" }, "Unauthorized"]
  ])("read with %j, saying %j, gives %j", async (options, more, expected) => {
    const reads = jwtAuthenticator({ keys: [signer.jwk], ...options })
    expect(await outcome(reads, request(await signer.sign(claims(more))))).toEqual(expected)
  })
})

describe("a token is refused", () => {
  it.each([
    ["expired beyond the tolerance", { exp: now() - 31 }],
    ["not valid yet, beyond the tolerance", { nbf: now() + 90 }],
    ["without exp", { exp: undefined }],
    ["with a text for exp", { exp: "tomorrow" }],
    ["without sub", { sub: undefined }],
    ["with an empty sub", { sub: "" }],
    ["with a number for sub", { sub: 7 }],
    ["with a NUL in sub", { sub: "u\u00001" }],
    ["with half a character in sub", { sub: "u\ud800" }],
    ["with more than 255 characters in sub", { sub: "u".repeat(256) }],
    ["of another issuer", { iss: "https://b.example" }],
    ["without issuer", { iss: undefined }],
    ["for another audience", { aud: "https://b.example" }],
    ["without audience", { aud: undefined }]
  ])("%s", async (_, more) => {
    expect(await outcome(authenticator, request(await signer.sign(claims(more))))).toBe("Unauthorized")
  })

  it("but clocks may differ by 30 seconds", async () => {
    const late = await signer.sign(claims({ exp: now() - 20 }))
    const early = await signer.sign(claims({ nbf: now() + 20 }))
    expect(await outcome(authenticator, request(late))).toMatchObject({ user: { id: "u1" } })
    // From memory, too.
    expect(await outcome(authenticator, request(late))).toMatchObject({ user: { id: "u1" } })
    expect(await outcome(authenticator, request(early))).toMatchObject({ user: { id: "u1" } })
  })

  it("whose payload, header or signature was changed", async () => {
    const token = await signer.sign(claims())
    const [header = "", , signature = ""] = token.split(".")
    const admin = text(claims({ role: "admin" }))
    expect(await outcome(authenticator, request(`${header}.${admin}.${signature}`))).toBe("Unauthorized")
    expect(await outcome(authenticator, request(`${token.slice(0, -4)}AAAA`))).toBe("Unauthorized")
    expect(await outcome(authenticator, request(token.slice(0, token.lastIndexOf(".") + 1)))).toBe("Unauthorized")
  })

  it.each(["none", "None", "NONE", "nOnE"])("that is not signed (alg %j)", async (alg) => {
    const token = `${text({ alg, kid: "k1" })}.${text(claims())}.`
    expect(await outcome(authenticator, request(token))).toBe("Unauthorized")
  })

  it("signed by HMAC with any form of the public key", async () => {
    const head = `${text({ alg: "HS256", kid: "k1" })}.${text(claims())}`
    const x = String(signer.jwk.x)
    for (const secret of [Buffer.from(x, "base64url"), Buffer.from(x), Buffer.from(JSON.stringify(signer.jwk))]) {
      const token = `${head}.${createHmac("sha256", secret).update(head).digest("base64url")}`
      expect(await outcome(authenticator, request(token))).toBe("Unauthorized")
      // Also where HS256 is accepted: a public key is never a secret.
      const lax = jwtAuthenticator({ keys: [signer.jwk], algorithms: ["EdDSA", "HS256"] })
      expect(await outcome(lax, request(token))).toBe("Unauthorized")
    }
  })

  it("signed by HMAC with a shared secret, unless the algorithm is named", async () => {
    const secret = crypto.getRandomValues(new Uint8Array(32))
    const oct: JWK = { kty: "oct", k: Buffer.from(secret).toString("base64url"), kid: "s1" }
    const token = await new SignJWT(claims()).setProtectedHeader({ alg: "HS256", kid: "s1" }).sign(secret)
    expect(await outcome(jwtAuthenticator({ keys: [oct] }), request(token))).toBe("Unauthorized")
    expect(await outcome(jwtAuthenticator({ keys: [oct], algorithms: ["HS256"] }), request(token)))
      .toMatchObject({ user: { id: "u1" } })
  })

  it("that brings or names its own key", async () => {
    const attacker = await makeSigner("k1")
    const fetched = vi.spyOn(globalThis, "fetch")
    for (
      const header of [{ jwk: attacker.jwk }, { jku: "https://evil.example/jwks" }, { x5u: "https://evil.example/x" }]
    ) {
      expect(await outcome(authenticator, request(await attacker.sign(claims(), header)))).toBe("Unauthorized")
    }
    expect(fetched).not.toHaveBeenCalled()
  })

  it.each([[{ kid: ["k1"] }], [{ kid: { a: 1 } }], [{ kid: "../k1" }], [{ kid: "" }], [{ crit: ["exp"], exp: 1 }], [
    { crit: ["x"], x: 1 }
  ], [{ b64: false, crit: ["b64"] }]])("with the header %j", async (more) => {
    const token = await signer.sign(claims())
    const [, payload = "", signature = ""] = token.split(".")
    const forged = `${text({ alg: "EdDSA", kid: "k1", ...more })}.${payload}.${signature}`
    expect(await outcome(authenticator, request(forged))).toBe("Unauthorized")
  })

  it("with a critical header that is signed but not understood", async () => {
    const { privateKey, publicKey } = await generateKeyPair("EdDSA", { extractable: true })
    const accepts = jwtAuthenticator({ keys: [await exportJWK(publicKey)] })
    const token = await new CompactSign(new TextEncoder().encode(JSON.stringify(claims())))
      .setProtectedHeader({ alg: "EdDSA", crit: ["x"], x: 1 }).sign(privateKey, { crit: { x: true } })
    expect(await outcome(accepts, request(token))).toBe("Unauthorized")
  })

  it("whose key is for another algorithm, for encryption, or one of several", async () => {
    const token = await signer.sign(claims())
    const keyless = await signer.sign(claims(), { kid: undefined })
    const { jwk } = signer
    const other = await makeSigner("k2")
    expect(await outcome(jwtAuthenticator({ keys: [{ ...jwk, use: "enc" }] }), request(token))).toBe("Unauthorized")
    expect(await outcome(jwtAuthenticator({ keys: [{ ...jwk, alg: "ES256" }] }), request(token))).toBe("Unauthorized")
    expect(await outcome(jwtAuthenticator({ keys: [jwk], algorithms: ["RS256"] }), request(token))).toBe("Unauthorized")
    expect(await outcome(jwtAuthenticator({ keys: [jwk, other.jwk] }), request(keyless))).toBe("Unauthorized")
  })

  it.each([
    null,
    "",
    "Bearer",
    "Bearer ",
    "Basic dTpw",
    "Bearer a",
    "Bearer a.b",
    "Bearer a.b.c",
    "Bearer a.b.c.d.e",
    "Bearer  ",
    "Bearer ..",
    "Bearer a b",
    "Bearer {}",
    "Token abc"
  ])("when the header is %j", async (header) => {
    expect(await outcome(authenticator, withHeader(header))).toBe("Unauthorized")
  })

  it("that is longer than 16 KiB", async () => {
    expect(await outcome(authenticator, request(await signer.sign(claims({ pad: "x".repeat(8_000) })))))
      .toMatchObject({ user: { id: "u1" } })
    expect(await outcome(authenticator, request(await signer.sign(claims({ pad: "x".repeat(13_000) }))))).toBe(
      "Unauthorized"
    )
  })

  it("with prototype names in its claims, with a name that stands twice, or spelled otherwise", async () => {
    const open = jwtAuthenticator({ keys: [trusted.jwk] })
    const signs = (payload: string, head = "{\"alg\":\"EdDSA\",\"kid\":\"own\"}"): string => {
      const signed = `${text(head)}.${text(payload)}`
      return `${signed}.${sign(null, Buffer.from(signed), trusted.privateKey).toString("base64url")}`
    }
    const rest = `"sub":"u1","exp":${now() + 60}`
    const good = signs(`{${rest},"role":"sales"}`)
    expect(await outcome(open, request(good))).toEqual({ user: { id: "u1", roles: ["sales"] } })
    const [head = "", body = "", signature = ""] = good.split(".")
    const bits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    // The same bytes: the last letter of 64 bytes has four bits that nobody reads.
    const twin = signature.slice(0, -1) + bits[bits.indexOf(signature.at(-1)!) + 1]
    expect(Buffer.from(twin, "base64url").equals(Buffer.from(signature, "base64url"))).toBe(true)
    for (
      const token of [
        signs(`{${rest},"__proto__":{"role":"admin"}}`),
        signs(`{${rest},"role":"sales","role":"admin"}`),
        signs(`{${rest},"role":"sales","r\\u006fle":"admin"}`),
        signs(`{${rest},"sub":"u2"}`),
        signs(`{${rest}}`, "{\"alg\":\"EdDSA\",\"kid\":\"own\",\"kid\":\"own\"}"),
        `${head}.${body}.${twin}`,
        `${head}.${body}.${signature}=`
      ]
    ) expect(await outcome(open, request(token)), token).toBe("Unauthorized")
    // Numbers that JavaScript cannot hold are nobody's business here.
    expect(await outcome(open, request(signs(`{${rest},"employee":12345678901234567890}`)))).toMatchObject({
      user: { id: "u1" }
    })
  })
})

describe("options that contradict each other", () => {
  it.each([
    [{}],
    [{ jwksUrl: "https://a.example/jwks", keys: [] }],
    [{ keys: [], tenant: 1, tenantClaim: "org" }],
    [{ keys: [], algorithms: ["none"] }],
    [{ keys: [], algorithms: ["ES256", "None"] }]
  ])("%j are refused at once", (options) => {
    expect(() => jwtAuthenticator(options)).toThrow(/jwtAuthenticator/)
  })
})

describe("the key cache", () => {
  /** A key server that can be changed, counted and switched off. */
  const serve = async (initial: readonly JWK[]) => {
    const state = { keys: initial, reads: 0, status: 200 }
    const server = createServer((incoming, response) => {
      state.reads += 1
      if (incoming.url === "/moved") response.writeHead(302, { location: "/jwks" }).end()
      else {response.writeHead(state.status, { "content-type": "application/json" }).end(
          JSON.stringify({ keys: state.keys })
        )}
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
    return { state, url, [Symbol.asyncDispose]: () => new Promise<void>((done) => void server.close(() => done())) }
  }
  const later = (ms: number): void => {
    const clock = performance.now.bind(performance)
    vi.spyOn(performance, "now").mockImplementation(() => clock() + ms)
  }

  it("reads the keys once, for all requests together", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    const tokens = await Promise.all([1, 2, 3, 4].map((n) => signer.sign(claims({ n }))))
    await Promise.all(tokens.map(async (token) => reads(request(token))))
    expect(server.state.reads).toBe(1)
  })

  it("reads again for an unknown key, at most once in 30 seconds", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    await reads(request(await signer.sign(claims())))
    const next = await makeSigner("k2")
    server.state.keys = [signer.jwk, next.jwk]
    const rotated = await Promise.all([1, 2, 3, 4].map((n) => next.sign(claims({ n }))))
    const known = await Promise.all(rotated.map((token) => outcome(reads, request(token))))
    expect(known).toEqual(rotated.map(() => ({ user: { id: "u1", roles: ["sales", "finance"] } })))
    expect(server.state.reads).toBe(2)
    const third = await makeSigner("k3")
    server.state.keys = [third.jwk]
    for (let n = 0; n < 5; n += 1) {
      expect(await outcome(reads, request(await third.sign(claims({ n }))))).toBe("Unauthorized")
    }
    expect(server.state.reads).toBe(2)
    later(30_000)
    expect(await outcome(reads, request(await third.sign(claims())))).toMatchObject({ user: { id: "u1" } })
    expect(server.state.reads).toBe(3)
  })

  it("forgets what was verified with a key that is gone", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url, cache: { minReloadMs: 0 } })
    const token = await signer.sign(claims())
    await reads(request(token))
    const next = await makeSigner("k2")
    server.state.keys = [next.jwk]
    await reads(request(await next.sign(claims())))
    expect(await outcome(reads, request(token))).toBe("Unauthorized")
  })

  it("does not remember what was being verified with a key while that went", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url, cache: { minReloadMs: 0 } })
    await reads(request(await signer.sign(claims())))
    const verify = crypto.subtle.verify.bind(crypto.subtle)
    const begun = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    vi.spyOn(crypto.subtle, "verify").mockImplementationOnce(async (...given) => {
      begun.resolve()
      await gone.promise
      return verify(...given)
    })
    const token = await signer.sign(claims({ jti: "late" }))
    const late = reads(request(token))
    await begun.promise
    const next = await makeSigner("k2")
    server.state.keys = [next.jwk]
    await reads(request(await next.sign(claims())))
    gone.resolve()
    await late
    expect(await outcome(reads, request(token))).toBe("Unauthorized")
  })

  it("reads again after ten minutes, in the background, and keeps the old keys while the server is away", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    const token = await signer.sign(claims())
    await reads(request(token))
    server.state.status = 500
    later(600_001)
    expect(reads(request(token))).toMatchObject({ user: { id: "u1" } })
    await vi.waitFor(() => expect(server.state.reads).toBe(2), { timeout: 60_000 })
    expect(await outcome(reads, request(await signer.sign(claims({ n: 1 }))))).toMatchObject({ user: { id: "u1" } })
  })

  it("reads again as often as it is told to", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url, cache: { refreshMs: 5_000 } })
    const token = await signer.sign(claims())
    await reads(request(token))
    later(5_001)
    await reads(request(token))
    await vi.waitFor(() => expect(server.state.reads).toBe(2), { timeout: 60_000 })
  })

  it("answers that it cannot judge when no keys were ever read, and recovers", async () => {
    await using server = await serve([signer.jwk])
    server.state.status = 503
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    const token = await signer.sign(claims())
    expect(await outcome(reads, request(token))).toBe("KeysUnavailable")
    server.state.status = 200
    later(1_001)
    expect(await outcome(reads, request(token))).toMatchObject({ user: { id: "u1" } })
  })

  it("asks a server that is away once a second while there are no keys", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    const fetched = vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("away"))
    const tokens = await Promise.all([1, 2, 3, 4].map((n) => signer.sign(claims({ n }))))
    for (const token of tokens) expect(await outcome(reads, request(token))).toBe("KeysUnavailable")
    expect(fetched).toHaveBeenCalledTimes(1)
  })

  it("asks a server that went away once in ten seconds, with requests that it goes on serving", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    const tokens = await Promise.all([1, 2, 3, 4].map((n) => signer.sign(claims({ n }))))
    await reads(request(tokens[0]!))
    later(600_001)
    const fetched = vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("away"))
    for (const token of tokens) {
      expect(await outcome(reads, request(token))).toMatchObject({ user: { id: "u1" } })
      await new Promise((done) => setImmediate(done))
    }
    expect(fetched).toHaveBeenCalledTimes(1)
  })

  it("believes no old key after a long silence before the new ones were asked for", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    await reads(request(await signer.sign(claims())))
    const next = await makeSigner("k2")
    server.state.keys = [next.jwk]
    later(1_200_001)
    expect(await outcome(reads, request(await signer.sign(claims({ n: 1 }))))).toBe("Unauthorized")
  })

  it("reads a set that was empty again after a second", async () => {
    await using server = await serve([])
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    const token = await signer.sign(claims())
    // A set without keys is no key set: nothing is known of the token (503), and nobody is told that it is wrong.
    for (let n = 0; n < 3; n++) expect(await outcome(reads, request(token))).toBe("KeysUnavailable")
    expect(server.state.reads).toBe(1)
    server.state.keys = [signer.jwk]
    later(1_001)
    expect(await outcome(reads, request(token))).toMatchObject({ user: { id: "u1" } })
  })

  it("does not read again for a known key under another algorithm", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url })
    await reads(request(await signer.sign(claims())))
    const forged = `${text({ alg: "RS256", kid: "k1" })}.${text(claims())}.AAAA`
    expect(await outcome(reads, request(forged))).toBe("Unauthorized")
    expect(server.state.reads).toBe(1)
  })

  it("follows no redirect", async () => {
    await using server = await serve([signer.jwk])
    const reads = jwtAuthenticator({ jwksUrl: server.url.replace("/jwks", "/moved") })
    expect(await outcome(reads, request(await signer.sign(claims())))).toBe("KeysUnavailable")
    expect(server.state.reads).toBe(1)
  })

  it("stops reading an answer that never ends", async () => {
    let sent = 0
    const endless = createServer((_, response) => {
      const flood = (): void => {
        while (!response.destroyed) {
          sent += 65_536
          if (!response.write(" ".repeat(65_536))) return void response.once("drain", flood)
        }
      }
      flood()
    })
    await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", () => resolve()))
    const { port } = endless.address() as AddressInfo
    const reads = jwtAuthenticator({ jwksUrl: `http://127.0.0.1:${port}/jwks` })
    expect(await outcome(reads, request(await signer.sign(claims())))).toBe("KeysUnavailable")
    // The bound is a thirtieth; what sockets hold on both sides comes on top.
    expect(sent).toBeLessThan(32_000_000)
    endless.closeAllConnections()
    await new Promise((done) => endless.close(done))
  })
})

describe("trusted apps", () => {
  const own: Authenticator = (credentials) => authenticator(credentials)
  const app = async () => {
    const other = await makeSigner("o1")
    const trusts = withTrustedApps(own, "https://a.example", [
      {
        issuer: "https://b.example:8443/",
        roles: { clerk: "sales", chief: ["sales", "finance"] },
        tenant: 5,
        keys: [other.jwk]
      }
    ])
    return { other, trusts }
  }
  const theirs = (more: Record<string, unknown> = {}) =>
    claims({ iss: "https://b.example:8443", aud: "https://b.example:8443", role: "clerk", ...more })

  it("gives their users a foreign id, mapped roles and the app's tenant", async () => {
    const { other, trusts } = await app()
    expect(await outcome(trusts, request(await other.sign(theirs({ role: "chief,clerk,admin" }))))).toEqual({
      user: { id: "u1@b.example:8443", roles: ["sales", "finance"] },
      tenant: 5
    })
    const slashed = theirs({ iss: "https://b.example:8443/", aud: "https://b.example:8443/" })
    expect(await outcome(trusts, request(await other.sign(slashed)))).toMatchObject({
      user: { id: "u1@b.example:8443" }
    })
  })

  it("still knows its own users, and known tokens come without a promise", async () => {
    const { other, trusts } = await app()
    const token = await signer.sign(claims())
    const foreign = await other.sign(theirs())
    expect(await outcome(trusts, request(token))).toEqual({ user: { id: "u1", roles: ["sales", "finance"] } })
    await trusts(request(foreign))
    expect(trusts(request(token))).not.toBeInstanceOf(Promise)
    expect(trusts(request(foreign))).not.toBeInstanceOf(Promise)
  })

  it.each([["admin"], [""], ["constructor"], ["__proto__"]])(
    "refuses a user whose role %j means nothing here",
    async (role) => {
      const { other, trusts } = await app()
      expect(await outcome(trusts, request(await other.sign(theirs({ role }))))).toBe("Refused")
    }
  )

  it("takes nobody of its own for one of theirs, whose id it would be", async () => {
    const { other, trusts } = await app()
    const theirId = await outcome(trusts, request(await other.sign(theirs())))
    expect(theirId).toMatchObject({ user: { id: "u1@b.example:8443" } })
    const namesake = request(await signer.sign(claims({ sub: "u1@b.example:8443" })))
    expect(await outcome(trusts, namesake)).toBe("Refused")
    expect(await outcome(trusts, namesake)).toBe("Refused")
    expect(await outcome(trusts, request(await signer.sign(claims({ sub: "u1@b.example" }))))).toMatchObject({
      user: { id: "u1@b.example" }
    })
  })

  it("never lets one issuer's key sign for another", async () => {
    const { other, trusts } = await app()
    expect(await outcome(trusts, request(await other.sign(claims())))).toBe("Unauthorized")
    expect(await outcome(trusts, request(await signer.sign(theirs())))).toBe("Unauthorized")
    expect(await outcome(trusts, request(await other.sign(theirs({ aud: "https://a.example" }))))).toBe("Unauthorized")
    expect(await outcome(trusts, request(await other.sign(theirs({ iss: "https://c.example" }))))).toBe("Unauthorized")
  })

  it.each([
    [["https://a.example"]],
    [["https://a.example/"]],
    [["https://A.example:443"]],
    [["https://b.example", "https://b.example/"]],
    // Users of both would have the same ids.
    [["https://b.example/shop", "https://B.example/crm"]],
    [["https://user:word@b.example"]],
    [["https://b.example/?x"]],
    [["ftp://b.example"]],
    [["b.example"]]
  ])("cannot be %j", (issuers) => {
    expect(() => withTrustedApps(own, "https://a.example", issuers.map((issuer) => ({ issuer, roles: {}, keys: [] }))))
      .toThrow(expect.objectContaining({ _tag: "AccountError", code: "invalid-app" }))
  })

  it("remember no token that was not verified", async () => {
    const { other, trusts } = await app()
    const set = vi.spyOn(Map.prototype, "set")
    const kept = (token: string): boolean =>
      set.mock.calls.some(([key, value]) => key === token && !(value instanceof Promise))
    const good = await other.sign(theirs())
    const made = [`${good}x`, `${(await signer.sign(claims())).slice(0, -8)}`, "a".repeat(16_000)]
    for (const token of made) expect(await outcome(trusts, request(token))).toBe("Unauthorized")
    expect(made.filter(kept)).toEqual([])
    await trusts(request(good))
    expect(kept(good)).toBe(true)
    set.mockRestore()
  })
})
