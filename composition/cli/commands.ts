/**
 * The subcommands of `service`, their arguments, flags and descriptions. It parses; what a command does is loaded once it is known which one.
 */

import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { resolve } from "node:path"
import { describe } from "./output.ts"

/** A failure of a command, already described. */
export class Failed {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** Runs a command's work; whatever it throws is described for people. */
const run = (work: () => Promise<void>): Effect.Effect<void, Failed> =>
  Effect.tryPromise({ try: work, catch: (error) => new Failed(describe(error)) })

const textFlag = (name: string, description: string, metavar: string): Flag.Flag<string | undefined> =>
  Flag.String(name).pipe(
    Flag.withMetavar(metavar),
    Flag.withDescription(description),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  )

const numberFlag = (name: string, description: string): Flag.Flag<number | undefined> =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.optional, Flag.map(Option.getOrUndefined))

const yesFlag = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

const project = {
  project: Flag.String("project").pipe(
    Flag.withAlias("C"),
    Flag.withMetavar("folder"),
    Flag.withDescription("Folder of the project (default: the working directory)"),
    Flag.withDefault("."),
    Flag.map((folder) => resolve(folder))
  ),
  config: textFlag("config", "The configuration file (default: admin.config.ts)", "file")
}
const tenant = { tenant: textFlag("tenant", "Whose accounts, where each tenant has its own", "tenant") }
const json = { json: yesFlag("json", "Print JSON") }
const port = { port: numberFlag("port", "Port to listen on (default: PORT, else that of AUTH_URL)") }
const newPassword = {
  generatePassword: yesFlag("generate-password", "Make a password and print it"),
  passwordStdin: yesFlag("password-stdin", "Read the password from standard input")
}
const email = { email: Argument.String("email").pipe(Argument.withDescription("Email address of the account")) }

const init = Command.make("init", {
  folder: Argument.String("folder").pipe(Argument.withDescription("Where to make it"), Argument.withDefault(".")),
  empty: yesFlag("empty", "Begin without the example resource"),
  from: textFlag("from", "Begin with the tables of this database: postgres://user:password@host/name", "address")
}, (flags) => run(async () => (await import("./init.ts")).init({ ...flags, folder: resolve(flags.folder) }))).pipe(
  Command.withDescription(
    "Make a new project: configuration, an example resource, .env with a secret, files for containers. Overwrites nothing."
  )
)

const introspect = Command.make("introspect", {
  ...project,
  ...json,
  schema: textFlag("schema", "Schemas to read, separated by commas (default: public)", "names"),
  tables: textFlag("tables", "Only these tables, separated by commas; * stands for any characters", "names"),
  exclude: textFlag("exclude", "Leave these tables out, named like those of --tables", "names"),
  views: yesFlag("views", "Write resources for views, too, where columns tell their rows apart"),
  out: textFlag("out", "The generated file (default: admin.resources.ts)", "file"),
  check: yesFlag("check", "Write nothing; exit code 1 when the generated file is not up to date"),
  force: yesFlag("force", "Replace a generated file even if it was edited by hand")
}, (flags) => run(async () => (await import("./introspect.ts")).introspectCommand(flags))).pipe(
  Command.withDescription("Write typed resources for the tables of an existing database")
)

const dev = Command.make(
  "dev",
  { ...project, ...port },
  (flags) => run(async () => (await import("./dev.ts")).dev(flags))
).pipe(
  Command.withDescription("Serve, and start again when the configuration or what it imports changes")
)

const serve = Command.make("serve", {
  ...project,
  ...port,
  bundle: Argument.String("bundle").pipe(
    Argument.withDescription("What `build` made; without it the configuration file is loaded"),
    Argument.optional,
    Argument.map(Option.getOrUndefined)
  )
}, (flags) => run(async () => (await import("./serve.ts")).serve(flags))).pipe(
  Command.withDescription("Serve until SIGTERM")
)

const worker = Command.make("worker", {
  ...project,
  port: numberFlag("port", "Port on which /livez and /readyz answer (default: PORT; without it none does)"),
  bundle: Argument.String("bundle").pipe(
    Argument.withDescription("What `build` made; without it the configuration file is loaded"),
    Argument.optional,
    Argument.map(Option.getOrUndefined)
  )
}, (flags) => run(async () => (await import("./serve.ts")).serve(flags, true))).pipe(
  Command.withDescription("Run jobs until SIGTERM, in a process of their own; running ones get 30 seconds then")
)

const build = Command.make("build", {
  ...project,
  out: textFlag("out", "The bundle (default: dist/server.mjs)", "file")
}, (flags) => run(async () => (await import("./build.ts")).build(flags))).pipe(
  Command.withDescription("Bundle the configuration into one file that plain Node runs")
)

const migration = Command.make("migration", {
  ...project,
  ...json,
  apply: yesFlag("apply", "Apply them, and the folder's other files that were not applied yet, instead of writing"),
  plan: yesFlag("plan", "Say what --apply would do, what it locks and for how long, and change nothing"),
  out: textFlag("out", "Folder of the files (default: db/migrations)", "folder")
}, (flags) => run(async () => (await import("./migration.ts")).migration(flags))).pipe(
  Command.withDescription(
    "Write the SQL of the service's own tables into the project's migrations, or apply all of them; safe to repeat"
  )
)

const doctor = Command.make("doctor", {
  ...project,
  ...json,
  all: yesFlag("all", "Also what is only worth knowing")
}, (flags) => run(async () => (await import("./doctor.ts")).doctorCommand(flags))).pipe(
  Command.withDescription("Look for what is wrong or slow, each with the SQL that mends it; exit code 1 on errors")
)

const openapi = Command.make("openapi", {
  ...project,
  roles: textFlag("roles", "Roles of the caller, separated by commas (default: admin)", "names")
}, (flags) => run(async () => (await import("./openapi.ts")).openapi(flags))).pipe(
  Command.withDescription("Print the OpenAPI 3.1 document that a caller with these roles gets")
)

const usersCreate = Command.make("create", {
  ...project,
  ...tenant,
  ...email,
  ...json,
  ...newPassword,
  role: textFlag("role", "Role or roles, separated by commas", "names"),
  name: textFlag("name", "The person's name", "text")
}, (flags) => run(async () => (await import("./users.ts")).create(flags))).pipe(
  Command.withDescription("Create an account; the first one is an admin")
)

const usersList = Command.make(
  "list",
  { ...project, ...tenant, ...json },
  (flags) => run(async () => (await import("./users.ts")).list(flags))
).pipe(Command.withDescription("List accounts"))

const usersBan = Command.make(
  "ban",
  { ...project, ...tenant, ...email },
  (flags) => run(async () => (await import("./users.ts")).setBanned(flags, true))
).pipe(
  Command.withDescription("Ban an account: its sessions and tokens end")
)

const usersUnban = Command.make(
  "unban",
  { ...project, ...tenant, ...email },
  (flags) => run(async () => (await import("./users.ts")).setBanned(flags, false))
).pipe(Command.withDescription("Lift a ban"))

const usersRole = Command.make("role", {
  ...project,
  ...tenant,
  ...email,
  role: Argument.String("role").pipe(Argument.withDescription("Role or roles, separated by commas"))
}, (flags) => run(async () => (await import("./users.ts")).setRole(flags))).pipe(
  Command.withDescription("Set an account's roles")
)

const usersDelete = Command.make(
  "delete",
  { ...project, ...tenant, ...email },
  (flags) => run(async () => (await import("./users.ts")).remove(flags))
).pipe(Command.withDescription("Delete an account"))

const usersRevoke = Command.make(
  "revoke",
  { ...project, ...tenant, ...email },
  (flags) => run(async () => (await import("./users.ts")).revoke(flags))
).pipe(
  Command.withDescription("End an account's sessions and tokens; it may sign in again")
)

const usersPassword = Command.make(
  "password",
  { ...project, ...tenant, ...email, ...json, ...newPassword },
  (flags) => run(async () => (await import("./users.ts")).setPassword(flags))
).pipe(Command.withDescription("Give an account a new password: its sessions and tokens end"))

const usersResetSecondFactor = Command.make(
  "reset-second-factor",
  { ...project, ...tenant, ...email },
  (flags) => run(async () => (await import("./users.ts")).resetFactor(flags))
).pipe(
  Command.withDescription("Take away a second factor that its owner has lost: sessions and tokens end")
)

const usersRemovePasskeys = Command.make(
  "remove-passkeys",
  { ...project, ...tenant, ...email },
  (flags) => run(async () => (await import("./users.ts")).removePasskeys(flags))
).pipe(Command.withDescription("Take all passkeys of an account away: its sessions and tokens end"))

const users = Command.make("users").pipe(
  Command.withDescription("Accounts of the built-in sign-in"),
  Command.withSubcommands([
    usersCreate,
    usersList,
    usersBan,
    usersUnban,
    usersRole,
    usersPassword,
    usersResetSecondFactor,
    usersRemovePasskeys,
    usersRevoke,
    usersDelete
  ])
)

const keysCreate = Command.make("create", {
  ...project,
  ...tenant,
  ...email,
  ...json,
  role: Flag.String("role").pipe(
    Flag.withMetavar("names"),
    Flag.withDescription("Roles of the account that the key gets, separated by commas; an admin's key may have any")
  ),
  name: Flag.String("name").pipe(Flag.withMetavar("text"), Flag.withDescription("What the key is for")),
  expires: textFlag("expires", "When it ends: 90d, 12h, or 2030-01-31 (default 90d, at most 366 days)", "time")
}, (flags) => run(async () => (await import("./keys.ts")).create(flags))).pipe(
  Command.withDescription("Make an API key that acts as an account, and print it this once")
)

const keysList = Command.make("list", {
  ...project,
  ...tenant,
  ...json,
  email: Argument.String("email").pipe(
    Argument.withDescription("Only keys of this account"),
    Argument.optional,
    Argument.map(Option.getOrUndefined)
  )
}, (flags) => run(async () => (await import("./keys.ts")).list(flags))).pipe(
  Command.withDescription("List API keys, ended ones too; never their text")
)

const keysRevoke = Command.make("revoke", {
  ...project,
  ...tenant,
  ...json,
  id: Argument.String("id").pipe(Argument.withDescription("Its id, the part between the underscores"))
}, (flags) => run(async () => (await import("./keys.ts")).revoke(flags))).pipe(
  Command.withDescription("End an API key for good, within two seconds")
)

const keys = Command.make("keys").pipe(
  Command.withDescription("API keys of accounts, for scripts"),
  Command.withSubcommands([keysCreate, keysList, keysRevoke])
)

const jobId = {
  id: Argument.String("id").pipe(
    Argument.withDescription("The failed job's id"),
    Argument.optional,
    Argument.map(Option.getOrUndefined)
  ),
  name: textFlag("name", "All failed jobs of this name", "job")
}

const jobsList = Command.make(
  "list",
  { ...project, ...json },
  (flags) => run(async () => (await import("./jobs.ts")).list(flags))
).pipe(Command.withDescription("Count jobs by name and state"))

const jobsFailed = Command.make("failed", {
  ...project,
  ...json,
  name: textFlag("name", "Only jobs of this name", "job"),
  limit: numberFlag("limit", "How many, newest first (default 50)")
}, (flags) => run(async () => (await import("./jobs.ts")).failed(flags))).pipe(
  Command.withDescription("List failed jobs with their errors; payloads with --json")
)

const jobsRetry = Command.make(
  "retry",
  { ...project, ...json, ...jobId },
  (flags) => run(async () => (await import("./jobs.ts")).retry(flags))
).pipe(Command.withDescription("Give a failed job one more try"))

const jobsDelete = Command.make(
  "delete",
  { ...project, ...json, ...jobId },
  (flags) => run(async () => (await import("./jobs.ts")).remove(flags))
).pipe(Command.withDescription("Delete a failed job for good; the rest of its group goes on"))

const jobsFree = Command.make(
  "free",
  { ...project, ...json },
  (flags) => run(async () => (await import("./jobs.ts")).free(flags))
).pipe(Command.withDescription("Free jobs of dead workers now; workers look for them every 15 seconds"))

const jobsPending = Command.make("pending", {
  ...project,
  ...json,
  name: textFlag("name", "Only jobs of this name", "job"),
  limit: numberFlag("limit", "How many, soonest first (default 50)")
}, (flags) => run(async () => (await import("./jobs.ts")).pending(flags))).pipe(
  Command.withDescription("List jobs that wait, or wait for their next try, with their last errors")
)

const jobsRunning = Command.make("running", {
  ...project,
  ...json,
  name: textFlag("name", "Only jobs of this name", "job"),
  limit: numberFlag("limit", "How many, the longest running first (default 50)")
}, (flags) => run(async () => (await import("./jobs.ts")).running(flags))).pipe(
  Command.withDescription("List jobs that run: since when, in which process, and how far they are")
)

const pendingId = { id: Argument.String("id").pipe(Argument.withDescription("The waiting job's id")) }

const jobsRunNow = Command.make(
  "run-now",
  { ...project, ...json, ...pendingId },
  (flags) => run(async () => (await import("./jobs.ts")).runNow(flags))
).pipe(Command.withDescription("Make a waiting job due now"))

const jobsCancel = Command.make(
  "cancel",
  { ...project, ...json, ...pendingId },
  (flags) => run(async () => (await import("./jobs.ts")).cancel(flags))
).pipe(Command.withDescription("Cancel a waiting job; the rest of its group goes on"))

const jobsName = { name: Argument.String("name").pipe(Argument.withDescription("The job's name")) }

const jobsPause = Command.make(
  "pause",
  { ...project, ...json, ...jobsName },
  (flags) => run(async () => (await import("./jobs.ts")).pause(flags))
).pipe(Command.withDescription("Begin no more jobs of a name, in any process; running ones go on"))

const jobsResume = Command.make(
  "resume",
  { ...project, ...json, ...jobsName },
  (flags) => run(async () => (await import("./jobs.ts")).resume(flags))
).pipe(Command.withDescription("Let the jobs of a paused name go on"))

const jobsRun = Command.make("run", {
  ...project,
  ...json,
  ...jobsName,
  payload: textFlag("payload", "Its payload (default: none)", "json"),
  group: textFlag("group", "The group of an ordered job", "text")
}, (flags) => run(async () => (await import("./jobs.ts")).run(flags))).pipe(
  Command.withDescription("Enqueue a job, for the workers to run")
)

const jobs = Command.make("jobs").pipe(
  Command.withDescription("Background jobs"),
  Command.withSubcommands([
    jobsList,
    jobsFailed,
    jobsRetry,
    jobsDelete,
    jobsFree,
    jobsPause,
    jobsResume,
    jobsRun,
    jobsRunning,
    jobsPending,
    jobsRunNow,
    jobsCancel
  ])
)

const filesCleanup = Command.make(
  "cleanup",
  { ...project, ...json },
  (flags) => run(async () => (await import("./files.ts")).cleanup(flags))
).pipe(Command.withDescription("Delete files whose time has come and that no row holds"))

const filesCheck = Command.make(
  "check",
  { ...project, ...json },
  (flags) => run(async () => (await import("./files.ts")).check(flags))
).pipe(Command.withDescription("Find rows whose file is missing, and files that no row holds"))

const filesCopy = Command.make("copy", {
  ...project,
  ...json,
  provider: Argument.String("provider").pipe(Argument.withDescription("The provider to copy")),
  target: Argument.String("target").pipe(Argument.withDescription("file://<folder> or s3://<bucket>/<prefix>?…"))
}, (flags) => run(async () => (await import("./files.ts")).copy(flags))).pipe(
  Command.withDescription("Copy a provider's files to another place, checked by size and hash; may be run again")
)

const filesDerive = Command.make("derive", {
  ...project,
  ...json,
  field: Argument.String("resource.field").pipe(
    Argument.withDescription(
      "The file field, such as products.image; without it all that make something of their files"
    ),
    Argument.optional,
    Argument.map(Option.getOrUndefined)
  ),
  check: yesFlag("check", "Make nothing; count what is lacking, with exit code 1 where something is"),
  background: yesFlag("background", "Leave it to the workers, as jobs of the queue that the project's jobs use")
}, (flags) => run(async () => (await import("./derive.ts")).derive(flags))).pipe(
  Command.withDescription(
    "Make the variants, placeholders and derived values that files lack since their field declares them; may be run again"
  )
)

const files = Command.make("files").pipe(
  Command.withDescription("Files that records hold"),
  Command.withSubcommands([filesCleanup, filesCheck, filesCopy, filesDerive])
)

const token = Command.make("token", {
  ...project,
  ...tenant,
  ...email,
  ...json,
  ttlSeconds: numberFlag("ttl", "Lifetime in seconds (default 900, at most 86400)")
}, (flags) => run(async () => (await import("./users.ts")).token(flags))).pipe(
  Command.withDescription("Print an access token of an account")
)

const secretsList = Command.make(
  "list",
  { ...project, ...json },
  (flags) => run(async () => (await import("./secrets.ts")).list(flags))
).pipe(Command.withDescription("Count what the databases keep sealed with which secret"))

const secretsRotate = Command.make(
  "rotate",
  { ...project, ...json },
  (flags) => run(async () => (await import("./secrets.ts")).rotate(flags))
).pipe(Command.withDescription("Seal with AUTH_SECRET what those of AUTH_SECRET_ACCEPTED have sealed; safe to repeat"))

const secrets = Command.make("secrets").pipe(
  Command.withDescription("What is sealed with AUTH_SECRET, while another one takes its place"),
  Command.withSubcommands([secretsList, secretsRotate])
)

/** The whole command. */
export const service = Command.make("service").pipe(
  Command.withDescription("A complete, safe admin API for the tables of a PostgreSQL database"),
  Command.withSubcommands([
    init,
    introspect,
    dev,
    build,
    serve,
    worker,
    migration,
    doctor,
    openapi,
    users,
    keys,
    jobs,
    files,
    secrets,
    token
  ])
)
