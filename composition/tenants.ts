/**
 * The tenants of a process at run time: the place of each, what a lookup of the application says of hosts, and the accounts of each tenant. Lookups have a
 * time limit, and what they said is kept for a bounded number of hosts, because anybody may name any host.
 */

import * as Effect from "effect/Effect"
import { createHash, createHmac } from "node:crypto"
import { accountsOf } from "../adapters/auth/accounts.ts"
import type { Auth } from "../adapters/auth/auth.ts"
import type { EdgeTenants, Place, TenantMount } from "../adapters/http/handle.ts"
import {
  hostName,
  hostsOf,
  tenantOfHost,
  tenantOfPath,
  type Tenants,
  tenantSaid,
  urlAtHost,
  urlOfTenant
} from "../core/domain/account/tenants.ts"
import { isBag } from "../core/domain/bag.ts"
import { BoundedMap } from "../core/domain/bounded.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import type { JobModel } from "../core/domain/job/definition.ts"
import type { EnqueuePlan } from "../core/domain/job/enqueue.ts"
import { FatalJobError } from "../core/domain/job/failure.ts"
import { ownJson } from "../core/domain/own-json.ts"
import { problem } from "../core/domain/problem.ts"
import { noAccounts } from "./readiness.ts"

/** The auth servers of tenants, by tenant. */
export type TenantAuths = ReadonlyMap<string, Auth>

/**
 * The schema of a tenant's accounts: `auth_acme`. What is no plain name gets a digest, so that no two tenants share one. PostgreSQL keeps 63 bytes of a name.
 */
export const accountsSchema = (schema: string, tenant: string): string => {
  if (/^[a-z0-9]+$/.test(tenant) && schema.length + tenant.length < 63) return `${schema}_${tenant}`
  const digest = createHash("sha256").update(tenant).digest("hex").slice(0, 16)
  return `${schema.slice(0, 24)}_${tenant.toLowerCase().replace(/[^a-z0-9]+/g, "_").slice(0, 20)}_${digest}`
}

/** The schemas of all accounts that are kept here: one, or one for each tenant. */
export const accountsSchemas = ({ schemas, tenants }: Pick<Compiled, "schemas" | "tenants">): readonly string[] =>
  tenants === null
    ? [schemas.auth]
    : Array.from(tenants.known ?? [], (tenant) => accountsSchema(schemas.auth, tenant))

/** The secret of a tenant's accounts: what one of them has sealed or signed is nothing to another. */
export const tenantSecret = (secret: string, tenant: string): string =>
  secret === "" ? "" : createHmac("sha256", secret).update(`tenant ${tenant}`).digest("base64")

/** The URL of a tenant whose accounts are kept here; such tenants are known, and have one. */
export const knownUrl = (tenants: Tenants, tenant: string, base: string): string => {
  const url = urlOfTenant(tenants, tenant, base)
  if (url === null) throw new Error(`The tenant ${tenant} has no host.`)
  return url
}

/** Origins of the tenant's own hosts besides the first. */
export const furtherOrigins = (tenants: Tenants, tenant: string, base: string): readonly string[] =>
  hostsOf(tenants, tenant).slice(1).map((host) => new URL(urlAtHost(base, host)).origin)

/** How lookups of hosts are bounded. */
export interface LookupLimits {
  /** Milliseconds that a lookup may take. */
  readonly timeMs: number
  /** Milliseconds that an answer is kept, and an answer that a host is of none. */
  readonly keptMs: number
  readonly absentMs: number
  /** Most answers that are kept, and most lookups under way: of hosts that are known, and as many of others. */
  readonly hosts: number
  readonly asking: number
}

const usualLimits: LookupLimits = { timeMs: 2_000, keptMs: 60_000, absentMs: 10_000, hosts: 10_000, asking: 100 }

const notNow = () =>
  problem("unavailable", "The service cannot answer right now. Try again soon.", {}, { "retry-after": "2" })

/**
 * Asks the application which tenant a host is of. Rejects where it does not say so in time. Hosts that are of none are kept apart, so that whoever names many of
 * them makes no host of a tenant forgotten. While the application does not answer, such a host stays what it was, for ten times as long.
 */
const makeLookup = (
  tenants: Tenants,
  { absentMs, asking, hosts, keptMs, timeMs }: LookupLimits
): (host: string) => string | null | Promise<string | null> => {
  const present = new BoundedMap<string, { readonly tenant: string; readonly until: number }>(hosts)
  const absent = new BoundedMap<string, number>(hosts)
  const under = new Map<string, Promise<string | null>>()
  const ask = async (host: string): Promise<string | null> => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("tenantOf did not answer in time")), timeMs)
    })
    try {
      const said = await Promise.race([Promise.resolve(tenants.lookup?.(host)), late])
      const tenant = tenantSaid(tenants, said)
      if (tenant === null) {
        present.delete(host)
        absent.set(host, performance.now() + absentMs)
      } else present.set(host, { tenant, until: performance.now() + keptMs })
      return tenant
    } finally {
      clearTimeout(timer)
    }
  }
  // Hosts that are known are asked for again apart from those that strangers name, of whom there may be as many as they like.
  let strange = 0
  const begin = (host: string, isKnown: boolean): Promise<string | null> => {
    const earlier = under.get(host)
    if (earlier !== undefined) return earlier
    if ((isKnown ? under.size - strange : strange) >= asking) {
      return Promise.reject(new Error("too many lookups of hosts are under way"))
    }
    const asked = ask(host)
    under.set(host, asked)
    if (!isKnown) strange++
    const over = (): void => {
      under.delete(host)
      if (!isKnown) strange--
    }
    asked.then(over, over)
    return asked
  }
  return (host) => {
    const now = performance.now()
    const known = present.get(host)
    if (known !== undefined && known.until > now) return known.tenant
    if (known === undefined && (absent.get(host) ?? 0) > now) return null
    return begin(host, known !== undefined).catch((error: unknown) => {
      if (known !== undefined && known.until + 9 * keptMs > performance.now()) return known.tenant
      throw error
    })
  }
}

/** What the edge is told of tenants. `failed` is told why a lookup failed. */
export const makeEdgeTenants = (
  tenants: Tenants,
  publicUrl: string,
  auths: TenantAuths | null,
  failed: (error: unknown) => void,
  limits: Partial<LookupLimits> = {}
): EdgeTenants => {
  const places = new BoundedMap<string, Place>(10_000)
  const lookup = makeLookup(tenants, { ...usualLimits, ...limits })
  const cutOf = (tenant: string): string => tenants.by === "path" ? `${tenants.prefix}/${tenant}` : ""

  const placeAt = (tenant: string | null, host: string): Place | null => {
    if (tenant === null) return null
    const name = tenants.by === "path" ? tenant : `${host} ${tenant}`
    let place = places.get(name)
    if (place === undefined) {
      // A host that only the lookup knows is the tenant's own.
      const url = urlOfTenant(tenants, tenant, publicUrl) ?? urlAtHost(publicUrl, host)
      place = { tenant, url, origin: new URL(url).origin, cut: cutOf(tenant) }
      places.set(name, place)
    }
    return place
  }

  const looked = (host: string): Effect.Effect<Place | null, ReturnType<typeof notNow>> =>
    Effect.matchEffect(Effect.tryPromise({ try: async () => lookup(host), catch: (error) => error }), {
      onFailure: (error) => {
        failed(error)
        return Effect.fail(notNow())
      },
      onSuccess: (tenant) => Effect.succeed(placeAt(tenant, host))
    })

  const mounts = new Map<string, TenantMount>()
  return {
    byHost: tenants.by === "host",
    placeOf: (sent, path) => {
      if (tenants.by === "path") return Effect.succeed(placeAt(tenantOfPath(tenants, path)?.tenant ?? null, ""))
      const host = hostName(sent)
      if (host === null) return Effect.succeed(null)
      const found = tenantOfHost(tenants, host)
      return found === "ask" ? looked(host) : Effect.succeed(placeAt(found.tenant, host))
    },
    authOf: (tenant) => {
      const auth = auths?.get(tenant)
      if (auth === undefined) return null
      let mount = mounts.get(tenant)
      if (mount === undefined) {
        const { needsAdmin } = accountsOf(auth, tenant)
        mount = {
          mount: auth,
          status: Effect.mapBoth(needsAdmin, {
            onFailure: noAccounts,
            onSuccess: (needed) => ({ needsAdmin: needed })
          })
        }
        mounts.set(tenant, mount)
      }
      return mount
    }
  }
}

/** Jobs about accounts of a tenant: their payload says which, because jobs of one name are those of all tenants. */
export const ofTenant = (tenant: string, plans: readonly EnqueuePlan[]): readonly EnqueuePlan[] =>
  plans.map((plan) => ({
    ...plan,
    payload: JSON.stringify({ ...ownJson<object>(plan.payload), tenant }),
    key: plan.key === null ? null : `${tenant} ${plan.key}`
  }))

/** The jobs that send mails about accounts, of all tenants: each runs that of the tenant in its payload. */
export const tenantJobs = (auths: TenantAuths): ReadonlyMap<string, JobModel> => {
  const jobs = new Map<string, JobModel>()
  for (const { mailer } of auths.values()) for (const [name, job] of mailer?.jobs ?? []) jobs.set(name, job)
  return new Map(
    [...jobs].map(([name, job]) => [name, {
      ...job,
      run: (payload, context) => {
        const tenant = isBag(payload) && typeof payload["tenant"] === "string" ? payload["tenant"] : ""
        const own = auths.get(tenant)?.mailer?.jobs.get(name)
        if (own === undefined) throw new FatalJobError("The payload is of a tenant that this process does not have.")
        return own.run(payload, context)
      }
    }])
  )
}
