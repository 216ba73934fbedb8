/**
 * An identity provider in this process (OpenID Connect: discovery, authorization code with PKCE, ID tokens, user info) that tests may tell to
 * lie. It checks what a provider checks: client, redirect address, code verifier.
 */

import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose"
import { createHash, randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface Person {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: unknown
  readonly name?: string
}

/** How the provider lies at the next sign-in. */
export interface Lies {
  readonly claims?: Record<string, unknown>
  /** Sign with a key that is not published. */
  readonly foreignKey?: boolean
  /** Make an HMAC with the published key, or with the secret of the client. */
  readonly symmetric?: "key" | "secret"
  readonly unsigned?: boolean
  readonly noIdToken?: boolean
  readonly userInfo?: Record<string, unknown>
  readonly description?: Record<string, unknown>
}

export interface FakeProvider extends AsyncDisposable {
  readonly issuer: string
  readonly client: { readonly id: string; readonly secret: string }
  /** Signs the person in at the authorization address; gives the address it sends the browser to. */
  readonly authorize: (url: string, person: Person) => URL
  lies: Lies
  /** Requests by path. */
  readonly asked: ReadonlyMap<string, number>
  /** Every code, token and secret it handed out. */
  readonly secrets: readonly string[]
  away: boolean
  /** Signs with a new key from now on, and publishes that one alone. */
  readonly rotate: () => Promise<void>
  /** Whether it takes the n-th request to a path, from 1, and never answers. */
  stalls: (path: string, nth: number) => boolean
  /** What it sends for a path instead of an answer: one that goes on for as long as anybody reads. */
  floods: string
  /** Characters of floods that it got rid of. */
  readonly flooded: () => number
}

interface Grant {
  readonly person: Person
  readonly nonce: string
  readonly challenge: string
  readonly redirect: string
}

export const openProvider = async (): Promise<FakeProvider> => {
  let keys = await generateKeyPair("RS256", { extractable: true })
  const foreign = await generateKeyPair("RS256", { extractable: true })
  let jwk = { ...await exportJWK(keys.publicKey), kid: "p1", alg: "RS256", use: "sig" }
  const client = { id: "admin-panel", secret: `client-secret-${randomUUID()}` }
  const grants = new Map<string, Grant>()
  const people = new Map<string, Person>()
  const asked = new Map<string, number>()
  const secrets: string[] = [client.secret]
  let issuer = ""
  let flooded = 0

  const idToken = async ({ nonce, person }: Grant): Promise<string> => {
    const { lies } = provider
    const now = Math.floor(Date.now() / 1_000)
    const claims: JWTPayload = JSON.parse(
      JSON.stringify({ iss: issuer, aud: client.id, iat: now, exp: now + 300, nonce, ...person, ...lies.claims })
    ) as JWTPayload
    if (lies.unsigned === true) {
      const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
      return `${part({ alg: "none" })}.${part(claims)}.`
    }
    if (lies.symmetric !== undefined) {
      return new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: jwk.kid })
        .sign(Buffer.from(lies.symmetric === "key" ? JSON.stringify(jwk) : client.secret))
    }
    return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: jwk.kid })
      .sign(lies.foreignKey === true ? foreign.privateKey : keys.privateKey)
  }

  const tokens = async (authorization: string, form: URLSearchParams): Promise<readonly [number, unknown]> => {
    const grant = grants.get(form.get("code") ?? "")
    grants.delete(form.get("code") ?? "")
    const [id, secret] = Buffer.from(authorization.replace(/^Basic /, ""), "base64").toString().split(":").map(
      decodeURIComponent
    )
    const verifier = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url")
    if (id !== client.id || secret !== client.secret) return [401, { error: "invalid_client" }]
    if (grant === undefined || grant.challenge !== verifier || form.get("redirect_uri") !== grant.redirect) {
      return [400, { error: "invalid_grant" }]
    }
    const access = `access-${randomUUID()}`
    const refresh = `refresh-${randomUUID()}`
    people.set(access, grant.person)
    const token = await idToken(grant)
    secrets.push(access, refresh, token)
    return [200, {
      token_type: "Bearer",
      access_token: access,
      refresh_token: refresh,
      expires_in: 300,
      ...(provider.lies.noIdToken === true ? {} : { id_token: token })
    }]
  }

  const answer = async (path: string, authorization: string, body: string): Promise<readonly [number, unknown]> => {
    switch (path) {
      case "/.well-known/openid-configuration":
        return [200, {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ["RS256", "HS256", "none"],
          ...provider.lies.description
        }]
      case "/jwks":
        return [200, { keys: [jwk] }]
      case "/token":
        return tokens(authorization, new URLSearchParams(body))
      case "/userinfo": {
        const person = people.get(authorization.replace(/^Bearer /, ""))
        return person === undefined ? [401, {}] : [200, { ...person, ...provider.lies.userInfo }]
      }
      default:
        return [404, {}]
    }
  }

  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname
    asked.set(path, (asked.get(path) ?? 0) + 1)
    if (provider.away) return void request.socket.destroy()
    if (provider.stalls(path, asked.get(path) ?? 0)) return
    if (provider.floods === path) {
      response.writeHead(200, { "content-type": "application/json" })
      const flood = (): void => {
        while (!response.destroyed) {
          flooded += 65_536
          if (!response.write(" ".repeat(65_536))) return void response.once("drain", flood)
        }
      }
      return flood()
    }
    let body = ""
    request.on("data", (chunk: Buffer) => void (body += chunk.toString()))
    request.on("end", () => {
      void answer(path, request.headers.authorization ?? "", body).then(([status, json]) => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json))
      })
    })
  })

  const provider: FakeProvider = {
    issuer: "",
    client,
    asked,
    secrets,
    lies: {},
    away: false,
    rotate: async () => {
      keys = await generateKeyPair("RS256", { extractable: true })
      jwk = { ...jwk, ...await exportJWK(keys.publicKey), kid: randomUUID() }
    },
    stalls: () => false,
    floods: "",
    flooded: () => flooded,
    authorize: (url, person) => {
      const { searchParams } = new URL(url)
      const redirect = searchParams.get("redirect_uri") ?? ""
      const code = `code-${randomUUID()}`
      secrets.push(code, searchParams.get("state") ?? "", searchParams.get("nonce") ?? "")
      grants.set(code, {
        person,
        redirect,
        nonce: searchParams.get("nonce") ?? "",
        challenge: searchParams.get("code_challenge_method") === "S256"
          ? searchParams.get("code_challenge") ?? ""
          : "none"
      })
      const back = new URL(redirect)
      back.searchParams.set("code", code)
      back.searchParams.set("state", searchParams.get("state") ?? "")
      return back
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((done) => {
        server.closeAllConnections()
        server.close(() => done())
      })
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(provider, { issuer })
}
