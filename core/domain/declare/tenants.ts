/**
 * What people write so that one process serves many tenants: `auth.tenant: fromHost({ … })` or `fromPath({ … })` (docs/guides/tenants.md). Nothing is judged here.
 */

import type { TenantLookup } from "../account/tenants.ts"

/** Which tenant a host is of. Give `hosts`, a `suffix`, or `tenantOf`, or several of them: the first that knows a host decides. */
export interface HostsDeclaration {
  /** The tenant of each host: `{ "acme.example.com": 1, "shop.acme.com": 1 }`. Links lead to the first host of a tenant. Hosts stand without a port. */
  readonly hosts?: { readonly [host: string]: string | number }
  /** What follows the tenant in a host: with `.admin.example.com`, `acme.admin.example.com` is of the tenant `acme`. The tenant is one label. */
  readonly suffix?: string
  /** The tenants there are, beside those of `hosts`. Needed with `suffix` where the service keeps the accounts. Without it every label is a tenant. */
  readonly tenants?: readonly (string | number)[]
  /**
   * Asks which tenant a host is of; null: of none. It has two seconds, and answers are kept: for a minute, for ten seconds where it is of none. Only where another
   * server keeps the accounts (`authenticate`).
   */
  readonly tenantOf?: TenantLookup
}

/** Which tenant a path is of. */
export interface PathsDeclaration {
  /** What precedes the tenant: with `/t`, everything of the tenant `acme` stands below `/t/acme`. */
  readonly prefix: string
  /** The tenants there are. Needed where the service keeps the accounts. */
  readonly tenants?: readonly (string | number)[]
}

/** What `fromHost` and `fromPath` give. */
export interface TenantSource {
  readonly _tag: "TenantSource"
  readonly by: "host" | "path"
  readonly declaration: HostsDeclaration | PathsDeclaration
}

/**
 * One process serves many tenants, each at hosts of its own. The host alone decides the tenant of a request, and a host of no tenant is a 404.
 *
 * @example
 * auth: { tenant: fromHost({ hosts: { "acme.example.com": 1, "globex.example.com": 2 } }) }
 */
export const fromHost = (declaration: HostsDeclaration): TenantSource => ({
  _tag: "TenantSource",
  by: "host",
  declaration
})

/**
 * One process serves many tenants, each below a path of its own: `/t/acme/api/v1/orders`, and the app at `/t/acme/`. To a browser all of them are one
 * origin: use `fromHost` where tenants do not trust each other.
 */
export const fromPath = (declaration: PathsDeclaration): TenantSource => ({
  _tag: "TenantSource",
  by: "path",
  declaration
})
