/**
 * Compiles `subscriptions` of a configuration: events that are declared, conditions that check, one target each. What is wrong with one is refused at
 * startup, because nobody would see an event that is not sent.
 */

import * as Result from "effect/Result"
import { ownScope } from "../access/declared.ts"
import { isWhere } from "../access/where.ts"
import { type Bag, isBag, isFunction, isList, isTextList } from "../bag.ts"
import { didYouMean, quoteValue, type Report, shownAddress } from "../declare/refusal.ts"
import { isWaits, mostWaits } from "../event/retry.ts"
import { readSecret } from "../event/signature.ts"
import { mostPerMinute, type Subscription, type SubscriptionReader, type Target } from "../event/subscription.ts"
import type { FilterTree } from "../filter/tree.ts"
import { type Functions, mayCall } from "../function/declaration.ts"
import type { Models } from "../model/model.ts"
import { durationMs } from "../value/duration.ts"
import { isCount, refuseUnknownKeys, type Say } from "./check.ts"
import { type KnownRoles, refuseUnknownRoles } from "./roles.ts"
import { checkFilterText } from "./rule.ts"

/** What subscriptions are checked against. */
export interface SubscriptionScope {
  readonly models: Models
  readonly functions: Functions
  readonly roles: KnownRoles
  readonly report: Report
}

const optionNames = [
  "events",
  "when",
  "as",
  "tenant",
  "payload",
  "ordered",
  "enabled",
  "maxPerMinute",
  "retrySteps",
  "secret",
  "headers",
  "body",
  "url",
  "function",
  "run"
] as const

const subscriptionName = /^[A-Za-z0-9_-]{1,100}$/

/** Names of events as they are declared: `orders.created`. */
const declaredEvents = (models: Models): readonly string[] =>
  [...models.values()].flatMap(({ events, name }) => events.map((event) => `${name}.${event}`))

/** By resource, the events that a list of names means; reports names that mean none. */
export const readEventNames = (
  names: readonly string[],
  models: Models,
  say: Say
): ReadonlyMap<string, ReadonlySet<string> | null> => {
  const taken = new Map<string, Set<string> | null>()
  for (const name of names) {
    if (name === "*") {
      for (const model of models.values()) if (model.events.length > 0) taken.set(model.name, null)
      if (taken.size === 0) {
        say("No resource declares events.", "Declare events on a resource: events: { created: true }.")
      }
      continue
    }
    const dot = name.indexOf(".")
    const model = models.get(dot === -1 ? name : name.slice(0, dot))
    const event = dot === -1 ? "" : name.slice(dot + 1)
    if (event === "*" && model !== undefined && model.events.length > 0) taken.set(model.name, null)
    else if (model?.events.includes(event) === true) {
      const events = taken.get(model.name)
      if (events === undefined) taken.set(model.name, new Set([event]))
      else events?.add(event)
    } else {
      const all = [...models.values()].flatMap(({ events, name: resource }) =>
        events.length === 0 ? [] : [`${resource}.*`]
      )
      say(
        `No resource declares the event ${quoteValue(name)}.`,
        didYouMean(name, event === "*" ? all : declaredEvents(models))
      )
    }
  }
  return taken
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
const headerValue = /^[\t\x20-\x7e]{0,2000}$/

/** Headers that are the service's own, or the connection's. */
const ownHeaders = new Set([
  "content-type",
  "content-length",
  "host",
  "connection",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection"
])

/** Further headers with lower-case names. Headers that cannot be sent are reported. */
export const readHeaders = (raw: unknown, say: Say): { readonly [name: string]: string } => {
  const headers: Record<string, string> = {}
  if (raw === undefined || raw === null) return headers
  if (!isBag(raw)) {
    say(`headers is ${quoteValue(raw)}, not an object.`, "Write headers: { \"x-source\": \"admin\" }.")
    return headers
  }
  for (const [name, value] of Object.entries(raw)) {
    const lower = name.toLowerCase()
    if (!headerName.test(name)) {
      say(`headers has ${quoteValue(name)}, which is no name of a header.`, "Use letters, digits and -.")
    } else if (lower.startsWith("webhook-") || ownHeaders.has(lower)) {
      say(`headers has ${quoteValue(name)}, which the service sets itself.`, "Leave it out.")
    } else if (typeof value !== "string" || !headerValue.test(value)) {
      say(`The header ${name} has a value that cannot be sent.`, "Write a text of visible ASCII characters.")
    } else headers[lower] = value
  }
  if (Object.keys(headers).length > 50) say("headers has more than 50 headers.", "Send fewer.")
  return headers
}

const readTarget = (options: Bag, enabled: boolean, of: SubscriptionScope, say: Say): Target | null => {
  const given = (["url", "function", "run"] as const).filter((name) => options[name] !== undefined)
  if (given.length !== 1) {
    say(
      given.length === 0 ? "It has no target." : `It has ${given.join(" and ")}.`,
      "Give it one of url, function and run."
    )
    return null
  }
  const { run, url } = options
  if (given[0] === "url") {
    if (url === "" && !enabled) return { of: "url", url, anyAddress: true }
    if (typeof url === "string" && /^https?:\/\/./i.test(url) && URL.canParse(url)) {
      const { password, username } = new URL(url)
      if (username !== "" || password !== "") {
        say("url has a name or password.", "Send them in headers: { authorization: … }.")
      }
      return { of: "url", url, anyAddress: true }
    }
    say(
      url === "" ? "It is enabled, and its url is empty." : `url is ${shownAddress(url)}, not an http(s) URL.`,
      url === ""
        ? "Set the URL, or write enabled: false."
        : "Write an address such as \"https://hooks.example.com/orders\"."
    )
    return null
  }
  if (given[0] === "run") {
    if (isFunction<Extract<Target, { of: "run" }>["run"]>(run)) return { of: "run", run }
    say(`run is ${quoteValue(run)}, not a function.`, "Write run: async (event, { db }) => { … }.")
    return null
  }
  const name = options["function"]
  const target = typeof name === "string" ? of.functions.get(name) : undefined
  if (target === undefined) {
    say(`There is no API function ${quoteValue(name)}.`, didYouMean(name, of.functions.keys()))
    return null
  }
  const roles = isBag(options["as"]) && isTextList(options["as"]["roles"]) ? options["as"]["roles"] : []
  if (typeof target.roles !== "function" && !mayCall(target, { id: "", roles, tenant: null })) {
    say(
      `It calls the function "${target.name}" ${
        roles.length === 0 ? "without roles" : `as ${roles.join(", ")}`
      }, which may not call it.`,
      "Deliver as a role that may: as: { roles: […] }, or let everybody call the function: roles: true."
    )
  }
  return { of: "function", name: target.name }
}

const readReader = (raw: unknown, of: SubscriptionScope, say: Say): SubscriptionReader => {
  if (raw === undefined) return { of: "service" }
  if (!isBag(raw) || !isTextList(raw["roles"]) || raw["roles"].length === 0) {
    say(
      `as is ${quoteValue(raw)}.`,
      "Write as: { roles: [\"sales\"] }, or leave it out to deliver everything but sensitive fields."
    )
    return { of: "roles", roles: [] }
  }
  refuseUnknownKeys(raw, ["roles"], "as", say)
  refuseUnknownRoles(raw["roles"], of.roles, "as.roles", say)
  return { of: "roles", roles: [...raw["roles"]] }
}

const readWhen = (
  raw: unknown,
  resources: Iterable<string>,
  models: Models,
  say: Say
): ReadonlyMap<string, FilterTree> => {
  const trees = new Map<string, FilterTree>()
  if (raw === undefined) return trees
  const text: unknown = isWhere(raw) ? raw.text : raw
  for (const resource of resources) {
    const tree = checkFilterText(text, ownScope(models.get(resource)!), new Set(), `when, for ${resource}`, say)
    if (tree !== null) trees.set(resource, tree)
    else break
  }
  return trees
}

const flag = (raw: unknown, name: string, usual: boolean, say: Say): boolean => {
  if (raw === undefined) return usual
  if (typeof raw === "boolean") return raw
  say(`${name} is ${quoteValue(raw)}.`, "Write true or false.")
  return usual
}

const readLimit = (raw: unknown, say: Say): number | null => {
  if (raw === undefined) return null
  if (isCount(raw, 1, mostPerMinute)) return raw
  say(`maxPerMinute is ${quoteValue(raw)}.`, `Write a whole number from 1 to ${mostPerMinute}.`)
  return null
}

const readWaits = (raw: unknown, say: Say): readonly number[] | null => {
  if (raw === undefined) return null
  const waits = Array.isArray(raw) ? raw.map((each: unknown) => (durationMs(each) ?? 0) / 1_000) : null
  if (isWaits(waits)) return waits
  say(
    `retrySteps is ${quoteValue(raw)}.`,
    `Write 1 to ${mostWaits} waits, each from a second to a day: retrySteps: ["10 seconds", "5 minutes", "1 hour"].`
  )
  return null
}

const compileOne = (name: string, options: Bag, of: SubscriptionScope, say: Say): Subscription | null => {
  refuseUnknownKeys(options, optionNames, "", say)
  const { as, body, events: names, headers, payload, secret, tenant, when } = options
  let events: Subscription["events"] = new Map()
  if (!isTextList(names) || names.length === 0) {
    say(`events is ${quoteValue(names)}.`, "List names of events: events: [\"orders.created\"].")
  } else events = readEventNames(names, of.models, say)
  const enabled = flag(options["enabled"], "enabled", true, say)
  const target = readTarget(options, enabled, of, say)
  if (payload !== undefined && payload !== "full" && payload !== "thin") {
    say(`payload is ${quoteValue(payload)}.`, "Write \"full\" or \"thin\".")
  }
  if (tenant !== undefined && !(typeof tenant === "string" && tenant !== "") && !Number.isSafeInteger(tenant)) {
    say(`tenant is ${quoteValue(tenant)}.`, "Write a text of at least one character or a whole number.")
  }
  for (const resource of tenant === undefined ? [] : events.keys()) {
    if (of.models.get(resource)?.tenant === null) {
      say(`It is for one tenant, but "${resource}" has none.`, "Leave the resource or the tenant out.")
    }
  }
  const keys: Uint8Array[] = []
  if (secret !== undefined) {
    const key = readSecret(secret)
    if (Result.isSuccess(key)) keys.push(key.success)
    else say(`secret cannot be used: ${key.failure}.`, "Make one with newWebhookSecret().")
  }
  if (body !== undefined && !isFunction(body)) {
    say(`body is ${quoteValue(body)}, not a function.`, "Write body: (event) => ….")
  }
  if (target?.of === "run") {
    const useless = ["secret", "headers", "body"].find((option) => options[option] !== undefined)
    if (useless !== undefined) say(`${useless} stands beside run, which gets no request.`, "Leave it out.")
  }
  if (target === null) return null
  return {
    id: name,
    name,
    events,
    when: readWhen(when, events.keys(), of.models, say),
    reader: readReader(as, of, say),
    tenant: typeof tenant === "string" || typeof tenant === "number" ? String(tenant) : null,
    thin: payload === "thin",
    ordered: flag(options["ordered"], "ordered", false, say),
    enabled,
    target,
    keys,
    headers: readHeaders(headers, say),
    body: isFunction<NonNullable<Subscription["body"]>>(body) ? body : null,
    perMinute: readLimit(options["maxPerMinute"], say),
    waits: readWaits(options["retrySteps"], say),
    state: null
  }
}

/** Compiles all subscriptions, in declared order. Every refusal names its subscription. */
export const compileSubscriptions = (raw: unknown, of: SubscriptionScope): readonly Subscription[] => {
  if (raw === undefined) return []
  const report: Say = (message, fix) => of.report(null, null, message, fix)
  if (!isList(raw)) {
    report(`subscriptions is ${quoteValue(raw)}, not a list.`, "Write subscriptions: [subscription(\"name\", { … })].")
    return []
  }
  const subscriptions = new Map<string, Subscription>()
  const names = new Set<string>()
  for (const [index, each] of raw.entries()) {
    const { name, options } = isBag(each) && each["_tag"] === "Subscription" ? each : {}
    if (typeof name !== "string" || !subscriptionName.test(name) || !isBag(options)) {
      report(
        `subscriptions[${index}] is ${quoteValue(name ?? each)}, not a subscription.`,
        "Write subscription(\"name\", { events: […], url: \"https://…\" }); a name has letters, digits, - and _."
      )
      continue
    }
    const say: Say = (message, fix) => report(`The subscription "${name}": ${message}`, fix)
    if (names.has(name)) say("There are two of this name.", "Rename one of them.")
    names.add(name)
    const compiled = compileOne(name, options, of, say)
    if (compiled !== null) subscriptions.set(name, compiled)
  }
  return [...subscriptions.values()]
}
