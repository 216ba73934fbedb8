/**
 * What `npm start` runs: the example shop on an embedded PostgreSQL, or on the database that `DATABASE_URL` names. It prepares tables, data
 * and the first account, starts the server, and says what to try first. A project of your own needs none of this: `service dev` and
 * `service serve` start it.
 */

import { randomInt } from "node:crypto"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import { DatabaseError } from "pg"
import { type Auth, createUser, hasUsers, listUsers, type Server, startServer } from "resource-admin"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { keptSecret, openDatabases, openPool } from "../../composition/database.ts"
import { defaultUrl, portOf, type Settings, settingsOf } from "../../composition/environment.ts"
import {
  applyMigrations,
  authMigrations,
  findMissing,
  followingMigrations,
  jobsMigrations,
  type Migration,
  serviceMigration
} from "../../composition/migrations.ts"
import { endWithParent } from "../../composition/parent.ts"
import { closeOnSignal, explain } from "../../composition/server.ts"
import { warehouse } from "../warehouse/config.ts"
import { prepareWarehouse } from "../warehouse/database.ts"
import config from "./admin.config.ts"
import { handOver, prepareShop } from "./database.ts"
import { drawPictures } from "./pictures.ts"

/** The checkout. */
const project = dirname(dirname(import.meta.dirname))

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const usage = `npm start -- [--scale <orders>] [--demo] [--with-warehouse]

  --scale <orders>  how many orders to generate when there are none yet: 100 to 10,000,000, default 10,000
  --demo            also makes accounts for the roles sales and viewer, and prints their passwords
  --with-warehouse  also runs a second service, examples/warehouse, that the shop draws its stock from; on the next port

  PORT              port of the API, default 5173
  DATABASE_URL      a PostgreSQL database to use instead of the embedded one
  SERVICE_DATA      folder of the embedded database, default data`

/** A word in single quotes, as a shell reads it. */
const quoted = (word: string): string => /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** Letters and digits that are hard to confuse: 20 of them are 116 bits, and no shell or JSON has to quote them. */
const newPassword = (): string => {
  const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
  return Array.from({ length: 20 }, () => letters[randomInt(letters.length)]).join("")
}

const migrate = async (url: string, wanted: readonly Migration[]): Promise<void> => {
  const pool = openPool(url, 1)
  try {
    await applyMigrations(pool, await findMissing(pool, wanted))
  } finally {
    await pool.end()
  }
}

interface Credentials {
  readonly email: string
  readonly role: string
  /** Null: the account was there before, and nobody here knows its password. */
  readonly password: string | null
}

/** Shows who may sign in. */
const sayAccount = ({ email, password, role }: Credentials): void =>
  say(`  ${role.padEnd(8)} ${email.padEnd(20)} ${password ?? "(made earlier)"}`)

/**
 * Makes an account unless its address is taken, and shows it. The first account of a store is an admin whatever the role says. A password
 * is shown before the account exists: whatever ends this process, no account is left that nobody can sign in to.
 */
const ensureAccount = async (
  auth: Auth,
  account: { readonly email: string; readonly name: string; readonly role: string },
  created: (id: string) => Promise<void> = () => Promise.resolve()
): Promise<Credentials> => {
  const { email, role } = account
  const known = (await listUsers(auth)).some((user) => user.email === email)
  const password = known ? null : newPassword()
  sayAccount({ email, role, password })
  if (password !== null) {
    const { id } = await createUser(auth, { ...account, password })
    await created(id)
  }
  return { email, role, password }
}

const warehouseSource = (port: number) => ({
  url: `http://localhost:${port}/api/v1`,
  label: "Warehouse",
  resources: ["stock"]
})

/** The second service, on a database of its own: it trusts the shop's tokens, and lets the shop's pages call it. */
const startWarehouse = async (
  shop: string,
  port: number,
  env: { readonly [name: string]: string | undefined; readonly AUTH_URL: string }
): Promise<Server> => {
  const warehouseConfig = warehouse(env.AUTH_URL)
  const url = await prepareWarehouse(shop)
  await migrate(url, [serviceMigration, ...authMigrations(warehouseConfig)])
  const own = { DATABASE_URL: url, ADMIN_DATABASE_URL: "", AUTH_URL: `http://localhost:${port}`, PORT: String(port) }
  return startServer(warehouseConfig, { folder: project, env: { ...env, ...own, SERVICE_CORS_ORIGINS: "" } })
}

const demoAccounts = async (auth: Auth, url: string): Promise<readonly Credentials[]> => {
  const ada = { email: "sales@shop.example", name: "Ada Brandt", role: "sales" }
  return [
    await ensureAccount(auth, ada, (id) => handOver(url, "seller-1", { ...ada, id })),
    await ensureAccount(auth, { email: "viewer@shop.example", name: "Vera Lind", role: "viewer" })
  ]
}

/** A command of this checkout, to be pasted anywhere: it reads the same settings as this process did. */
const service = (settings: Settings, url: string, command: string): string =>
  [
    ...(url === defaultUrl ? [] : [`AUTH_URL=${quoted(url)}`]),
    ...(settings.data === join(project, "data") ? [] : [`SERVICE_DATA=${quoted(settings.data)}`]),
    // A foreign database needs the secret by name; the embedded one brings its own. Neither URL nor secret is printed.
    ...(settings.databaseUrl === null || settings.secret !== null
      ? []
      : [`AUTH_SECRET="$(cat ${quoted(join(settings.data, "secret"))})"`]),
    `npm --prefix ${quoted(project)} run -s service -- ${command} --config examples/shop/admin.config.ts`
  ].join(" ")

/** Signs in and fetches a token in one run of curl, which keeps the cookie to itself. */
const tokenByPassword = (url: string, email: string, password: string): string =>
  `TOKEN=$(curl -sS -b '' -o /dev/null -H 'content-type: application/json' -d '{"email":"${email}","password":"${password}"}'`
  + ` ${url}/api/auth/sign-in/email --next -sS -b '' ${url}/api/auth/token | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`

/** What a person reads once the server answers. */
const greeting = (settings: Settings, url: string, accounts: readonly Credentials[]): string => {
  const admin = accounts.find(({ role }) => role === "admin")
  const token = admin === undefined || admin.password === null
    ? `TOKEN=$(${service(settings, url, "token admin@shop.example")})`
    : tokenByPassword(url, admin.email, admin.password)
  return [
    "",
    `  Admin app  ${url}`,
    `  API        ${url}/api/v1/orders`,
    `  Reference  ${url}/api/docs`,
    ...(settings.databaseUrl === null && settings.mail === null ? [`  Mails      ${url}/-/mail`] : []),
    "",
    "Paste these into another terminal: a token, a filtered page, and how many orders there are of each status.",
    "",
    `  ${token}`,
    `  curl -sS -G ${url}/api/v1/orders -H "Authorization: Bearer $TOKEN" --data-urlencode 'filter=status = paid AND total > 1000' -d order_by=total+desc -d page_size=3`,
    `  curl -sS "${url}/api/v1/orders:facets?field=status" -H "Authorization: Bearer $TOKEN"`,
    "",
    "One more account, also when a password is lost (roles: admin, sales, viewer):",
    "",
    `  ${service(settings, url, "users create you@example.com --role admin --generate-password")}`,
    "",
    ...(settings.databaseUrl === null ? [] : ["Commands of `service` need DATABASE_URL in their environment too.", ""]),
    `Ctrl-C stops the server${settings.databaseUrl === null ? " and its database" : ""}; the data stays.`,
    ""
  ].join("\n")
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      scale: { type: "string" },
      demo: { type: "boolean" },
      "with-warehouse": { type: "boolean" },
      help: { type: "boolean", short: "h" }
    }
  })
  if (values.help === true) return say(usage)
  const scale = values.scale === undefined ? 10_000 : Number(values.scale.replaceAll(/[_,]/g, ""))
  if (!Number.isInteger(scale) || scale < 100 || scale > 10_000_000) throw new RangeError(`--scale is ${values.scale}.`)

  const { settings } = settingsOf({ folder: project })
  const env = {
    ...process.env,
    AUTH_URL: settings.url ?? `http://localhost:${settings.port ?? 5173}`,
    AUTH_SECRET: settings.secret ?? keptSecret(settings.data)
  }
  const beside = values["with-warehouse"] === true ? portOf(settings, env.AUTH_URL) + 1 : null
  const sources = beside === null
    ? {}
    : { SERVICE_SOURCES: JSON.stringify([...settings.sources, warehouseSource(beside)]) }

  say(settings.databaseUrl === null ? "Opening the embedded database …" : "Opening the database of DATABASE_URL …")
  const databases = await openDatabases(settings, undefined, (line) => process.stderr.write(`${line}\n`))
  let closing = false
  let server: Server | undefined
  let beneath: Server | undefined
  const close = async (): Promise<void> => {
    await server?.close()
    await beneath?.close()
    await databases.release()
  }
  try {
    const compiled = compileOrThrow(config)
    await migrate(databases.url, [serviceMigration, ...jobsMigrations(compiled)])
    await migrate(databases.authUrl, authMigrations(config))
    const shop = await prepareShop(databases.url, scale)
    await migrate(databases.url, followingMigrations(compiled))
    say(`${shop.generated ? "Generated" : "Found"} a furniture shop with ${shop.orders.toLocaleString("en")} orders.`)
    if (!shop.generated && values.scale !== undefined) say("--scale counts only where there are no data yet.")

    // A small shop is for a quick look: one colour will do.
    const drawn = await drawPictures(databases.url, env, scale < 1_000 ? 1 : undefined)
    if (drawn > 0) say(`Drew ${drawn} pictures of products and people.`)
    if (beside !== null) beneath = await startWarehouse(databases.url, beside, env)
    // The port first: a password that is made is then sure to be shown.
    const dev = settings.databaseUrl === null
    // Mails about accounts, too: as in `service dev`, they are kept and shown where there is no mail server.
    server = await startServer(dev ? { ...config, auth: { ...config.auth, mail: true } } : config, {
      folder: project,
      env: { ...env, ...sources },
      dev
    })
    closeOnSignal({
      drain: server.drain,
      close: () => {
        closing = true
        return close()
      }
    })
    const { auth, url } = server
    if (auth === null) throw new Error("The example keeps its own accounts.")
    const empty = !await hasUsers(auth)
    if (empty || values.demo === true) say("\nAccounts, with passwords that are shown this once:\n")
    const first = empty
      ? [await ensureAccount(auth, { email: "admin@shop.example", name: "Admin", role: "admin" })]
      : []
    const demo = values.demo === true ? await demoAccounts(auth, databases.url) : []
    say(greeting(settings, url, [...first, ...demo]))
    if (beneath !== undefined) say(`The shop draws its stock from the warehouse at ${beneath.url}/api/v1/stock.\n`)
  } catch (error) {
    // Ended by a signal in the middle of its accounts: what was under way fails, and that is no news.
    if (closing) return
    await close()
    throw error
  }
}

endWithParent()
try {
  await main()
} catch (error) {
  const wrongUse = error instanceof RangeError ||
    (error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"))
  const text = wrongUse && error instanceof Error
    ? `${error.message}\n\n${usage}`
    : error instanceof DatabaseError
    ? `The database refused: ${error.message}`
    : explain(error).trimEnd()
  const hint = text.includes("EADDRINUSE")
    ? "\n\nOn another port: PORT=5174 npm start. Or is the example running already?"
    : ""
  process.stderr.write(`${text}${hint}\n`)
  process.exitCode = 1
}
