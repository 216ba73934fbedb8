/**
 * Databases for tests: one embedded server for everything that runs at once, a template for each schema or preparation, a clone for each test file.
 * It fails when the server cannot start, touches only databases it made, and drops the clone when the file is done.
 */

import { createHash, randomBytes } from "node:crypto"
import { chownSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { openEmbedded } from "../../composition/embedded/embedded.ts"
import { memoryFolder } from "./memory.ts"

export interface TestDatabase {
  /** For `makePostgres` and anything else that speaks to PostgreSQL. */
  readonly url: string
  readonly name: string
  /** Runs statements without parameters on a connection of its own, as the superuser. */
  readonly execute: (sql: string) => Promise<void>
  /** One statement's rows, each a list of values as texts. */
  readonly rows: (sql: string) => Promise<ReadonlyArray<ReadonlyArray<string | null>>>
  /** Ends every other connection to this database, and waits until the server has closed them. */
  readonly disconnectAll: () => Promise<void>
  /** Drops the database, whoever is still connected, and lets go of the server. */
  readonly drop: () => Promise<void>
}

const project = realpathSync(fileURLToPath(new URL("../..", import.meta.url)))
const folder = join(tmpdir(), `service-tests-${createHash("sha256").update(project).digest("hex").slice(0, 12)}`)

// The server stays for the next file; a run of many files starts it once.
const lingerMs = 5_000

const urlOf = (url: string, database: string): string => url.replace(/\/[^/?]*\?/, `/${database}?`)

const connect = async (url: string, database: string): Promise<Client> => {
  const parsed = new URL(url.replace(/^(postgres(?:ql)?:\/\/[^/@?]*@)\//, "$1localhost/"))
  const client = new Client({
    host: parsed.searchParams.get("host") ?? parsed.hostname,
    port: Number(parsed.searchParams.get("port") ?? parsed.port),
    user: parsed.username,
    ...(parsed.password === "" ? {} : { password: decodeURIComponent(parsed.password) }),
    database
  })
  // A connection that this file ends on purpose must not end the process.
  client.on("error", () => {})
  await client.connect()
  return client
}

const withClient = async <A>(url: string, database: string, work: (client: Client) => Promise<A>): Promise<A> => {
  const client = await connect(url, database)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** How long a connection waits for the next statement. A server that nobody uses ends, and a test may count connections of its own. */
const waitsMs = 1_000

/** The clock of the machine, whatever a test does to that of its process. */
const { clearTimeout, setTimeout } = globalThis

/** Statements after which a connection is not as new, or not like the next one. */
const lasting =
  /\b(?:begin|temp|temporary|listen|prepare|advisory\w*|session\w*|set_config|alter\s+(?:database|role|system))\b|(?:^|;)\s*set\b/i

/**
 * Connections to a database that wait for the next statement: to open one costs the server more than most statements do. As many are open as are used at
 * a time.
 */
const connectionsTo = (url: string, database: string) => {
  /** Each with what ends its waiting. */
  const waiting = new Map<Client, () => void>()
  const next = async (): Promise<Client> => {
    const [first] = waiting
    if (first === undefined) return connect(url, database)
    first[1]()
    return first[0]
  }
  const wait = (client: Client): void => {
    const stop = (): void => {
      waiting.delete(client)
      clearTimeout(timer)
      client.off("end", stop)
    }
    const timer = setTimeout(() => {
      stop()
      void client.end()
    }, waitsMs)
    client.once("end", stop)
    waiting.set(client, stop)
  }
  /** Ends those that wait. */
  const end = async (): Promise<void> => {
    await Promise.all(Array.from(waiting, ([client, stop]) => {
      stop()
      return client.end()
    }))
  }
  return {
    end,
    /** Runs `sql`, which `work` sends. */
    run: async <A>(sql: string, work: (client: Client) => Promise<A>): Promise<A> => {
      // It may be about to end one of them.
      if (sql.includes("pg_terminate_backend")) await end()
      const client = await next()
      try {
        const result = await work(client)
        if (lasting.test(sql)) await client.end()
        else wait(client)
        return result
      } catch (error) {
        await client.end()
        throw error
      }
    }
  }
}

/** Any number that means "templates" to everybody here. */
const templateLock = 740_118

/** Makes out of an empty database what its clones are to have. */
type Fill = (url: string, name: string) => Promise<void>

const isTemplate = async (client: Client, name: string): Promise<boolean> =>
  (await client.query("select 1 from pg_database where datname = $1 and datistemplate", [name])).rowCount === 1

/** Makes a template of a name; processes that want it at the same time wait for each other. */
const makeTemplate = (url: string, name: string, fill: Fill): Promise<void> =>
  withClient(url, "postgres", async (client) => {
    await client.query("select pg_advisory_lock($1)", [templateLock])
    if (await isTemplate(client, name)) return
    // What a run that broke off left behind has the name but is no template yet.
    await client.query(`drop database if exists ${name}`)
    await client.query(`create database ${name} template template0`)
    await fill(urlOf(url, name), name)
    await client.query(`alter database ${name} with is_template true`)
  })

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16)

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** Another one: whoever has it drops what is abandoned. */
const dropLock = templateLock + 1

/** Drops clones of processes that ended without dropping them, and what was prepared for runs that are over. */
const dropAbandoned = async (client: Client): Promise<void> => {
  const free = await client.query<{ readonly mine: boolean }>("select pg_try_advisory_lock($1) mine", [dropLock])
  // Two who drop the same database are in each other's way. The lock ends with the connection.
  if (free.rows[0]?.mine !== true) return
  const { rows } = await client.query<{ readonly datname: string; readonly datistemplate: boolean }>(
    "select datname, datistemplate from pg_database where datname ~ '^test_(?:clone|prepared)_[0-9]+_'"
  )
  for (const { datistemplate, datname } of rows) {
    if (isAlive(Number(datname.split("_")[2]))) continue
    if (datistemplate) await client.query(`alter database ${datname} with is_template false`)
    await client.query(`drop database if exists ${datname} with (force)`)
  }
}

/**
 * Ends the work that the server of the tests does by itself. An automatic `analyze` changes plans in the middle of a test, and it can lock a table and its
 * row of `pg_class` in the other order than `drop owned` does: one of both ends with a deadlock.
 */
const stopAutovacuum = async (client: Client): Promise<void> => {
  const { rows } = await client.query<{ readonly autovacuum: string }>("show autovacuum")
  if (rows[0]?.autovacuum === "off") return
  await client.query("alter system set autovacuum = off")
  await client.query("select pg_reload_conf()")
}

/** The server of this run. `TEST_POSTGRES_URL` names another one (as its superuser), to test on other versions. */
const openServer = async (): Promise<{ readonly url: string; readonly release: () => Promise<void> }> => {
  const given = process.env["TEST_POSTGRES_URL"]
  return given === undefined
    ? openEmbedded(folder, { durable: false, linger: lingerMs })
    : { url: given.includes("?") ? given : `${given}?`, release: () => Promise.resolve() }
}

/**
 * Where clones are, as the end of a statement: in memory, where this machine has plenty. A database is three hundred files. Templates stay on the disk, so nothing is in memory after a run.
 */
const placeInMemory = async (client: Client): Promise<string> => {
  const memory = process.env["TEST_POSTGRES_URL"] === undefined ? memoryFolder() : null
  if (memory === null) return ""
  const { rows: [row] } = await client.query<{ readonly id: string }>(
    "select system_identifier::text id from pg_control_system()"
  )
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8")
  const name = `test_memory_${digestOf(`${row?.id} ${boot}`)}`
  const known = async (): Promise<boolean> =>
    (await client.query("select 1 from pg_tablespace where spcname = $1", [name])).rowCount === 1
  const place = join(memory, name)
  if (!await known()) {
    await client.query("select pg_advisory_lock($1)", [templateLock])
    try {
      if (!await known()) {
        mkdirSync(place, { recursive: true, mode: 0o700 })
        const { gid, uid } = statSync(join(folder, "data"))
        chownSync(place, uid, gid)
        await client.query(`create tablespace ${name} location '${place}'`)
      }
    } finally {
      await client.query("select pg_advisory_unlock($1)", [templateLock])
    }
  }
  // Somebody may have emptied the folder meanwhile.
  return existsSync(place) ? ` tablespace ${name}` : ""
}

/** Extensions that tests may use. */
const extensions = "create extension if not exists pg_trgm; create extension if not exists citext;"

/** A database of its own with `schema` (SQL) in it. Text orders by code point, as in databases the service makes. */
export const openDatabase = (schema = ""): Promise<TestDatabase> => {
  const whole = `${extensions}\n${schema}`
  return openClone(
    `test_template_${digestOf(whole)}`,
    (url, name) => withClient(url, name, async (inside) => void await inside.query(whole))
  )
}

/** Of this run of the tests, as its configuration says, or of this process: what code has made is not kept for a later run, as that may have other code. */
const run = process.env["TEST_RUN"] ?? `${process.pid}_${Date.now()}`

/**
 * A database like the one that `fill` made out of an empty one. It runs once a run of the tests for each name, and must leave no connection behind.
 */
export const openPrepared = (name: string, fill: (url: string) => Promise<void>): Promise<TestDatabase> =>
  openClone(`test_prepared_${run}_${digestOf(name)}`, async (url, made) => {
    await withClient(url, made, (inside) => inside.query(extensions))
    await fill(url)
  })

/**
 * Waits for connections that have been ended but are not closed yet: one that the server ends first is an error of whoever had it, after its last listener has
 * gone. A connection that stays open is ended by the drop.
 */
const untilAlone = async (client: Client, name: string): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) {
    const { rowCount } = await client.query("select 1 from pg_stat_activity where datname = $1 limit 1", [name])
    if (rowCount === 0) return
    await new Promise((done) => setTimeout(done, 10))
  }
}

/** The connections of this process to the database of a server that belongs to nobody. */
const administrations = new Map<string, ReturnType<typeof connectionsTo>>()

const administrationOf = (url: string): ReturnType<typeof connectionsTo> => {
  const known = administrations.get(url) ?? connectionsTo(url, "postgres")
  administrations.set(url, known)
  return known
}

/** Servers that this process has made ready. */
const ready = new Set<string>()

const makeReady = (url: string): Promise<void> =>
  withClient(url, "postgres", async (client) => {
    await dropAbandoned(client)
    if (process.env["TEST_POSTGRES_URL"] === undefined) await stopAutovacuum(client)
    ready.add(url)
  })

const openClone = async (template: string, fill: Fill): Promise<TestDatabase> => {
  const server = await openServer()
  const { url } = server
  if (!ready.has(url)) await makeReady(url)
  const administration = administrationOf(url)
  const administrate = <A>(work: (client: Client) => Promise<A>): Promise<A> => administration.run("", work)
  const name = `test_clone_${process.pid}_${randomBytes(5).toString("hex")}`
  if (!await administrate((client) => isTemplate(client, template))) await makeTemplate(url, template, fill)
  // Copied as files: an eighth of the CPU time of a copy through the log, which is how the server copies unless asked.
  await administrate(async (client) => {
    const place = await placeInMemory(client)
    await client.query(`create database ${name} template ${template} strategy file_copy${place}`)
  })
  const connections = connectionsTo(url, name)
  return {
    name,
    url: urlOf(url, name),
    execute: (sql) => connections.run(sql, async (client) => void await client.query(sql)),
    rows: (sql) =>
      connections.run(sql, async (client) => {
        const result = await client.query<Array<string | null>>({
          text: sql,
          rowMode: "array",
          types: { getTypeParser: () => String }
        })
        return result.rows
      }),
    disconnectAll: async () => {
      await connections.end()
      await administrate((client) =>
        client.query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1", [name])
      )
    },
    drop: async () => {
      await connections.end()
      await administrate(async (client) => {
        await untilAlone(client, name)
        await client.query(`drop database if exists ${name} with (force)`)
      })
      await server.release()
    }
  }
}
