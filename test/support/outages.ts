/**
 * States of a database in which it does not do everything: down, read-only, a standby, without connections, with a full disk, and backends that end in
 * the middle. Each is caused by the server itself, and is complete once `begin` resolves. The service's role is `app`.
 */

import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Client } from "pg"
import type { TestCluster } from "./cluster.ts"

export interface Outage {
  readonly begin: () => Promise<void>
  readonly end: () => Promise<void>
}

const pause = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds))

/** What SQL the superuser sends has to work in every state. */
const anyway = "set default_transaction_read_only = off; "

/** Ends the connections of the service, and waits until they are gone. */
export const disconnect = async (cluster: TestCluster): Promise<void> => {
  const left = () =>
    cluster.rows(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app' and pid <> pg_backend_pid()"
    )
  while ((await left()).length > 0) await pause(10)
}

/** Sets something of the service's role; its next connections have it. */
const altered = (cluster: TestCluster, set: string, reset: string): Outage => ({
  begin: async () => {
    await cluster.execute(`alter role app ${set}`)
    await disconnect(cluster)
  },
  end: async () => {
    await cluster.execute(`${anyway}alter role app ${reset}`)
    await disconnect(cluster)
  }
})

/** Connections are refused. */
export const down = (cluster: TestCluster): Outage => ({
  begin: () => cluster.stop("fast"),
  end: () => cluster.start()
})

/** New transactions are read-only. */
export const readOnly = (cluster: TestCluster): Outage =>
  altered(cluster, "set default_transaction_read_only = on", "reset default_transaction_read_only")

/** The role may have no further connection: the same refusal as of a server that has none left. */
export const noConnections = (cluster: TestCluster): Outage =>
  altered(cluster, "connection limit 0", "connection limit -1")

/** The server follows another one that it does not hear from. */
export const standby = (cluster: TestCluster): Outage => {
  const signal = join(cluster.data, "standby.signal")
  const restart = async (): Promise<void> => {
    await cluster.stop("fast")
    await cluster.start()
  }
  return {
    begin: async () => {
      await cluster.stop("fast")
      writeFileSync(signal, "", { mode: 0o644 })
      await cluster.start()
    },
    end: async () => {
      rmSync(signal)
      await restart()
    }
  }
}

/** Everything that is written to any table is refused, as it is when it needs room that there is not. */
export const diskFull = (cluster: TestCluster): Outage => {
  const everyTable = (statement: string) =>
    `do $$ declare t regclass; begin
       for t in select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind = 'r' and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema' loop
         execute format('${statement}', t);
       end loop; end $$`
  return {
    begin: () =>
      cluster.execute(
        `create function disk_full() returns trigger language plpgsql as $$ begin
           raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
         ${
          everyTable(
            "create trigger zz_disk_full after insert or update or delete on %s for each row execute function disk_full()"
          )
        }`
      ),
    end: () => cluster.execute("drop function disk_full() cascade")
  }
}

/** Tables are held, so that every statement that touches one of them waits. */
export const held = (cluster: TestCluster, tables: readonly string[]): Outage => {
  const holder = new Client({ connectionString: cluster.url })
  holder.on("error", () => {})
  return {
    begin: async () => {
      await holder.connect()
      await holder.query(`begin; lock table ${tables.join(", ")} in access exclusive mode`)
    },
    end: () => holder.end()
  }
}

/** Ends every backend of the service that waits for a table, again and again until it is told to stop. */
export const endWaiting = (cluster: TestCluster): { readonly stop: () => Promise<number> } => {
  let going = true
  let ended = 0
  const work = (async () => {
    while (going) {
      ended += (await cluster.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app' and wait_event_type = 'Lock'"
      )).length
      await pause(10)
    }
  })()
  return {
    stop: async () => {
      going = false
      await work
      return ended
    }
  }
}
