/**
 * What an identity provider says about itself (OpenID Connect Discovery 1.0). It never accepts a description of another issuer. Every
 * request it sends is bounded in time and size.
 */

import { isSafeUrl, type Provider } from "../../core/domain/account/identity-provider.ts"
import { type Bag, isBag } from "../../core/domain/bag.ts"
import { asymmetric } from "./jwt.ts"
import { fetchJson } from "./keys.ts"

/** A provider with what was taken from its description of itself. */
export interface DiscoveredProvider {
  readonly provider: Provider
  /** As the provider writes it. */
  readonly issuer: string
  readonly keysUrl: string
  /** What it may sign ID tokens with. */
  readonly algorithms: readonly string[]
  readonly authorizationUrl: string
  readonly tokenUrl: string
  readonly userInfoUrl: string | undefined
  /** How the client shows its secret at the token endpoint. */
  readonly tokenAuth: "client_secret_basic" | "client_secret_post" | "none"
}

/** Most bytes of a provider's answer, except for keys. */
const answerMax = 262_144

/** What a provider answers, as an object. Rejects when it is none, too long or too late. */
export const readProvider = async (url: string, request: Parameters<typeof fetchJson>[2] = {}): Promise<Bag> => {
  const body = await fetchJson(url, answerMax, request)
  if (!isBag(body)) throw new Error("the identity provider's answer is no object")
  return body
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

const descriptionUrl = ({ issuer }: Provider): string => `${issuer}/.well-known/openid-configuration`

/** Reads a provider's description (OpenID Connect Discovery 1.0, 4). Rejects when it cannot be had or says something unsafe. */
export const discover = async (provider: Provider): Promise<DiscoveredProvider> => {
  const document = await readProvider(descriptionUrl(provider))
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
  const signs = textsIn(document["id_token_signing_alg_values_supported"]).filter((each) => asymmetric.includes(each))
  return {
    provider,
    issuer,
    keysUrl: jwks_uri,
    algorithms: signs.length === 0 ? asymmetric : signs,
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
