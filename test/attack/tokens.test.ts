/** Forged, foreign, stale and oversized tokens against the composed service. Each must end in the same plain 401. */

import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import { createHmac, createPublicKey } from "node:crypto"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { issueToken } from "../../adapters/auth/users.ts"
import { cpuMilliseconds } from "../support/cpu.ts"
import { authUrl, type Instance, openStage, type Stage, subjectOf } from "./stage.ts"

let stage: Stage
let service: Instance
let good: string
let header: { readonly alg: string; readonly kid: string }
let payload: { readonly [claim: string]: unknown }
let publicKey: JWK
/** A key that the service trusts like its own: what is signed with it fails for its claims or not at all. */
let trusted: Awaited<ReturnType<typeof generateKeyPair>>

beforeAll(async () => {
  stage = await openStage()
  service = stage.instance()
  await stage.account(service.auth, "admin")
  const reader = await stage.account(service.auth, "reader", "reader")
  good = (await issueToken(service.auth, { email: reader })).token
  const [head = "", body = ""] = good.split(".")
  header = JSON.parse(Buffer.from(head, "base64url").toString()) as typeof header
  payload = JSON.parse(Buffer.from(body, "base64url").toString()) as typeof payload
  trusted = await generateKeyPair("EdDSA", { extractable: true })
  await stage.store.pool.query(
    `insert into auth."jwks" ("id", "publicKey", "privateKey", "createdAt", "alg", "crv") values ('trusted', $1, '', '2000-01-01', 'EdDSA', 'Ed25519')`,
    [JSON.stringify(await exportJWK(trusted.publicKey))]
  )
  const keys = (await service.ask("GET", "/api/auth/jwks")).body["keys"] as JWK[]
  publicKey = keys.find(({ kid }) => kid === header.kid) ?? {}
})

afterAll(() => stage[Symbol.asyncDispose]())

const part = (value: unknown): string =>
  (typeof value === "string" ? Buffer.from(value) : Buffer.from(JSON.stringify(value))).toString("base64url")

/** A token with this head and body and whatever signature. */
const crafted = (head: unknown, body: unknown, signature = ""): string => `${part(head)}.${part(body)}.${signature}`

const hmac = (head: unknown, body: unknown, key: string | Buffer): string => {
  const signed = `${part(head)}.${part(body)}`
  return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`
}

/** A token that is right but for these claims; undefined leaves a claim out. */
const signed = (claims: Record<string, unknown>): Promise<string> =>
  new SignJWT(JSON.parse(JSON.stringify({ ...payload, ...claims })) as typeof payload)
    .setProtectedHeader({ alg: "EdDSA", kid: "trusted" }).sign(trusted.privateKey)

const refusals = new Set<string>()

/** Who holds a token that was right until it expired is told so, and nothing else. */
const expectExpired = async (token: string): Promise<void> => {
  const answer = await service.ask("GET", "/api/v1/notes", { token })
  expect([
    answer.status,
    answer.headers.get("www-authenticate"),
    (JSON.parse(answer.text) as { readonly detail: string }).detail
  ])
    .toEqual([
      401,
      "Bearer error=\"invalid_token\", error_description=\"The token has expired.\"",
      "The token has expired."
    ])
}

/** The one answer there is to a token that does not count. */
const expectRefused = async (token: string): Promise<void> => {
  const answer = await service.ask("GET", "/api/v1/notes", { token })
  expect(answer.status, token.slice(0, 200)).toBe(401)
  expect(answer.headers.get("www-authenticate")).toBe("Bearer")
  refusals.add(answer.text)
}

describe("a token is refused", () => {
  it("that changes its algorithm to none, in any spelling, with and without a signature", async () => {
    const [, , signature = ""] = good.split(".")
    for (const alg of ["none", "None", "NONE", "nOnE", "", null, undefined, ["none"], { alg: "none" }]) {
      await expectRefused(crafted({ ...header, alg }, payload))
      await expectRefused(crafted({ ...header, alg }, payload, signature))
    }
  })

  it("that is an HMAC with the public key, or with anything else that is public", async () => {
    const pem = createPublicKey({ key: publicKey as never, format: "jwk" }).export({ type: "spki", format: "pem" })
      .toString()
    const raw = Buffer.from(publicKey.x ?? "", "base64url")
    const keys = [
      pem,
      pem.trim(),
      raw,
      publicKey.x ?? "",
      JSON.stringify(publicKey),
      JSON.stringify({ keys: [publicKey] }),
      "",
      authUrl,
      header.kid
    ]
    for (const key of keys) {
      for (const alg of ["HS256", "EdDSA"]) await expectRefused(hmac({ ...header, alg }, payload, key))
    }
  })

  it("whose key id is a trick", async () => {
    const [, , signature = ""] = good.split(".")
    const kids = [
      "../../../../dev/null",
      "/dev/null",
      "' or '1'='1",
      "'; drop table auth.jwks; --",
      "x".repeat(10_000),
      "",
      "\u0000",
      [header.kid],
      { kid: header.kid },
      0,
      true,
      null,
      "__proto__",
      "http://169.254.169.254/latest/meta-data"
    ]
    for (const kid of kids) {
      await expectRefused(crafted({ ...header, kid }, payload, signature))
      await expectRefused(hmac({ ...header, alg: "HS256", kid }, payload, ""))
    }
    expect(await service.read(good)).toBe(200)
  })

  it("that brings its own key, and nobody goes to fetch one", async () => {
    let fetched = 0
    const server = await listening((_request, answer) => {
      fetched += 1
      answer.end("{}")
    })
    const { privateKey, publicKey: own } = await generateKeyPair("EdDSA", { extractable: true })
    const jwk = await exportJWK(own)
    const url = `http://127.0.0.1:${portOf(server)}/jwks`
    for (const trick of [{ jwk }, { jku: url }, { x5u: url }, { jwk, jku: url, x5u: url, x5c: ["MIIB"] }]) {
      const signer = new SignJWT({ ...payload }).setProtectedHeader({ ...header, ...trick })
      await expectRefused(await signer.sign(privateKey))
      const other = new SignJWT({ ...payload }).setProtectedHeader({ ...header, kid: "own", ...trick })
      await expectRefused(await other.sign(privateKey))
    }
    server.close()
    expect(fetched).toBe(0)
  })

  it("of another issuer or for another audience, though a trusted key signed it", async () => {
    expect(await service.read(await signed({}))).toBe(200)
    expect(await service.read(await signed({ aud: [authUrl, "https://other.example"] }))).toBe(200)
    for (
      const claims of [
        { iss: "https://evil.example" },
        { iss: `${authUrl}/` },
        { iss: `${authUrl}.evil.example` },
        { iss: [authUrl] },
        { iss: undefined },
        { aud: "https://other.example" },
        { aud: [] },
        { aud: `${authUrl}/api` },
        { aud: undefined }
      ]
    ) await expectRefused(await signed(claims))
  })

  it("without exp or sub, expired beyond the tolerance, or not valid yet", async () => {
    const now = Math.floor(Date.now() / 1_000)
    expect(await service.read(await signed({ exp: now - 20 }))).toBe(200)
    expect(await service.read(await signed({ nbf: now + 20 }))).toBe(200)
    for (
      const claims of [
        { exp: undefined },
        { exp: "tomorrow" },
        { exp: null },
        { nbf: now + 60 },
        { nbf: "soon" },
        { sub: undefined },
        { sub: "" },
        { sub: null },
        { sub: 7 },
        { sub: ["x"] },
        { sub: "x".repeat(300) },
        { sub: "a\u0000b" }
      ]
    ) await expectRefused(await signed(claims))
    for (const exp of [now - 40, 0, -1]) await expectExpired(await signed({ exp }))
    // One that was never right is not told what else is wrong with it.
    const [head, body] = (await signed({ exp: now - 40 })).split(".")
    await expectRefused(`${head}.${body}.${(await signed({})).split(".")[2]}`)
  })

  it("never for claims that pose as something else: roles that are no roles give none", async () => {
    for (
      const role of [undefined, null, "", "constructor", "__proto__", "Admin", " ", ["boss"], []]
    ) {
      // A valid token of a user who may do nothing: the resource does not exist for them.
      expect(await service.read(await signed({ role })), JSON.stringify(role)).toBe(404)
    }
    expect(await service.read(await signed({ tenant: 1, roles: "admin", role: "user" }))).toBe(404)
    for (const role of [7, {}, { admin: true }, ["reader", 7], ["reader", "admin "], ["reader", ""], "re ader", true]) {
      await expectRefused(await signed({ role }))
    }
  })

  it("that was cut, doubled, decorated or is no token at all", async () => {
    const [head = "", body = "", signature = ""] = good.split(".")
    for (
      const token of [
        "",
        ".",
        "..",
        "...",
        head,
        `${head}.${body}`,
        `${head}.${body}.`,
        `${good}.`,
        `${good}.x`,
        `${good}=`,
        `${good},${good}`,
        `${good} ${good}`,
        `"${good}"`,
        `${head}.${part({ ...payload, role: "admin" })}.${signature}`,
        // One in sixteen signatures of Ed25519 ends so by itself.
        `${head}.${body}.${signature.slice(0, -2)}${signature.endsWith("AA") ? "BA" : "AA"}`,
        `${head}.${body}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`,
        `${part({ ...header, b64: false, crit: ["b64"] })}.${body}.${signature}`,
        "null",
        "undefined",
        "Bearer",
        "[object Object]"
      ]
    ) await expectRefused(token)
  })

  it("in any place but the header", async () => {
    for (
      const path of [
        `/api/v1/notes?access_token=${good}`,
        `/api/v1/notes?token=${good}`,
        `/api/v1/notes?authorization=Bearer%20${good}`
      ]
    ) {
      expect((await service.ask("GET", path)).status).toBe(401)
    }
    for (
      const name of [
        "cookie",
        "x-access-token",
        "x-api-key",
        "proxy-authorization",
        "x-authorization",
        "x-forwarded-authorization"
      ]
    ) {
      expect((await service.ask("GET", "/api/v1/notes", { headers: { [name]: `Bearer ${good}` } })).status).toBe(401)
      expect((await service.ask("GET", "/api/v1/notes", { headers: { [name]: good } })).status).toBe(401)
    }
    expect(
      (await service.ask("GET", "/api/v1/notes", { headers: { authorization: `Basic ${btoa(`x:${good}`)}` } })).status
    ).toBe(401)
  })

  it("when internal-looking headers claim a user", async () => {
    const headers = {
      "x-user-id": subjectOf(good),
      "x-user": "admin",
      "x-roles": "admin",
      "x-role": "admin",
      "x-tenant": "1",
      "x-authenticated-user": "admin",
      "x-original-url": "/livez",
      "x-rewrite-url": "/livez",
      "x-http-method-override": "GET",
      "x-forwarded-user": "admin",
      "x-remote-user": "admin",
      "forwarded": "for=127.0.0.1;by=127.0.0.1;host=localhost"
    }
    expect((await service.ask("GET", "/api/v1/notes", { headers, from: "127.0.0.1" })).status).toBe(401)
    // And with a credential they add nothing to it.
    expect((await service.ask("POST", "/api/v1/notes", { token: good, headers, body: { text: "x" } })).status).toBe(403)
  })

  it("and all refusals above are one and the same text", () => {
    expect([...refusals]).toHaveLength(1)
  })
})

describe("size", () => {
  it("does not get past the header: long tokens cost nothing and are 401", async () => {
    const taken = await cpuMilliseconds(async () => {
      for (let length = 1_000; length <= 140_000; length *= 2) {
        await expectRefused("x".repeat(length))
        await expectRefused(`sk_${"a".repeat(length)}`)
        await expectRefused(crafted(header, { ...payload, pad: "x".repeat(length) }, "AA"))
      }
    })
    expect(taken).toBeLessThan(5_000)
  })

  it("of a nest of JSON in the token does no harm", async () => {
    await expectRefused(`${Buffer.from("[".repeat(6_000)).toString("base64url")}.e30.AA`)
    await expectRefused(`${part(header)}.${Buffer.from("{\"a\":".repeat(2_000)).toString("base64url")}.AA`)
  })
})

describe("the key server", () => {
  it("is asked once for a flood of unknown keys, and the good ones go on", async () => {
    let asked = 0
    const server = await listening((_request, answer) => {
      asked += 1
      answer.setHeader("content-type", "application/json")
      answer.end(JSON.stringify({ keys: [publicKey] }))
    })
    const api = stage.apart({ jwksUrl: `http://127.0.0.1:${portOf(server)}/jwks`, issuer: authUrl })
    expect(await api.read(good)).toBe(200)
    expect(asked).toBe(1)
    const [, body = "", signature = ""] = good.split(".")
    const flood = Array.from(
      { length: 300 },
      (_, index) => `${part({ ...header, kid: `k${index}` })}.${body}.${signature}`
    )
    const half = await Promise.all(flood.slice(0, 150).map(api.read))
    for (const token of flood.slice(150)) half.push(await api.read(token))
    expect(new Set(half)).toEqual(new Set([401]))
    // One reading because of unknown keys in thirty seconds; this took less.
    expect(asked).toBe(2)
    expect(await api.read(good)).toBe(200)
    server.close()
  })
})

describe("a trusted app", () => {
  it("is asked for its keys where every app has them, and its users for a role here", async () => {
    const app = await generateKeyPair("EdDSA", { extractable: true })
    const key = { ...await exportJWK(app.publicKey), alg: "EdDSA", kid: "app" }
    const asked: (string | undefined)[] = []
    const server = await listening((incoming, answer) => {
      asked.push(incoming.url)
      answer.setHeader("content-type", "application/json")
      answer.end(JSON.stringify({ keys: [key] }))
    })
    const issuer = `http://127.0.0.1:${portOf(server)}`
    const api = stage.apart({ auth: service.auth, apps: [{ issuer: `${issuer}/`, roles: { clerk: "reader" } }] })
    const theirs = (claims: Record<string, unknown>, by = app.privateKey, kid = "app"): Promise<string> =>
      new SignJWT({
        iss: issuer,
        aud: issuer,
        sub: "u1",
        role: "clerk",
        exp: Math.floor(Date.now() / 1_000) + 60,
        ...claims
      })
        .setProtectedHeader({ alg: "EdDSA", kid }).sign(by)
    const clerk = await theirs({})
    expect(await api.read(clerk)).toBe(200)
    expect(await api.read(await theirs({ role: "boss,clerk" }))).toBe(200)
    expect(asked).toEqual(["/api/auth/jwks"])
    // What the app says of organizations is none of its global roles.
    for (const claims of [{ role: "admin" }, { role: undefined, roles: ["clerk"], organization: { role: "clerk" } }]) {
      const refused = await api.ask("GET", "/api/v1/notes", { token: await theirs(claims) })
      expect(refused.body).toMatchObject({ type: "urn:service:problem:access-denied", status: 403 })
    }
    expect(await api.read(await theirs({ aud: authUrl }))).toBe(401)
    expect(await api.read(await theirs({ iss: authUrl, aud: authUrl }))).toBe(401)
    expect(await api.read(await theirs({}, trusted.privateKey, "trusted"))).toBe(401)
    expect(await api.read(good)).toBe(200)
    // Only where it is trusted.
    expect(await service.read(clerk)).toBe(401)
    server.close()
  })
})

it("nothing of this is in the log", () => {
  const { found, seen } = stage.leaks()
  expect(seen).toBeGreaterThan(100)
  expect(found).toEqual([])
})

const listening = (answer: Parameters<typeof createServer>[1]): Promise<Server> =>
  new Promise((resolve) => {
    const server: Server = createServer(answer as never).listen(0, "127.0.0.1", () => resolve(server))
  })

const portOf = (server: Server): number => (server.address() as AddressInfo).port
