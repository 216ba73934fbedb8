/**
 * Where the tenants of a process are: which tenant a host or a path is of, and the public URL of a tenant. Both come from strangers, so what is not exactly a
 * name that is known is of nobody. It decides nothing about people: who works in a tenant is decided by the credential.
 */

/** Asks somebody else which tenant a host is of; null: of none. */
export type TenantLookup = (host: string) => string | number | null | Promise<string | number | null>

/** The tenants of a process, as compiled. */
export interface Tenants {
  readonly by: "host" | "path"
  /** Tenants by host, as `hostName` gives it. */
  readonly hosts: ReadonlyMap<string, string>
  /** What follows the tenant in a host, `.admin.example.com`; null: hosts say nothing by their names. */
  readonly suffix: string | null
  /** What precedes the tenant in a path, `/t`; empty where hosts decide. */
  readonly prefix: string
  readonly lookup: TenantLookup | null
  /** All tenants, where they are known; null: any name that fits may be one. */
  readonly known: ReadonlySet<string> | null
  /** Whether a text is a tenant as the tenant columns hold it: two texts of one value would be two tenants with the same rows. */
  readonly fits: (tenant: string) => boolean
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Longest name of a host (RFC 1035, 2.3.4). */
const longestHost = 253

/**
 * The name in a `Host` header: without port, without the dot of the root, in lower case. Null for what is no name of ASCII letters, digits and hyphens: an address in
 * brackets, a percent sign, a space. A name with other letters comes as punycode, as browsers send it.
 */
export const hostName = (sent: string | null): string | null => {
  const [, name = ""] = /^([A-Za-z0-9.-]+)(?::[0-9]{0,5})?$/.exec(sent ?? "") ?? []
  const plain = (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase()
  return plain.length <= longestHost && plain.split(".").every((part) => label.test(part)) ? plain : null
}

/** A host as people write it, as `hostName` would give it: `Bücher.example` is `xn--bcher-kva.example`. Null for what is none. */
export const declaredHost = (text: string): string | null => {
  const url = /[/?#@\\\s]/.test(text) ? null : URL.parse(`http://${text}`)
  return url === null || url.port !== "" ? null : hostName(url.hostname)
}

/** A tenant in a path. */
const segment = /^[A-Za-z0-9_-]{1,63}$/

/** Whether a tenant may stand in a host before a suffix, or in a path. */
export const isTenantLabel = (tenant: string, by: Tenants["by"]): boolean =>
  by === "host" ? label.test(tenant) : segment.test(tenant)

const existing = ({ fits, known }: Tenants, tenant: string): string | null =>
  (known === null ? fits(tenant) : known.has(tenant)) ? tenant : null

/** The tenant of a host, as `hostName` gives it; null: of none. `ask`: only the lookup can say. */
export const tenantOfHost = (tenants: Tenants, host: string): { readonly tenant: string | null } | "ask" => {
  const { hosts, lookup, suffix } = tenants
  const listed = hosts.get(host)
  if (listed !== undefined) return { tenant: listed }
  if (suffix !== null && host.endsWith(suffix)) {
    const tenant = host.slice(0, -suffix.length)
    return { tenant: label.test(tenant) ? existing(tenants, tenant) : null }
  }
  return lookup === null ? { tenant: null } : "ask"
}

/** What a lookup said, as a tenant; null: of none. */
export const tenantSaid = (tenants: Tenants, said: unknown): string | null => {
  const text = typeof said === "number" && Number.isSafeInteger(said) ? String(said) : said
  return typeof text === "string" && text !== "" ? existing(tenants, text) : null
}

/** The tenant of a path, and how many of its characters are no part of the service's own paths; null: of none. */
export const tenantOfPath = (
  tenants: Tenants,
  path: string
): { readonly tenant: string; readonly cut: number } | null => {
  const begin = tenants.prefix.length + 1
  if (!path.startsWith(`${tenants.prefix}/`)) return null
  const slash = path.indexOf("/", begin)
  const end = slash === -1 ? path.length : slash
  const tenant = path.slice(begin, end)
  return segment.test(tenant) && existing(tenants, tenant) !== null ? { tenant, cut: end } : null
}

/** The hosts of a tenant; the first is the one that links lead to. */
export const hostsOf = ({ hosts, known, suffix }: Tenants, tenant: string): readonly string[] => [
  ...[...hosts].flatMap(([host, of]) => of === tenant ? [host] : []),
  ...(suffix !== null && label.test(tenant) && (known === null || known.has(tenant)) ? [`${tenant}${suffix}`] : [])
]

/** `base`, the URL of the deployment, at a host: its scheme, port and path stay. */
export const urlAtHost = (base: string, host: string): string => {
  const url = new URL(base)
  url.hostname = host
  return url.href.replace(/\/+$/, "")
}

/** The public URL of a tenant, without a slash at its end; null: it has no host that is known before somebody asks for it. */
export const urlOfTenant = (tenants: Tenants, tenant: string, base: string): string | null => {
  if (tenants.by === "path") return `${base.replace(/\/+$/, "")}${tenants.prefix}/${tenant}`
  const [host] = hostsOf(tenants, tenant)
  return host === undefined ? null : urlAtHost(base, host)
}

/** Whether pages of an origin (`https://a.example.org`, `https://*.example.org`) may be those of a tenant's host. */
export const coversTenants = ({ hosts, suffix }: Tenants, origin: string): boolean => {
  const name = origin.slice(origin.indexOf("://") + 3).replace(/:[0-9]+$/, "").toLowerCase()
  const wild = name.startsWith("*.") ? name.slice(1) : null
  const below = (host: string, end: string): boolean => host.endsWith(end)
  if (wild === null) return hosts.has(name) || (suffix !== null && below(name, suffix))
  return [...hosts.keys()].some((host) => below(host, wild)) ||
    (suffix !== null && (below(suffix, wild) || below(wild, suffix)))
}
