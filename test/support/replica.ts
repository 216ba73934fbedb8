/** A server that follows another one by streaming replication, both of one test's own. How far it shows what it gets is in the hands of the test. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { copyData, openCluster, type TestCluster } from "./cluster.ts"
import { waitUntil } from "./until.ts"

export interface TestReplica {
  readonly primary: TestCluster
  readonly replica: TestCluster
  /** Shows nothing more until `resume`. */
  readonly pause: () => Promise<void>
  readonly resume: () => Promise<void>
  /** Waits until the replica shows all that the primary has. */
  readonly caughtUp: () => Promise<void>
}

/** A primary with a schema, and its replica: a copy of its folder that was made while it was down. */
export const openReplica = async (
  schema: string
): Promise<TestReplica & AsyncDisposable> => {
  const primary = await openCluster({ settings: { wal_keep_size: "256MB", autovacuum: "off" } })
  try {
    await primary.execute(schema)
    await primary.stop("fast")
    const replica = await openCluster({
      settings: {
        primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres`,
        wal_receiver_status_interval: "1s",
        wal_retrieve_retry_interval: "100ms"
      },
      fill: (data) => {
        if (!copyData(primary.data, data)) throw new Error("the data folder cannot be copied")
        writeFileSync(join(data, "standby.signal"), "")
      }
    })
    await primary.start()
    const paused = async (state: string): Promise<boolean> =>
      (await replica.rows("select pg_get_wal_replay_pause_state()"))[0]?.[0] === state
    return {
      primary,
      replica,
      pause: async () => {
        await replica.execute("select pg_wal_replay_pause()")
        await waitUntil(() => paused("paused"), "a pause of the replica")
      },
      resume: async () => {
        await replica.execute("select pg_wal_replay_resume()")
        await waitUntil(() => paused("not paused"), "the end of the replica's pause")
      },
      caughtUp: async () => {
        const [row] = await primary.rows("select pg_current_wal_insert_lsn()::text")
        await waitUntil(
          async () =>
            (await replica.rows(`select (pg_last_wal_replay_lsn() >= '${row?.[0]}')::text`))[0]?.[0] === "true",
          "all changes on the replica"
        )
      },
      [Symbol.asyncDispose]: async () => {
        await replica[Symbol.asyncDispose]()
        await primary[Symbol.asyncDispose]()
      }
    }
  } catch (error) {
    await primary[Symbol.asyncDispose]()
    throw error
  }
}
