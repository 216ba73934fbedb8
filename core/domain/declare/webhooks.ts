/**
 * The extension `webhooks`: rewrites a configuration so that people may subscribe to events at runtime. What it adds are resources like any other, so
 * that the same access decides who may do what. It keeps and sends nothing itself.
 */

import { type Bag, isBag, isFunction, isTextList } from "../bag.ts"
import { ownNameMax } from "../own-name.ts"
import { type Duration, durationMs } from "../value/duration.ts"
import type { ConfigExtension } from "./config.ts"
import { blankField, type FieldSpec } from "./field.ts"
import { quoteValue } from "./refusal.ts"
import { parseCapability } from "./roles.ts"
import { defaultSchemas, schemaName } from "./schemas.ts"

/** Where a configuration says that people may subscribe: a symbol, so that nobody writes it by hand; all copies of the package share it. */
export const webhooksOf = Symbol.for("resource-admin/webhooks")

/**
 * Where a declaration says that its records act after the request: whoever creates one owns it, whatever they send, and it keeps the roles of the
 * credential that last wrote one of the fields that say what it does.
 */
export const actsLater = Symbol.for("resource-admin/acts-later")

/**
 * Where a declaration says that its pages may read as many rows as an aggregate: no index serves them. Deliveries are computed from jobs, whose payloads have
 * none, because each would make every job slower.
 */
export const readWhole = Symbol.for("resource-admin/read-whole")

/** The value of `actsLater`: names of fields. */
export interface ActsLater {
  /** Where the roles are kept, as a JSON list. */
  readonly roles: string
  /** What it does. */
  readonly by: readonly string[]
}

/** Longest time for which changes of events can be kept, in milliseconds: 30 days. */
const longestKeptMs = 2_592_000_000

/** Record verbs that have a body. */
export const webhookBodies: ReadonlySet<string> = new Set(["replay"])

/** Names of what it adds. */
export const subscriptionsName = "webhook_subscriptions"
export const deliveriesName = "webhook_deliveries"
export const attemptsName = "webhook_attempts"

/** Record verbs that it adds, by resource. */
export const webhookVerbs: { readonly [resource: string]: readonly string[] } = {
  [subscriptionsName]: ["test", "rotateSecret", "revealSecret", "disable", "enable", "resendFailed", "replay"],
  [deliveriesName]: ["resend"],
  [attemptsName]: ["payload"]
}

/** Those that change nothing. */
export const readVerbs: ReadonlySet<string> = new Set(["payload"])

/**
 * Why the service has disabled a subscription: the receiver answered 410 Gone, its owner has no access any more, or no delivery has succeeded for three days.
 */
export type DisabledReason = "gone" | "no-access" | "failing"

/** A subscription that the service has disabled. */
export interface DisabledSubscription {
  /** Its key. */
  readonly id: string
  readonly name: string
  /** Who made it. */
  readonly owner: string
  readonly tenant: string | null
  readonly reason: DisabledReason
}

export interface WebhooksDeclaration {
  /** The schema of its tables, default that of `schemas.webhooks`. */
  readonly schema?: string
  /** Keeps every try for 30 days as `webhook_attempts`. Default false. */
  readonly deliveryLog?: boolean
  /**
   * The roles that a person has now in a tenant; none: they may not act any more; null: this process does not know the tenant, and leaves the work to one that
   * does. For projects without the built-in accounts.
   */
  readonly ownerRoles?: (owner: { readonly id: string; readonly tenant: string | null }) => Promise<
    readonly string[] | null
  >
  /**
   * Keeps the change of each event for so long after its dispatch, at most 30 days, so that `:replay` can send it again. The rows have all fields, sensitive ones
   * too. Default: nothing is kept.
   */
  readonly keepEvents?: Duration
  /** Lets URLs reach private addresses. Default false. */
  readonly allowPrivateAddresses?: boolean
  /**
   * Called once for each time that the service disables a subscription, after that is committed; not when a person does it. It has ten seconds. What it throws
   * changes nothing.
   */
  readonly onDisabled?: (disabled: DisabledSubscription) => Promise<unknown>
}

/** What startup made of it. */
export interface Webhooks {
  readonly schema: string
  readonly deliveryLog: boolean
  readonly ownerRoles: NonNullable<WebhooksDeclaration["ownerRoles"]> | null
  readonly allowPrivateAddresses: boolean
  /** Null: they are not kept. */
  readonly keepEventsMs: number | null
  readonly onDisabled: NonNullable<WebhooksDeclaration["onDisabled"]> | null
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
  name: field({ max: ownNameMax, filterable: true, sortable: true, searched: true }),
  events: field({ max: 2_000, filterable: true }),
  url: field({ max: 2_000, filterable: true }),
  filter: field({ max: 10_000, optional: true }),
  headers: field({ kind: "json", optional: true }),
  payload: field({ kind: "enum", values: ["full", "thin"], default: { value: "full" } }),
  ordered: field({ kind: "boolean", default: { value: false } }),
  enabled: field({ kind: "boolean", default: { value: true }, filterable: true }),
  max_per_minute: field({ kind: "integer", optional: true }),
  retry_steps: field({ kind: "json", optional: true }),
  disabled_reason: given({ optional: true, filterable: true }),
  roles: given({ kind: "json", optional: true }),
  owner_id: given({ filterable: true, dbDefault: true }),
  created_at: time(),
  updated_at: time()
})

/** Fields that say what a subscription sends, and where. */
export const directing: readonly string[] = ["events", "url", "filter", "headers", "payload"]

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
  event_type: seen({ filterable: true }),
  resource: seen({ filterable: true }),
  key: seen({ filterable: true }),
  url: seen({}),
  at: seen({ kind: "timestamp", sortable: true, filterable: true }),
  try: seen({ kind: "integer" }),
  outcome: seen({ kind: "enum", values: ["delivered", "failed", "skipped"], filterable: true }),
  status: seen({ kind: "integer", filterable: true }),
  answer: seen({}),
  answer_headers: seen({ kind: "json" }),
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
 * Rules of fields that `*.read` is not enough for. Addresses and headers of receivers, and what these answer, often hold a credential; a filter names values of
 * records. So they are read by roles that may write subscriptions.
 */
const readByWriters = (config: Bag, names: readonly string[]): Bag => {
  const writers = writersOf(config)
  const read = writers !== null && writers.length === 0 ? false : writers
  return read === null ? {} : { fields: Object.fromEntries(names.map((name) => [name, { read }])) }
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
      columns: ["event_type", "key", "subscription_id", "at", "try", "outcome", "status", "duration_ms", "error"],
      sort: "id desc",
      filters: [{ name: "Failed", filter: "outcome = failed" }],
      title: "event_type"
    })]
    : [])
]

/** Views in the form in which they were declared, with those of resources that have none yet. What is no form of views stays, to be refused. */
const withViews = (declared: unknown, added: readonly Bag[]): unknown => {
  if (declared === undefined) return added
  if (Array.isArray(declared)) {
    const viewed = new Set(declared.map((each: unknown) => isBag(each) ? each["resource"] : null))
    return [...declared, ...added.filter(({ resource }) => !viewed.has(resource))]
  }
  return isBag(declared)
    ? { ...Object.fromEntries(added.map(({ declaration, resource }) => [resource, declaration])), ...declared }
    : declared
}

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
      if (
        !["schema", "deliveryLog", "keepEvents", "ownerRoles", "allowPrivateAddresses", "onDisabled"].includes(name)
      ) {
        say(
          `There is no option ${name}.`,
          "Use schema, deliveryLog, keepEvents, ownerRoles, allowPrivateAddresses or onDisabled."
        )
      }
    }
    const named = isBag(config["schemas"]) ? config["schemas"]["webhooks"] : undefined
    const schema = bag["schema"] ?? (typeof named === "string" ? named : defaultSchemas.webhooks)
    if (bag["schema"] !== undefined && named !== undefined && bag["schema"] !== named) {
      say(`schema is ${quoteValue(bag["schema"])}, and schemas.webhooks is ${quoteValue(named)}.`, "Keep one of them.")
    }
    if (typeof schema !== "string" || !schemaName.test(schema)) {
      say(`schema is ${quoteValue(schema)}.`, "Write a name of lower-case letters, digits and _.")
    }
    for (const name of ["deliveryLog", "allowPrivateAddresses"]) {
      if (bag[name] !== undefined && typeof bag[name] !== "boolean") {
        say(`${name} is ${quoteValue(bag[name])}.`, "Write true or false.")
      }
    }
    const { keepEvents, onDisabled, ownerRoles } = bag
    const keepEventsMs = keepEvents === undefined ? null : durationMs(keepEvents)
    if (keepEvents !== undefined && (keepEventsMs === null || keepEventsMs < 1_000 || keepEventsMs > longestKeptMs)) {
      say(`keepEvents is ${quoteValue(keepEvents)}.`, "Write a duration of at most 30 days: keepEvents: \"7 days\".")
    }
    if (onDisabled !== undefined && typeof onDisabled !== "function") {
      say(`onDisabled is ${quoteValue(onDisabled)}.`, "Write async ({ id, name, owner, tenant, reason }) => { … }.")
    }
    if (ownerRoles !== undefined && typeof ownerRoles !== "function") {
      say(`ownerRoles is ${quoteValue(ownerRoles)}.`, "Write async ({ id, tenant }) => [roles].")
    }
    const auth = config["auth"]
    const elsewhere = config["authenticate"] !== undefined || (isBag(auth) && auth["jwksUrl"] !== undefined)
    if (ownerRoles === undefined && elsewhere) {
      say(
        "Without accounts, the service cannot know the roles of a subscription's owner.",
        "Write ownerRoles: async ({ id, tenant }) => [roles]."
      )
    }
    // Resources that are no list are refused as they are.
    if (!Array.isArray(config["resources"])) return config
    const resources: readonly unknown[] = config["resources"]
    const tenants = resources.some(hasTenant)
    const settings: Webhooks = {
      schema: typeof schema === "string" ? schema : defaultSchemas.webhooks,
      deliveryLog: bag["deliveryLog"] === true,
      ownerRoles: isFunction<NonNullable<Webhooks["ownerRoles"]>>(ownerRoles) ? ownerRoles : null,
      allowPrivateAddresses: bag["allowPrivateAddresses"] === true,
      keepEventsMs,
      onDisabled: isFunction<NonNullable<Webhooks["onDisabled"]>>(onDisabled) ? onDisabled : null,
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
    return {
      ...config,
      [webhooksOf]: settings,
      views: withViews(config["views"], views(settings)),
      resources: [
        ...resources,
        add(subscriptionsName, "subscriptions", subscriptionFields(), {
          version: "updated_at",
          [actsLater]: { roles: "roles", by: directing } satisfies ActsLater,
          access: readByWriters(config, directing)
        }),
        add(deliveriesName, "deliveries", deliveryFields(), {
          [readWhole]: true,
          access: { create: false, delete: false }
        }),
        ...(settings.deliveryLog ?
          [add(attemptsName, "attempts", attemptFields(), {
            access: { ...readOnly, ...readByWriters(config, ["url", "answer", "answer_headers"]) }
          })] :
          [])
      ]
    }
  }
})
