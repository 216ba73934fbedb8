/**
 * From a configuration to everything the service runs on, or to all of its refusals together. Code that works on the result can rely on it:
 * names exist, filters check and values fit. What only a database can tell (tables, columns, types) is checked elsewhere.
 */

import * as Result from "effect/Result"
import { visitor } from "../access/caller.ts"
import { makeAccessResolver, recordReads } from "../access/resolve.ts"
import type { AccessDefaults, Roles, RulesByResource } from "../access/rules.ts"
import { accountMailsOf } from "../account/mails.ts"
import type { Tenants } from "../account/tenants.ts"
import { type Bag, isBag, isTextList } from "../bag.ts"
import type { AuthSettings, Config, ConfigExtension, Options } from "../declare/config.ts"
import { quoteValue, type Refusal, type Report } from "../declare/refusal.ts"
import type { Schemas } from "../declare/schemas.ts"
import { type Webhooks, webhooksOf } from "../declare/webhooks.ts"
import type { Subscription } from "../event/subscription.ts"
import type { Forms, FormSettings } from "../form/form.ts"
import type { Functions } from "../function/declaration.ts"
import type { Hooks } from "../hook/declaration.ts"
import type { JobModel } from "../job/definition.ts"
import { readTemplates, type Template } from "../mail/template.ts"
import type { CompiledEvent } from "../model/event.ts"
import type { Model, Models } from "../model/model.ts"
import { tableName } from "../model/table.ts"
import type { MenuItem, Page, View } from "../model/view.ts"
import { cellFromText } from "../value/cell.ts"
import { refuseUnknownKeys } from "./check.ts"
import { compileFiles, type FilesConfig } from "./file.ts"
import { compileForms, readFormSettings } from "./form.ts"
import type { FormDraft } from "./form.ts"
import { compileFunctions } from "./function.ts"
import { compileHooks } from "./hook.ts"
import { compileJobs } from "./jobs.ts"
import { compileMenu, compilePages } from "./menu.ts"
import { checkAuth, readOptions, refuseIdleAuth } from "./options.ts"
import { buildModel, type Draft, linkModels, readResource, resolveShapes } from "./resource.ts"
import { compileRoles } from "./roles.ts"
import type { KnownRoles } from "./roles.ts"
import { readSchemas, refuseClashes } from "./schemas.ts"
import { compileSubscriptions } from "./subscription.ts"
import { readTenants } from "./tenants.ts"
import { compileViews, type ViewScope } from "./view.ts"

export type { CompiledEvent } from "../model/event.ts"

/** A configuration that holds. */
export interface Compiled {
  readonly models: Models
  /** Access rules by resource: every model has its own. */
  readonly rules: RulesByResource
  /** Declared events by resource and name (their names are also in each model). */
  readonly events: ReadonlyMap<string, ReadonlyMap<string, CompiledEvent>>
  /** Views in declared order; every resource has one for everybody. */
  readonly views: readonly View[]
  /** API functions by name, in declared order. */
  readonly functions: Functions
  /** Hooks that other systems call, by name in declared order. Their jobs stand in `jobs`, too. */
  readonly hooks: Hooks
  /** Subscriptions of the configuration, in declared order. */
  readonly subscriptions: readonly Subscription[]
  /** The extension that lets people subscribe, or null. */
  readonly webhooks: Webhooks | null
  readonly userMenu: readonly MenuItem[]
  readonly pages: readonly Page[]
  /** Public forms by name. */
  readonly forms: Forms
  readonly formSettings: FormSettings
  /** Null: no roles are declared. */
  readonly roles: Roles | null
  readonly defaults: AccessDefaults
  readonly options: Options
  /** By name. */
  readonly jobs: ReadonlyMap<string, JobModel>
  /** By name. */
  readonly templates: ReadonlyMap<string, Template<never>>
  /** As declared and checked; null: not given. */
  readonly auth: AuthSettings | null
  /** Where the tenants of this process are; null: requests do not decide the tenant. */
  readonly tenants: Tenants | null
  /** What the schemas of the service itself are called. */
  readonly schemas: Schemas
  readonly files: FilesConfig
  /** Null: there are no bulk changes and imports. */
  readonly tasks: TaskSettings | null
}

/** Whether any resource declares events. */
export const hasEvents = ({ models }: Pick<Compiled, "models">): boolean =>
  [...models.values()].some(({ events }) => events.length > 0)

/** Bulk changes and imports. */
export interface TaskSettings {
  /** Null: the accounts of the service know. */
  readonly ownerRoles: NonNullable<Options["tasks"]["ownerRoles"]> | null
  readonly maxImportBytes: number
}

/** Whether and how there are tasks: somebody has to know which roles the person behind one has at each batch. */
const taskSettings = (
  { maxImportBytes, mode, ownerRoles }: Options["tasks"],
  webhooks: Webhooks | null,
  elsewhere: boolean,
  hasQueue: boolean,
  say: (message: string, fix: string) => void
): TaskSettings | null => {
  const roles = ownerRoles ?? webhooks?.ownerRoles ?? null
  const unknown = elsewhere && roles === null
  if (mode === "off" || (mode === "auto" && (unknown || !hasQueue))) return null
  if (unknown) {
    say(
      "options.tasks: accounts are not kept here, so nobody knows which roles a person has while their task runs.",
      "Write tasks: { ownerRoles: async ({ id, tenant }) => [roles] }."
    )
  }
  return { ownerRoles: roles, maxImportBytes }
}

/** Whether any resource is over a materialized view that jobs refresh. */
export const hasRefreshes = ({ models }: Pick<Compiled, "models">): boolean =>
  [...models.values()].some(({ materialized }) => materialized !== undefined)

/** Whether a service needs the queue: it has jobs or tasks of its own, mails about accounts, or events that somebody may subscribe to. */
export const needsQueue = (
  compiled:
    & Pick<Compiled, "auth" | "jobs" | "models" | "subscriptions" | "webhooks">
    & Partial<Pick<Compiled, "tasks">>
): boolean =>
  (compiled.tasks ?? null) !== null || compiled.jobs.size > 0 || accountMailsOf(compiled.auth?.mail) !== null ||
  compiled.webhooks !== null ||
  hasRefreshes(compiled) ||
  (compiled.subscriptions.length > 0 && hasEvents(compiled))

const configNames = [
  "resources",
  "views",
  "roles",
  "auth",
  "schemas",
  "authenticate",
  "db",
  "functions",
  "hooks",
  "subscriptions",
  "userMenu",
  "pages",
  "forms",
  "options",
  "jobs",
  "templates",
  "files",
  "extends"
] as const

/**
 * Roles that exist without being declared: the administrator and visitors of public forms. `user` exists, too, unless `auth.roles` is
 * given.
 */
const builtInRoles = ["admin", "anonymous"]

const readRoleSet = (config: Bag, say: (message: string, fix: string) => void): Bag | null => {
  const own = config["roles"]
  const inOptions = isBag(config["options"]) ? config["options"]["roles"] : undefined
  if (own !== undefined && inOptions !== undefined) {
    say("Roles are declared twice: as roles and as options.roles.", "Keep one of them.")
  }
  // Null is refused: read as "no roles", it would allow everything.
  const declared = own === undefined ? inOptions : own
  if (declared === undefined) return null
  if (isBag(declared)) return declared
  say(
    `roles is ${quoteValue(declared)}, not an object.`,
    "Write roles: defineRoles({ admin: [\"*\"], sales: [\"orders.read\"] })."
  )
  return null
}

/**
 * The roles that somebody may have. Null where nothing says which there are: nothing is declared, and credentials are verified elsewhere. The accounts
 * of this service have the built-in ones then.
 */
const knownRoles = (declared: Bag | null, config: Bag): KnownRoles => {
  const auth = config["auth"]
  const accounts = isBag(auth) && isTextList(auth["roles"]) ? auth["roles"] : null
  const elsewhere = config["authenticate"] !== undefined ||
    (isBag(auth) && (auth["jwksUrl"] ?? auth["apps"]) !== undefined)
  if (declared === null && accounts === null && elsewhere) return null
  return new Set([...(declared === null ? [] : Object.keys(declared)), ...(accounts ?? ["user"]), ...builtInRoles])
}

/** The configuration with its extensions applied, one after the other. */
const extended = (config: Bag, report: Report): Bag => {
  const extensions = config["extends"]
  if (extensions === undefined) return config
  const usable = (each: unknown): each is ConfigExtension =>
    isBag(each) && each["_tag"] === "ConfigExtension" && typeof each["apply"] === "function"
  if (!Array.isArray(extensions) || !extensions.every(usable)) {
    report(
      null,
      null,
      `extends is ${quoteValue(extensions)}, not a list of extensions.`,
      "Write extends: [history({ … })]."
    )
    return config
  }
  return extensions.reduce((current: Bag, extension) => extension.apply(current, report), config)
}

/** Everybody works in the configured tenant: one that a tenant column cannot hold would find no record, ever. */
const refuseTenant = (tenant: string | number | undefined, models: Models, report: Report): void => {
  if (tenant === undefined) return
  for (const { name, tenant: field } of models.values()) {
    if (field === null || Result.isSuccess(cellFromText(field, String(tenant)))) continue
    report(
      name,
      field.name,
      `auth.tenant is ${quoteValue(tenant)}, which is no value of the tenant column (${field.kind}).`,
      "Set auth.tenant to the tenant's value as the column holds it."
    )
  }
}

/** Changes are captured by table: a resource without events whose table has some writes for them, too. */
const shareCapture = (models: ReadonlyArray<Model & { captured: boolean }>): void => {
  const captured = new Set(models.flatMap((model) => model.captured ? [tableName(model)] : []))
  for (const model of models) model.captured = captured.has(tableName(model))
}

/**
 * Compiles a configuration. Everything that can be wrong without a database is refused here, all together. Each refusal names the resource,
 * the field and what to write instead. Plain-JavaScript configurations are checked as strictly as typed ones.
 */
export const compileModels = (config: Config): Result.Result<Compiled, readonly Refusal[]> => {
  const refusals: Refusal[] = []
  const report: Report = (resource, field, message, fix) => refusals.push({ resource, field, message, fix })
  const say = (message: string, fix: string): void => report(null, null, message, fix)
  const declared: unknown = config
  if (!isBag(declared)) {
    say(
      `The configuration is ${quoteValue(declared)}, not an object.`,
      "Export defineConfig({ resources: […] }) by default."
    )
    return Result.fail(refusals)
  }
  const raw = extended(declared, report)
  refuseUnknownKeys(raw, configNames, "", say)
  const declaredRoles = readRoleSet(raw, say)
  const roles = knownRoles(declaredRoles, raw)

  const drafts = new Map<string, Draft>()
  const resources = raw["resources"]
  if (!Array.isArray(resources)) {
    say(`resources is ${quoteValue(resources)}, not a list.`, "Write resources: [orders, customers].")
  } else {
    for (const [index, resource] of resources.entries()) {
      const draft = readResource(resource, index, drafts, report)
      if (draft !== null) drafts.set(draft.name, draft)
    }
  }
  const shapes = resolveShapes(drafts, report)
  const built = new Map([...drafts].map(([name, draft]) => [name, buildModel(draft, shapes, roles, report)] as const))
  linkModels(drafts, built, report)
  shareCapture([...built.values()].map(({ model }) => model))
  const models = new Map<string, Model>([...built].map(([name, { model }]) => [name, model]))
  const rules: RulesByResource = new Map([...built].map(([name, { rulesAmong }]) => [name, rulesAmong(models)]))

  const functions = compileFunctions(raw["functions"], roles, report)
  const callable = new Set(functions.keys())
  const scopes = new Map([...built].map(([name, { model, broken }]): [string, ViewScope] => [
    name,
    { model, models, broken, roles, functions: callable, report }
  ]))
  const formDrafts: FormDraft[] = []
  const views = compileViews(raw["views"], scopes, report, formDrafts)
  const names = new Set(models.keys())
  const pages = compilePages(raw["pages"], { resources: scopes, roles, report })
  const userMenu = compileMenu(raw["userMenu"], pages, { resources: scopes, roles, report })
  const scope = { resources: names, pages: new Set(pages.map((page) => page.name)), roles, report }
  const subscriptions = compileSubscriptions(raw["subscriptions"], { models, functions, roles, report })
  const options = readOptions(raw["options"], scope)
  const files = compileFiles(raw["files"], models, report)
  const auth = checkAuth(raw["auth"], scope)
  refuseTenant(auth?.tenant, models, report)
  const tenants = isBag(raw["auth"])
    ? readTenants({
      auth: raw["auth"],
      forms: raw["forms"],
      models,
      keepsAccounts: raw["authenticate"] === undefined && raw["auth"]["jwksUrl"] === undefined,
      say
    })
    : null
  const hooks = compileHooks(raw["hooks"], report)
  const jobs = new Map(compileJobs(raw["jobs"], report))
  for (const { job } of hooks.values()) jobs.set(job.name, job)
  const templates = readTemplates(raw["templates"])
  if (Result.isFailure(templates)) say(templates.failure, "Write templates: [defineTemplate({ name, subject, text })].")
  if (raw["authenticate"] !== undefined && typeof raw["authenticate"] !== "function") {
    say(
      `authenticate is ${quoteValue(raw["authenticate"])}, not a function.`,
      "Write (request) => ({ user: { id, roles } })."
    )
  }
  refuseIdleAuth(raw["auth"], raw["authenticate"], say)
  const mails = accountMailsOf(auth?.mail)
  if (mails !== null && mails.page === null && options.admin === null && (mails.passwordReset || mails.invitations)) {
    say(
      "auth.mail sends links, and there is no page for them: options.admin is false.",
      "Write auth: { mail: { …, page: \"https://…\" } } with a page that takes the token behind \"#\", or serve the admin app."
    )
  }
  if (raw["db"] !== undefined && (typeof raw["db"] !== "string" || !/^postgres(?:ql)?:\/\/./.test(raw["db"]))) {
    say("db is not the URL of a PostgreSQL database.", "Write \"postgres://…\", or set DATABASE_URL and leave db out.")
  }

  const { [webhooksOf]: ofWebhooks }: { readonly [webhooksOf]?: Webhooks } = raw
  const webhooks = ofWebhooks ?? null
  const schemas = readSchemas(raw["schemas"], webhooks?.schema ?? null, say)
  refuseClashes(schemas, models, say)
  const elsewhere = raw["authenticate"] !== undefined || (isBag(raw["auth"]) && raw["auth"]["jwksUrl"] !== undefined)
  const tasks = taskSettings(
    options.tasks,
    webhooks,
    elsewhere,
    needsQueue({ auth, jobs, models, subscriptions, webhooks }),
    say
  )

  let compiledRoles: Roles | null = null
  if (declaredRoles !== null) {
    const targets = new Map([...models].map(([name, model]) => [name, { ...model, rules: rules.get(name)! }]))
    const result = compileRoles(declaredRoles as { readonly [role: string]: readonly string[] }, targets)
    if (Result.isSuccess(result)) compiledRoles = result.success
    else refusals.push(...result.failure)
  }
  for (const { resource, place } of recordReads(rules, [...roles ?? builtInRoles])) {
    report(
      resource,
      null,
      `access.${place} reads the record. There is none when it is decided what can be read, so it would deny everybody.`,
      "Answer where`…` for the records that may be read, or decide from the caller."
    )
  }
  const defaults: AccessDefaults = { roles: compiledRoles, defaultAccess: options.defaultAccess }
  const formSettings = readFormSettings(
    raw["forms"],
    tenants === null ? auth?.tenant : [...tenants.known ?? []][0] ?? "1",
    say
  )
  const visitors = visitor(formSettings.tenant)
  const resolver = refusals.length > 0 ? null : makeAccessResolver(models, rules, defaults)
  const forms = compileForms(formDrafts, {
    models,
    broken: (resource) => built.get(resource)!.broken,
    resolve: resolver === null ? null : (resource) => resolver.resolve(visitors, resource),
    tenant: formSettings.tenant,
    report
  })
  if (refusals.length > 0) return Result.fail(refusals)
  return Result.succeed({
    models,
    rules,
    events: new Map([...built].map(([name, { events }]) => [name, events])),
    views,
    functions,
    hooks,
    subscriptions,
    webhooks,
    userMenu,
    pages,
    forms,
    formSettings,
    roles: compiledRoles,
    defaults,
    options,
    jobs,
    templates: Result.getOrElse(templates, () => new Map()),
    auth,
    tenants,
    schemas,
    files,
    tasks
  })
}
