/**
 * Identity providers for better-auth: exchanges codes, and turns a verified ID token into a profile. It never accepts an unverified token,
 * or an address that the provider did not verify. Every request to a provider is bounded in time and size.
 */

import type { OAuthProvider } from "@better-auth/core/oauth2"
import * as Result from "effect/Result"
import type { CompactJWSHeaderParameters } from "jose"
import { jwtVerify } from "jose/jwt/verify"
import { createHash } from "node:crypto"
import { readEmail } from "../../core/domain/account/account.ts"
import type { Bag } from "../../core/domain/bag.ts"
import { isStorable } from "../../core/domain/value/cell.ts"
import { type DiscoveredProvider, readProvider } from "./discovery.ts"
import { clockToleranceSeconds } from "./jwt.ts"
import { fetchKeys, makeKeys } from "./keys.ts"

const isTrue = (value: unknown): boolean => value === true || value === "true"

/** An address that no account has. */
const nobody = `${crypto.randomUUID()}@accounts.invalid`

/** Whether a text is plain ASCII. In lower case the Kelvin sign becomes an ASCII `k`, and so an address of another person. */
const isPlain = (text: string): boolean => /^[ -~]*$/.test(text)

/** A provider's verifier of ID tokens: gives the claims of one that it signed for this client and this sign-in, else null. */
const verifierOf = ({ algorithms, issuer, keysUrl, provider }: DiscoveredProvider) => {
  const keys = makeKeys(fetchKeys(keysUrl))
  const checks = {
    algorithms: [...algorithms],
    issuer,
    audience: provider.clientId,
    requiredClaims: ["exp", "iat", "sub"],
    clockTolerance: clockToleranceSeconds
  }
  const verificationKey = ({ alg, kid }: CompactJWSHeaderParameters) => keys.find(alg, kid)
  return async (token: string, nonce: string): Promise<Bag | null> => {
    try {
      const { payload } = await jwtVerify(token, verificationKey, checks)
      const { iat } = payload
      const made = typeof iat === "number" && iat <= Date.now() / 1_000 + clockToleranceSeconds
      return made && payload["nonce"] === nonce ? payload : null
    } catch {
      return null
    }
  }
}

/** Longest subject, in characters (OpenID Connect Core 1.0, 2). */
const subjectMax = 255

/**
 * The profile from the claims of a verified ID token. The token must be for this client alone (OpenID Connect Core 1.0, 3.1.3.7). When the
 * address is missing, the provider is asked for it, for the same subject.
 */
const profileOf = async (
  { provider, userInfoUrl }: DiscoveredProvider,
  claims: Bag,
  accessToken: string | undefined
) => {
  const { aud, azp, sub } = claims
  if (typeof sub !== "string" || sub === "" || sub.length > subjectMax || !isStorable(sub)) return null
  if (azp !== undefined ? azp !== provider.clientId : Array.isArray(aud) && aud.length > 1) return null
  let source = claims
  if (typeof claims["email"] !== "string") {
    if (userInfoUrl === undefined || accessToken === undefined) return null
    source = await readProvider(userInfoUrl, { headers: { authorization: `Bearer ${accessToken}` } })
    if (source["sub"] !== sub) return null
  }
  const { email, email_verified, name } = source
  const address = typeof email === "string" && isPlain(email) ? readEmail(email) : null
  if (address === null || Result.isFailure(address)) return null
  // The text "false" does not mean yes.
  const emailVerified = isTrue(email_verified)
  const called = typeof name === "string" ? name.trim().slice(0, 200) : ""
  return {
    sub,
    // An unverified address finds no account, so it does not tell whether there is one.
    email: emailVerified ? address.success : nobody,
    emailVerified,
    name: called !== "" && isStorable(called) ? called : address.success.split("@", 1)[0] ?? ""
  }
}

/** A text as a form encodes it. Client id and secret are encoded so before they are joined (RFC 6749, 2.3.1). */
const formText = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1)

/** The tokens for a code (RFC 6749, 4.1.3; RFC 7636, 4.5). Rejects when the provider gives none. */
const exchange = async (
  { provider, tokenAuth, tokenUrl }: DiscoveredProvider,
  code: string,
  codeVerifier: string,
  redirectUri: string
) => {
  const { clientId, clientSecret = "" } = provider
  const answer = await readProvider(tokenUrl, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
      ...(tokenAuth === "client_secret_basic" ? {} : { client_id: clientId }),
      ...(tokenAuth === "client_secret_post" ? { client_secret: clientSecret } : {})
    }),
    headers: tokenAuth === "client_secret_basic"
      ? {
        authorization: `Basic ${Buffer.from(`${formText(clientId)}:${formText(clientSecret)}`).toString("base64")}`
      }
      : {}
  })
  const { access_token, id_token } = answer
  return {
    ...(typeof access_token === "string" ? { accessToken: access_token } : {}),
    ...(typeof id_token === "string" ? { idToken: id_token } : {})
  }
}

/** Milliseconds for which the answer to a code is kept. */
const keptMs = 10_000
/** Most answers that are kept. */
const keptMax = 1_000

/** Remembers the answer to a code for a moment. A code is valid once, and a callback that runs again brings the same one. */
const remembering = (ask: typeof exchange): typeof exchange => {
  const exchanges = new Map<string, ReturnType<typeof exchange>>()
  return (discovered, code, codeVerifier, redirectUri) => {
    const earlier = exchanges.get(code)
    if (earlier !== undefined) return earlier
    const answer = ask(discovered, code, codeVerifier, redirectUri)
    for (const oldest of exchanges.keys()) {
      if (exchanges.size < keptMax) break
      exchanges.delete(oldest)
    }
    exchanges.set(code, answer)
    setTimeout(() => exchanges.delete(code), keptMs).unref()
    return answer
  }
}

/**
 * The provider in the form that better-auth takes. Its own plugin for OpenID Connect sets no limit of time or size, so a provider that does
 * not answer would hold up the users of all others.
 */
export const oauthProvider = (discovered: DiscoveredProvider): OAuthProvider => {
  const { authorizationUrl, issuer, provider } = discovered
  const verify = verifierOf(discovered)
  const exchangeOnce = remembering(exchange)
  return {
    id: provider.id,
    name: provider.name,
    issuer,
    requiresIdTokenNonce: true,
    options: { disableSignUp: !provider.createUsers },
    accountSubject: ({ profile }) => "sub" in profile ? String(profile.sub) : "",
    createAuthorizationURL: ({ codeVerifier, idTokenNonce, loginHint, redirectURI, state }) => {
      if (idTokenNonce === undefined) throw new Error("a sign-in with an identity provider needs a nonce")
      const url = new URL(authorizationUrl)
      const sent = {
        response_type: "code",
        client_id: provider.clientId,
        redirect_uri: redirectURI,
        scope: provider.scopes.join(" "),
        state,
        nonce: idTokenNonce,
        code_challenge: createHash("sha256").update(codeVerifier).digest("base64url"),
        code_challenge_method: "S256",
        ...(loginHint === undefined ? {} : { login_hint: loginHint })
      }
      for (const [name, value] of Object.entries(sent)) url.searchParams.set(name, value)
      return url
    },
    validateAuthorizationCode: ({ code, codeVerifier = "", redirectURI }) =>
      exchangeOnce(discovered, code, codeVerifier, redirectURI),
    getUserInfo: async ({ accessToken, expectedIdTokenNonce, idToken }) => {
      if (idToken === undefined || expectedIdTokenNonce === undefined) return null
      const claims = await verify(idToken, expectedIdTokenNonce)
      // A failure of the provider counts as no answer, not as a failure of ours.
      const profile = claims === null ? null : await profileOf(discovered, claims, accessToken).catch(() => null)
      if (profile === null) return null
      const { sub: _sub, ...user } = profile
      return { user, data: profile }
    }
  }
}
