/**
 * The configuration of a service as people write it (`defineConfig`), and its options with their defaults in one place. It holds types and
 * defaults; what a value may be is decided by `compile/options.ts`.
 */

import type { Caller } from "../access/caller.ts"
import type { ProviderDeclaration } from "../account/identity-provider.ts"
import type { AccountMailDeclaration } from "../account/mails.ts"
import type { PasskeyDeclaration } from "../account/passkey.ts"
import type { DeclaredSubscription } from "../event/subscription.ts"
import type { DeclaredFunction } from "../function/declaration.ts"
import type { DeclaredHook } from "../hook/declaration.ts"
import type { DeclaredJob } from "../job/definition.ts"
import type { Template } from "../mail/template.ts"
import type { ChangeOperation } from "../model/event.ts"
import type { WireRecord } from "../model/model.ts"
import type { Source } from "../source/source.ts"
import type { FilesDeclaration } from "./file.ts"
import type { FormsDeclaration } from "./form.ts"
import type { Report } from "./refusal.ts"
import type { RecordFrom, Resource } from "./resource.ts"
import type { DeclaredRoles } from "./roles.ts"
import type { SchemasDeclaration } from "./schemas.ts"
import type { TenantSource } from "./tenants.ts"
import type { VersionsOf } from "./versions.ts"
import type { DeclaredView, MenuDeclaration, PageDeclaration, ViewDeclaration } from "./view.ts"

/**
 * The write transaction that a hook runs in, made by the database adapter. `query` runs further statements in it, with `$1` placeholders,
 * and gives their rows. It cannot be used once the hook has returned.
 */
export interface Transaction {
  readonly query: (
    sql: string,
    params?: readonly unknown[]
  ) => Promise<ReadonlyArray<{ readonly [column: string]: unknown }>>
}

/** One write, after it happened and before the commit. */
export interface Change {
  readonly operation: ChangeOperation
  readonly resource: string
  /** The stored record before the write; null on create. */
  readonly before: WireRecord | null
  /** The record as written; null when the row was removed. */
  readonly after: WireRecord | null
  readonly caller: Caller
  readonly transaction: Transaction
}

/** A change with records typed by the resource it names: `if (change.resource === "orders") change.after?.total`. */
export type ChangeOf<R extends Resource> = R extends Resource ? Omit<Change, "resource" | "before" | "after"> & {
    readonly resource: R["name"]
    readonly before: RecordFrom<R> | null
    readonly after: RecordFrom<R> | null
  }
  : never

/**
 * Runs inside the write transaction, after the write. Throwing, rejecting, or taking longer than `statementTimeoutMs` rolls the write back
 * (docs/reference/writes.md#write-hooks).
 */
export type WriteHook<C = Change> = (change: C) => void | Promise<void>

/** What is known of the request in which something unexpected happened. */
export interface UnhandledContext {
  readonly requestId: string
  readonly method: string
  /** Path without its query. */
  readonly path: string
}

/** Tells an unexpected error to the operator's own reporter. Nobody waits for it, and its own failure is only logged. */
export type UnhandledErrorHook = (error: unknown, context: UnhandledContext) => void | Promise<void>

/** What happens to a read that would scan a large table (docs/reference/reads.md#reads-that-are-refused). */
export type ScanGuardMode = "reject" | "warn" | "off"

/** Another instance whose resources the admin app draws (docs/guides/sources.md). */
export interface SourceDeclaration {
  /** Its resources API: an http(s) URL with a path and nothing after it. */
  readonly url: string
  readonly label: string
  readonly resources: readonly string[]
  /** Only callers holding one of these roles are told about it. */
  readonly roles?: readonly string[]
}

/** Options of the service (docs/reference/resources.md#options). All of them may be left out; `defaultOptions` says what holds then. */
export interface OptionsDeclaration<C = Change> {
  /** Longest time one statement may take, in milliseconds. 1 to 600,000; default 15,000. */
  readonly statementTimeoutMs?: number
  /**
   * Refuses (`reject`, default), marks (`warn`) or lets pass (`off`) reads that scan a table of more than `seqScanRows` (10,000) rows. Aggregates and exact
   * counts read many rows by nature: theirs is `aggregateRows` (1,000,000, or `seqScanRows` where that is more).
   */
  readonly scanGuard?: { readonly mode?: ScanGuardMode; readonly seqScanRows?: number; readonly aggregateRows?: number }
  /** The same as `roles` of the configuration; give one of them. */
  readonly roles?: DeclaredRoles
  /** What holds for an operation without a rule. Without it: denied when roles are declared and none gives it, else allowed. */
  readonly defaultAccess?: "allow" | "deny"
  /** `false`: list items carry no `permissions`; `{ except: ["orders"] }`: those of the named resources do not. */
  readonly rowPermissions?: boolean | { readonly except: readonly string[] }
  /** Path of the resources API, default `/api/v1`. The system endpoints sit beside its last segment. */
  readonly basePath?: string
  readonly writeHooks?: readonly WriteHook<C>[]
  /** Gets every unexpected error that became a 500. What it throws is ignored. */
  readonly onUnhandledError?: UnhandledErrorHook
  /** Origins whose pages may call the API. `maxAgeSeconds`: how long a browser keeps the answer to a preflight, default 600. */
  readonly cors?: { readonly origins: readonly string[]; readonly maxAgeSeconds?: number }
  /** Other instances whose resources the app draws (`docs/guides/sources.md`); `false` for none, also of `SERVICE_SOURCES`. */
  readonly sources?: false | readonly SourceDeclaration[]
  /** Manifests of plugins that the admin app loads (`docs/guides/plugins.md`): URLs, or paths of this host. `false` for none, also of `SERVICE_PLUGINS`. */
  readonly plugins?: false | readonly string[]
  /** Adds `Server-Timing` with the phases of each request. Default false. */
  readonly serverTiming?: boolean
  /** Largest request body in bytes; 1,024 to 1,073,741,824, default 2 MiB. */
  readonly maxBodyBytes?: number
  /** Largest answer in bytes; 65,536 to 134,217,728, default 32 MiB. A page ends early to stay below it. */
  readonly maxAnswerBytes?: number
  /** Most bytes of records that one batch reads, writes and copies; 65,536 to 1,073,741,824, default 64 MiB. */
  readonly maxBatchBytes?: number
  /** Number of proxies in front that set `X-Forwarded-For`. Default 0: the client is the socket's address. */
  readonly trustedProxies?: number
  /**
   * The admin app: the path it lives at, default `/`, and the name people read in it, default `auth.appName`. `false`: it is not served, and `/`
   * leads to the reference.
   */
  readonly admin?: false | { readonly path?: string; readonly name?: string }
  /**
   * Bulk changes and imports. They need the queue: without this option they are there where jobs or subscriptions bring it. `true` brings it for them alone,
   * `false` turns them off. Where accounts are kept elsewhere, `ownerRoles` has to say which roles a person has now.
   */
  readonly tasks?: boolean | TasksDeclaration
}

/** Settings of bulk changes and imports. */
export interface TasksDeclaration {
  /** The roles that a person has now in a tenant; none stops their tasks; null leaves them to a process that knows the tenant. */
  readonly ownerRoles?: (owner: { readonly id: string; readonly tenant: string | null }) => Promise<
    readonly string[] | null
  >
  /** Largest file of an import in bytes; 1,024 to 4,294,967,296, default 256 MiB. */
  readonly maxImportBytes?: number
}

/** Options with every default filled in. */
export interface Options {
  readonly statementTimeoutMs: number
  readonly scanGuard: { readonly mode: ScanGuardMode; readonly seqScanRows: number; readonly aggregateRows: number }
  readonly defaultAccess: "allow" | "deny" | null
  /** Null: no list items carry permissions; otherwise all but those of the named resources do. */
  readonly rowPermissions: { readonly except: ReadonlySet<string> } | null
  /** Begins with `/`, does not end with it. */
  readonly basePath: string
  readonly writeHooks: readonly WriteHook[]
  readonly onUnhandledError: UnhandledErrorHook | null
  readonly cors: { readonly origins: readonly string[]; readonly maxAgeSeconds: number }
  /** Null: turned off. */
  readonly sources: readonly Source[] | null
  /** Addresses of manifests. */
  readonly plugins: readonly string[]
  readonly serverTiming: boolean
  readonly maxBodyBytes: number
  readonly maxAnswerBytes: number
  readonly maxBatchBytes: number
  readonly trustedProxies: number
  /** Null: not served. `path` begins with `/` and does not end with it, but for `/` itself. */
  readonly admin: { readonly path: string; readonly name: string | null } | null
  readonly tasks: {
    /** `auto`: where the queue is needed anyway, and somebody knows people's roles. */
    readonly mode: "on" | "off" | "auto"
    readonly ownerRoles: TasksDeclaration["ownerRoles"] | null
    readonly maxImportBytes: number
  }
}

/** Path of the system endpoints, beside the resources: `/api` for `/api/v1`. */
export const parentPath = (basePath: string): string => basePath.slice(0, basePath.lastIndexOf("/"))

export const defaultOptions: Options = {
  statementTimeoutMs: 15_000,
  scanGuard: { mode: "reject", seqScanRows: 10_000, aggregateRows: 1_000_000 },
  defaultAccess: null,
  rowPermissions: { except: new Set() },
  basePath: "/api/v1",
  writeHooks: [],
  onUnhandledError: null,
  cors: { origins: [], maxAgeSeconds: 600 },
  sources: [],
  plugins: [],
  serverTiming: false,
  maxBodyBytes: 2 * 1024 * 1024,
  maxAnswerBytes: 32 * 1024 * 1024,
  maxBatchBytes: 64 * 1024 * 1024,
  trustedProxies: 0,
  admin: { path: "/", name: null },
  tasks: { mode: "auto", ownerRoles: null, maxImportBytes: 256 * 1024 * 1024 }
}

/** Sign-in and accounts as configured (docs/guides/authentication.md). What is left out comes from the environment or has a default. */
export interface AuthDeclaration {
  /** The tenant everybody signed in here works in; or `fromHost(…)`, `fromPath(…)`: that of the request (docs/guides/tenants.md). */
  readonly tenant?: string | number | TenantSource
  /** Public URL of the API (`AUTH_URL`): issuer and audience of tokens. */
  readonly url?: string
  /** Signs cookies and encrypts token keys (`AUTH_SECRET`): 32 random bytes in base64. Better kept in the environment. */
  readonly secret?: string
  /** Roles that accounts may have, beside `admin`; default `["admin", "user"]`. */
  readonly roles?: readonly string[]
  /** The role of a new account when none is given. */
  readonly defaultRole?: string
  /** Sign-in attempts per minute and client, default 5. */
  readonly signInPerMinute?: number
  readonly trustedOrigins?: readonly string[]
  /** Where keys are read and who must have issued tokens, when accounts live in another service. */
  readonly jwksUrl?: string
  readonly issuer?: string
  /** Other apps whose users may work here (docs/guides/sources.md). */
  readonly apps?: readonly TrustedAppDeclaration[]
  /** How long keys are kept: read again every `refreshMs` (10 minutes), for unknown keys at most every `minReloadMs` (30 s). */
  readonly cache?: { readonly refreshMs?: number; readonly minReloadMs?: number }
  /** Whether accounts may set up a second factor (codes of an authenticator app); default no. */
  readonly twoFactor?: boolean
  /** Whether people may sign in with passkeys; default no. An object says for which domain and pages they are made. */
  readonly passkeys?: boolean | PasskeyDeclaration
  /** Identity providers that people may sign in with; default none. */
  readonly oidc?: readonly ProviderDeclaration[]
  /** Mails about accounts: `true` for all of them, default none. */
  readonly mail?: boolean | AccountMailDeclaration
  /** What authenticator apps show beside the account, and what mails call the service. */
  readonly appName?: string
}

/** Sign-in as compiled. Where requests decide the tenant, it stands apart. */
export interface AuthSettings extends Omit<AuthDeclaration, "tenant"> {
  readonly tenant?: string | number
}

export interface TrustedAppDeclaration {
  readonly issuer: string
  readonly roles: { readonly [role: string]: string | readonly string[] }
  readonly tenant?: string | number
  readonly keys?: { readonly keys: readonly object[] }
}

/** Turns a request into a user by verifying its credential; throws otherwise. Takes the place of the built-in sign-in. */
export type AuthenticateFunction = (request: {
  readonly method: string
  readonly url: string
  readonly headers: { get(name: string): string | null }
  /** The tenant of the host or path that was asked, where these decide. The answer has to name the same. */
  readonly tenant?: string
}) => Authenticated | Promise<Authenticated>

export interface Authenticated {
  readonly user: { readonly id: string; readonly roles: readonly string[] }
  readonly tenant?: string | number | null | undefined
}

/** Views by resource name; several for different roles as a list. */
export type ViewsByName<Resources extends readonly Resource[]> = {
  readonly [R in Resources[number] as R["name"]]?:
    | ViewDeclaration<R["~fields"]>
    | readonly ViewDeclaration<R["~fields"]>[]
}

/** A configuration with types that follow from its resources. */
export interface ConfigDeclaration<
  Resources extends readonly Resource[],
  Extensions extends readonly ConfigExtension<string>[] = readonly ConfigExtension<string>[]
> {
  readonly resources: Resources
  readonly views?: ViewsByName<Resources> | readonly DeclaredView[]
  /** From `defineRoles`. Once declared, an operation without a rule needs a capability. */
  readonly roles?: DeclaredRoles
  readonly auth?: AuthDeclaration
  /** Other names for the schemas that the service itself makes: `{ auth: "admin_auth" }` (`docs/guides/existing-database.md`). */
  readonly schemas?: SchemasDeclaration
  readonly authenticate?: AuthenticateFunction
  /** The database's URL; else `DATABASE_URL`; else the embedded one. */
  readonly db?: string
  /** API functions by name, each from `defineFunction`. */
  readonly functions?: { readonly [name: string]: DeclaredFunction }
  /** Hooks that other systems call with what happened there, by name, each from `defineHook`. */
  readonly hooks?: { readonly [name: string]: DeclaredHook }
  /** Who is told of events, each from `subscription`. */
  readonly subscriptions?: readonly DeclaredSubscription[]
  readonly userMenu?: readonly MenuDeclaration[]
  readonly pages?: readonly PageDeclaration[]
  /** Settings of all public forms. */
  readonly forms?: FormsDeclaration
  readonly options?: OptionsDeclaration<ChangeOf<Resources[number]>>
  /** From `defineJob`: work that is done after a request. */
  readonly jobs?: readonly DeclaredJob[]
  /** From `defineTemplate`: mails that the `dev` command shows previews of. */
  readonly templates?: ReadonlyArray<Pick<Template<never>, "_tag" | "name">>
  /** Where files are stored, and what makes their images (`docs/guides/files.md`). */
  readonly files?: FilesDeclaration
  /** Extensions such as `history(…)`, applied in order before the configuration is compiled. */
  readonly extends?: Extensions
}

/** A configuration as startup takes it: checked by `compileModels`, whatever language it was written in. */
export interface Config {
  readonly resources: readonly Resource[]
  readonly views?: unknown
  readonly roles?: DeclaredRoles
  readonly auth?: AuthDeclaration
  /** Other names for the schemas that the service itself makes: `{ auth: "admin_auth" }` (`docs/guides/existing-database.md`). */
  readonly schemas?: SchemasDeclaration
  readonly authenticate?: AuthenticateFunction
  readonly db?: string
  readonly functions?: { readonly [name: string]: DeclaredFunction }
  /** Hooks that other systems call with what happened there, by name, each from `defineHook`. */
  readonly hooks?: { readonly [name: string]: DeclaredHook }
  /** Who is told of events, each from `subscription`. */
  readonly subscriptions?: readonly DeclaredSubscription[]
  readonly userMenu?: readonly MenuDeclaration[]
  readonly pages?: readonly PageDeclaration[]
  /** Settings of all public forms; the forms themselves stand in views. */
  readonly forms?: FormsDeclaration
  readonly options?: OptionsDeclaration
  readonly jobs?: readonly DeclaredJob[]
  readonly templates?: ReadonlyArray<Pick<Template<never>, "_tag" | "name">>
  readonly files?: FilesDeclaration
  readonly extends?: readonly ConfigExtension<string>[]
}

/**
 * A configuration that knows the types of its resources, and of the versions of those that are tracked: `typeof config` gives them to
 * `createClient`.
 */
export interface TypedConfig<Resources extends readonly Resource[], Tracked extends string = never> extends Config {
  /** Types only; there is no such member at run time. */
  readonly "~resources":
    & { readonly [R in Resources[number] as R["name"]]: R }
    & { readonly [R in Resources[number] as R["name"] extends Tracked ? `${R["name"]}_history` : never]: VersionsOf<R> }
}

/**
 * Declares a service: the default export of `admin.config.ts`, and what `createAdmin` takes. It returns its argument. Mistakes that types
 * do not catch are refused at startup, all together.
 */
export const defineConfig = <
  const Resources extends readonly Resource[],
  const Extensions extends readonly ConfigExtension<string>[] = readonly []
>(
  config: ConfigDeclaration<Resources, Extensions>
): TypedConfig<Resources, TrackedBy<Extensions>> => {
  const plain: Omit<Config, "options"> = config
  return plain as TypedConfig<Resources, TrackedBy<Extensions>>
}

/** A change of the whole configuration, applied before it is compiled. `Tracked` are the resources of which it adds the versions. */
export interface ConfigExtension<Tracked extends string = never> {
  readonly _tag: "ConfigExtension"
  readonly name: string
  /** Gives the configuration to compile, and reports what cannot be. The argument may be anything that a plain-JavaScript file exports. */
  readonly apply: (config: { readonly [key: string]: unknown }, report: Report) => { readonly [key: string]: unknown }
  /** Types only; there is no such member at run time. */
  readonly "~tracked"?: Tracked
}

type TrackedBy<Extensions extends readonly ConfigExtension<string>[]> = Exclude<
  Extensions[number]["~tracked"],
  undefined
>
