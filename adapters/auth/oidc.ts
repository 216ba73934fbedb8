/**
 * Identity providers for better-auth: reads and checks a provider's own description, and turns a verified ID token into a profile. It never
 * believes a token that was not verified, an address that the provider did not verify, or a description of another issuer.
 */

import type { GenericOAuthConfig } from "better-auth/plugins"
import * as Result from "effect/Result"
import { decodeJwt } from "jose/jwt/decode"
import { readEmail } from "../../core/domain/account/account.ts"
import { isSafeUrl, type Provider } from "../../core/domain/account/provider.ts"
import { type Bag, isBag } from "../../core/domain/bag.ts"

/** A provider with what was taken from its description of itself. */
export interface DiscoveredProvider {
  readonly provider: Provider
  readonly authorizationUrl: string
  readonly tokenUrl: string
  readonly userInfoUrl: string | undefined
  /** How the client shows its secret at the token endpoint. */
  readonly tokenAuth: "client_secret_basic" | "client_secret_post" | "none"
}

/** Most characters of a description or profile. */
const textMax = 262_144
const timeoutMs = 5_000

const read = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<Bag> => {
  const response = await fetch(url, {
    headers: { accept: "application/json", ...headers },
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs)
  })
  if (!response.ok) throw new Error(`the identity provider answered ${response.status}`)
  const text = await response.text()
  if (text.length > textMax) throw new Error("the identity provider's answer is too large")
  const body: unknown = JSON.parse(text)
  if (!isBag(body)) throw new Error("the identity provider's answer is no object")
  return body
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

const descriptionUrl = ({ issuer }: Provider): string => `${issuer}/.well-known/openid-configuration`

/** Reads a provider's description (OpenID Connect Discovery 1.0, 4). Rejects when it cannot be had or says something unsafe. */
export const discover = async (provider: Provider): Promise<DiscoveredProvider> => {
  const document = await read(descriptionUrl(provider))
  const { authorization_endpoint, issuer, jwks_uri, token_endpoint, userinfo_endpoint } = document
  if (typeof issuer !== "string" || issuer.replace(/\/+$/, "") !== provider.issuer) {
    throw new Error(`the identity provider "${provider.id}" describes another issuer`)
  }
  if (
    !isSafeUrl(authorization_endpoint) || !isSafeUrl(token_endpoint) || !isSafeUrl(jwks_uri)
    || (userinfo_endpoint !== undefined && !isSafeUrl(userinfo_endpoint))
  ) {
    throw new Error(`the identity provider "${provider.id}" lacks an endpoint, or has one without https`)
  }
  const methods = textsIn(document["token_endpoint_auth_methods_supported"])
  return {
    provider,
    authorizationUrl: authorization_endpoint,
    tokenUrl: token_endpoint,
    userInfoUrl: userinfo_endpoint,
    tokenAuth: provider.clientSecret === undefined
      ? "none"
      : methods.includes("client_secret_post") && !methods.includes("client_secret_basic")
      ? "client_secret_post"
      : "client_secret_basic"
  }
}

const isTrue = (value: unknown): boolean => value === true || value === "true"

/** An address that no account has. */
const nobody = `${crypto.randomUUID()}@accounts.invalid`

/** Whether a text is plain ASCII: lower case makes an ASCII letter of the Kelvin sign, and somebody else's address of it. */
const isPlain = (text: string): boolean => /^[ -~]*$/.test(text)

/**
 * The profile of an ID token that better-auth has verified (signature, issuer, audience, nonce). What it leaves to us: the token must
 * end, and must be for this client alone (OpenID Connect Core 1.0, 3.1.3.7). An address that is missing is asked for, for the same subject.
 */
const profileOf = async (
  { provider, userInfoUrl }: DiscoveredProvider,
  idToken: string,
  accessToken: string | undefined
) => {
  const claims: Bag = decodeJwt(idToken)
  const { aud, azp, exp, sub } = claims
  if (typeof sub !== "string" || sub === "" || typeof exp !== "number") return null
  if (azp !== undefined ? azp !== provider.clientId : Array.isArray(aud) && aud.length > 1) return null
  let source = claims
  if (typeof claims["email"] !== "string") {
    if (userInfoUrl === undefined || accessToken === undefined) return null
    source = await read(userInfoUrl, { authorization: `Bearer ${accessToken}` })
    if (source["sub"] !== sub) return null
  }
  const { email, email_verified, name } = source
  const address = typeof email === "string" && isPlain(email) ? readEmail(email) : null
  if (address === null || Result.isFailure(address)) return null
  // A text "false" is not a yes.
  const emailVerified = isTrue(email_verified)
  return {
    id: sub,
    sub,
    // An address that anybody may claim finds no account, and so does not tell whether there is one.
    email: emailVerified ? address.success : nobody,
    emailVerified,
    name: typeof name === "string" && name.trim() !== ""
      ? name.trim().slice(0, 200)
      : address.success.split("@", 1)[0] ?? ""
  }
}

/** The provider as better-auth's plugin takes it. */
export const oauthConfig = (discovered: DiscoveredProvider): GenericOAuthConfig => {
  const { authorizationUrl, provider, tokenAuth, tokenUrl } = discovered
  const { clientId, clientSecret, createUsers, id, name, scopes } = provider
  return {
    providerId: id,
    name,
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    tokenEndpointAuth: { method: tokenAuth },
    authorizationUrl,
    tokenUrl,
    // Read once more by the plugin, for the keys and the issuer of ID tokens; without them it leaves the provider out.
    discoveryUrl: descriptionUrl(provider),
    requireIdTokenVerification: true,
    accountSubject: ({ profile }) => String(profile.sub ?? ""),
    pkce: true,
    scopes: [...scopes],
    disableSignUp: !createUsers,
    getUserInfo: async ({ accessToken, idToken }) =>
      idToken === undefined ? null : profileOf(discovered, idToken, accessToken)
  }
}
