/**
 * The extension `webhooks`: rewrites a configuration so that people may subscribe to events at runtime. What it adds are resources like any other, so
 * that the same access decides who may do what. It keeps and sends nothing itself.
 */

import { type Bag, isBag, isTextList } from "../bag.ts"
import type { ConfigExtension } from "./config.ts"
import { blankField, type FieldSpec } from "./field.ts"
import { shown } from "./refusal.ts"
import { parseCapability } from "./roles.ts"

/** Where a configuration says that people may subscribe: a symbol, so that nobody writes it by hand; all copies of the package share it. */
export const webhooksOf = Symbol.for("resource-admin/webhooks")

/** Where a declaration says that whoever creates a record owns it, whatever they send. */
export const stampsOwner = Symbol.for("resource-admin/stamps-owner")

/** Names of what it adds. */
export const subscriptionsName = "webhook_subscriptions"
export const deliveriesName = "webhook_deliveries"
export const attemptsName = "webhook_attempts"

/** Record verbs that it adds, by resource. */
export const webhookVerbs: { readonly [resource: string]: readonly string[] } = {
  [subscriptionsName]: ["test", "rotateSecret", "revealSecret", "disable", "enable", "resendFailed"],
  [deliveriesName]: ["resend"]
}

export interface WebhooksDeclaration {
  /** The schema of its tables, default `webhooks`. */
  readonly schema?: string
  /** Keeps every try for 30 days as `webhook_attempts`. Default false. */
  readonly deliveryLog?: boolean
  /** The roles that a person has now in a tenant; none: they may not act any more. For projects without the built-in accounts. */
  readonly ownerRoles?: (owner: { readonly id: string; readonly tenant: string | null }) => Promise<readonly string[]>
  /** Lets URLs reach private addresses. Default false. */
  readonly allowPrivateAddresses?: boolean
}

/** What startup made of it. */
export interface Webhooks {
  readonly schema: string
  readonly deliveryLog: boolean
  readonly ownerRoles: NonNullable<WebhooksDeclaration["ownerRoles"]> | null
  readonly allowPrivateAddresses: boolean
  /** Whether subscriptions belong to tenants: some resource does. */
  readonly tenants: boolean
}

const field = (spec: Partial<FieldSpec> = {}): unknown => ({ _tag: "Field", spec: { ...blankField, ...spec } })
const given = (spec: Partial<FieldSpec> = {}): unknown => field({ readOnly: true, ...spec })
const key = (): unknown => given({ kind: "integer", bits: 64, dbDefault: true, filterable: true, sortable: true })
const time = (optional = false): unknown =>
  given({ kind: "timestamp", dbDefault: true, sortable: true, filterable: true, optional })

const subscriptionFields = (): Bag => ({
  id: key(),
  name: field({ max: 100, filterable: true, sortable: true, searched: true }),
  events: field({ max: 2_000, filterable: true }),
  url: field({ max: 2_000, filterable: true }),
  filter: field({ max: 10_000, optional: true }),
  headers: field({ kind: "json", optional: true }),
  payload: field({ kind: "enum", values: ["full", "thin"], default: { value: "full" } }),
  ordered: field({ kind: "boolean", default: { value: false } }),
  enabled: field({ kind: "boolean", default: { value: true }, filterable: true }),
  disabled_reason: given({ optional: true }),
  owner_id: given({ filterable: true, dbDefault: true }),
  created_at: time(),
  updated_at: time()
})

/** What the service itself writes. */
const seen = (spec: Partial<FieldSpec> = {}): unknown => given({ optional: true, ...spec })

const deliveryFields = (): Bag => ({
  id: key(),
  subscription_id: seen({ kind: "integer", bits: 64, filterable: true }),
  event_id: seen({ filterable: true }),
  event_type: seen({ filterable: true }),
  resource: seen({ filterable: true }),
  key: seen({ filterable: true }),
  state: seen({ kind: "enum", values: ["waiting", "running", "retrying", "failed"], filterable: true }),
  tries: seen({ kind: "integer" }),
  next_try_at: seen({ kind: "timestamp", sortable: true }),
  last_status: seen({ kind: "integer" }),
  last_error: seen({}),
  owner_id: seen({ filterable: true }),
  created_at: seen({ kind: "timestamp", sortable: true, filterable: true })
})

const attemptFields = (): Bag => ({
  id: key(),
  subscription_id: seen({ kind: "integer", bits: 64, filterable: true }),
  delivery_id: seen({ filterable: true }),
  at: seen({ kind: "timestamp", sortable: true, filterable: true }),
  try: seen({ kind: "integer" }),
  outcome: seen({ kind: "enum", values: ["delivered", "failed", "skipped"], filterable: true }),
  status: seen({ kind: "integer", filterable: true }),
  answer: seen({}),
  error: seen({}),
  duration_ms: seen({ kind: "integer" }),
  owner_id: seen({ filterable: true })
})

const readOnly = { create: false, update: false, delete: false }

/** Tenants are compared as texts, of whatever kind they are elsewhere. */
const tenanted = (tenants: boolean, fields: Bag): Bag =>
  tenants ? { ...fields, tenant_id: given({ filterable: true, dbDefault: true }) } : fields

const hasTenant = (resource: unknown): boolean =>
  isBag(resource) && isBag(resource["declaration"]) && resource["declaration"]["tenant"] !== undefined

/** Roles that may write subscriptions; null: the configuration declares no roles. */
const writersOf = (config: Bag): readonly string[] | null => {
  const { options } = config
  const roles = isBag(config["roles"])
    ? config["roles"]
    : isBag(options) && isBag(options["roles"])
    ? options["roles"]
    : null
  if (roles === null) return null
  return Object.keys(roles).filter((role) => {
    const texts = roles[role]
    return isTextList(texts) && texts.some((text) => {
      const parts = parseCapability(text)
      return parts !== null && ["*", subscriptionsName].includes(parts.resource) &&
        ["*", "create", "update"].includes(parts.operation)
    })
  })
}

/**
 * Addresses and headers of receivers often hold a credential. So `*.read` is not enough for them: they are read by roles that may write subscriptions.
 */
const credentials = (config: Bag): Bag => {
  const writers = writersOf(config)
  const read = writers !== null && writers.length === 0 ? false : writers
  return read === null ? {} : { access: { fields: { url: { read }, headers: { read } } } }
}

const view = (resource: string, order: number, icon: string, declaration: Bag): Bag => ({
  _tag: "View",
  resource,
  declaration: { ...declaration, nav: { group: "Operations", order, icon } }
})

const views = ({ deliveryLog }: Webhooks): readonly Bag[] => [
  view(subscriptionsName, 1, "bell", {
    label: { singular: "Webhook", plural: "Webhooks" },
    columns: ["name", "events", "url", "enabled", "disabled_reason", "updated_at"],
    sort: "name",
    filters: [{ name: "Disabled", filter: "enabled = false" }],
    title: "name"
  }),
  view(deliveriesName, 2, "truck", {
    label: { singular: "Webhook delivery", plural: "Webhook deliveries" },
    columns: ["event_type", "key", "subscription_id", "state", "tries", "next_try_at", "last_status", "last_error"],
    sort: "id desc",
    filters: [{ name: "Failed", filter: "state = failed" }],
    title: "event_type"
  }),
  ...(deliveryLog
    ? [view(attemptsName, 3, "list", {
      label: { singular: "Webhook try", plural: "Webhook tries" },
      columns: ["at", "subscription_id", "delivery_id", "try", "outcome", "status", "duration_ms", "error"],
      sort: "id desc",
      filters: [{ name: "Failed", filter: "outcome = failed" }]
    })]
    : [])
]

const schemaName = /^[a-z_][a-z0-9_]{0,62}$/

/**
 * Lets people subscribe to events at runtime: adds the resources `webhook_subscriptions` and `webhook_deliveries`, with `deliveryLog` also
 * `webhook_attempts`. A subscription delivers what its owner may read. Tables are made by `service migration`.
 *
 * @example
 * defineConfig({ resources: [orders], extends: [webhooks({ deliveryLog: true })] })
 */
export const webhooks = (options: WebhooksDeclaration = {}): ConfigExtension => ({
  _tag: "ConfigExtension",
  name: "webhooks",
  apply: (config, report) => {
    const say = (message: string, fix: string): void => report(null, null, `webhooks(): ${message}`, fix)
    const raw: unknown = options
    const bag: Bag = isBag(raw) ? raw : {}
    for (const name of Object.keys(bag)) {
      if (!["schema", "deliveryLog", "ownerRoles", "allowPrivateAddresses"].includes(name)) {
        say(`There is no option ${name}.`, "Use schema, deliveryLog, ownerRoles or allowPrivateAddresses.")
      }
    }
    const schema = bag["schema"] ?? "webhooks"
    if (typeof schema !== "string" || !schemaName.test(schema)) {
      say(`schema is ${shown(schema)}.`, "Write a name of lower-case letters, digits and _.")
    }
    for (const name of ["deliveryLog", "allowPrivateAddresses"]) {
      if (bag[name] !== undefined && typeof bag[name] !== "boolean") {
        say(`${name} is ${shown(bag[name])}.`, "Write true or false.")
      }
    }
    const { ownerRoles } = bag
    if (ownerRoles !== undefined && typeof ownerRoles !== "function") {
      say(`ownerRoles is ${shown(ownerRoles)}.`, "Write async ({ id, tenant }) => [roles].")
    }
    const auth = config["auth"]
    const elsewhere = config["authenticate"] !== undefined || (isBag(auth) && auth["jwksUrl"] !== undefined)
    if (ownerRoles === undefined && elsewhere) {
      say(
        "Without accounts, the service cannot know the roles of a subscription's owner.",
        "Write ownerRoles: async ({ id, tenant }) => [roles]."
      )
    }
    const resources = Array.isArray(config["resources"]) ? config["resources"] as readonly unknown[] : []
    const tenants = resources.some(hasTenant)
    const settings: Webhooks = {
      schema: typeof schema === "string" ? schema : "webhooks",
      deliveryLog: bag["deliveryLog"] === true,
      ownerRoles: typeof ownerRoles === "function" ? ownerRoles as Webhooks["ownerRoles"] : null,
      allowPrivateAddresses: bag["allowPrivateAddresses"] === true,
      tenants
    }
    const add = (name: string, table: string, fields: Bag, more: Bag): Bag => ({
      _tag: "Resource",
      name,
      declaration: {
        table: `${settings.schema}.${table}`,
        primaryKey: "id",
        fields: tenanted(tenants, fields),
        owner: "owner_id",
        ...(tenants ? { tenant: "tenant_id" } : {}),
        ...more
      }
    })
    const shownAs = Array.isArray(config["views"]) ? config["views"] as readonly unknown[] : []
    const viewed = new Set(shownAs.map((each) => isBag(each) ? each["resource"] : null))
    return {
      ...config,
      [webhooksOf]: settings,
      views: [...shownAs, ...views(settings).filter(({ resource }) => !viewed.has(resource))],
      resources: [
        ...resources,
        add(subscriptionsName, "subscriptions", subscriptionFields(), {
          version: "updated_at",
          [stampsOwner]: true,
          ...credentials(config)
        }),
        add(deliveriesName, "deliveries", deliveryFields(), { access: { create: false, delete: false } }),
        ...(settings.deliveryLog ? [add(attemptsName, "attempts", attemptFields(), { access: readOnly })] : [])
      ]
    }
  }
})
