/**
 * Every port in memory, as layers: what `Live` is on PostgreSQL and on disks. A service over them opens no connection and no file. Its fakes can be asked,
 * and told to be in trouble.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Bell } from "../../composition/bell.ts"
import { Deployment } from "../../composition/deployment.ts"
import { linkPurpose } from "../../composition/files.ts"
import type { AdminDatabase } from "../../composition/job-queue.ts"
import { JobRunner } from "../../composition/layers/queue.ts"
import { filesSecretOf } from "../../composition/layers/storage.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import type { StoredRow } from "../../core/domain/event/change.ts"
import { tableName } from "../../core/domain/model/table.ts"
import type { Row } from "../../core/domain/value/kind.ts"
import { Audit } from "../../core/ports/audit.ts"
import { Changes } from "../../core/ports/changes.ts"
import { Detector } from "../../core/ports/detector.ts"
import { Images } from "../../core/ports/images.ts"
import { Mail } from "../../core/ports/mail.ts"
import { Outbound } from "../../core/ports/outbound.ts"
import { Queue, type QueueService } from "../../core/ports/queue.ts"
import { Rates } from "../../core/ports/rates.ts"
import { Records } from "../../core/ports/records.ts"
import { SavedViews } from "../../core/ports/saved-views.ts"
import { Seal } from "../../core/ports/seal.ts"
import { Signer } from "../../core/ports/signer.ts"
import { Storage } from "../../core/ports/storage.ts"
import { Submissions } from "../../core/ports/submissions.ts"
import { Tasks } from "../../core/ports/tasks.ts"
import { Tokens } from "../../core/ports/tokens.ts"
import { Webhooks } from "../../core/ports/webhooks.ts"
import { makeFakeAudit } from "./audit.ts"
import { type FakeChanges, makeFakeChanges } from "./changes.ts"
import { makeFakeDetector } from "./detector.ts"
import { makeFakeImages } from "./images.ts"
import { makeFakeMail } from "./mail.ts"
import { makeFakeOutbound } from "./outbound.ts"
import { FakeQueue } from "./queue.ts"
import { makeFakeRates } from "./rates.ts"
import { tableName as fakeTable } from "./reader.ts"
import { type FakeHandle, type FakeWrite, makeFakeRecords } from "./records.ts"
import { makeFakeSavedViews } from "./saved-views.ts"
import { makeFakeVault } from "./seal.ts"
import { makeFakeStorage } from "./storage.ts"
import { makeFakeSubmissions } from "./submissions.ts"
import { makeFakeTasks } from "./tasks.ts"
import { makeFakeTokens } from "./tokens.ts"
import { makeFakeWebhooks } from "./webhooks.ts"

/** Captures what the records commit, as triggers do: a row of each table that has events. */
const capture = (
  { models }: Compiled,
  changes: FakeChanges,
  changed: () => void
): (writes: readonly FakeWrite[]) => void => {
  const watched = new Map(
    [...models.values()].filter(({ events }) => events.length > 0).map((model) => [fakeTable(model), model])
  )
  return (writes) => {
    const { commit, write } = changes.begin()
    for (const { after, before, table } of writes) {
      const model = watched.get(table)
      if (model === undefined) continue
      const stored = (row: Row | null): StoredRow | null =>
        row === null ? null : Object.fromEntries(model.columns.map(({ column, index }) => [column, row[index] ?? null]))
      const operation = before === null ? "insert" : after === null ? "delete" : "update"
      write({ relation: tableName(model), operation, before: stored(before), after: stored(after) })
    }
    commit()
    changed()
  }
}

/** The database that jobs get: it enqueues, and knows no SQL. */
const databaseOf = (queue: FakeQueue): AdminDatabase => {
  const query = (): Promise<never> => Promise.reject(new Error("There is no SQL in memory."))
  return { ...queue.db, query, transaction: (work) => work({ ...queue.db, query }) }
}

/** What is enqueued in a transaction of the records fake is there when that commits. */
const queueOf = ({ service }: FakeQueue): QueueService => ({
  ...service,
  enqueue: (plans, within) => {
    const handle = within as Partial<FakeHandle> | undefined
    if (handle?.onCommit === undefined) return service.enqueue(plans, within)
    handle.onCommit(() => void Effect.runPromise(service.enqueue(plans)))
    return Effect.succeed(plans.map(() => ""))
  }
})

const makeFakes = Effect.gen(function*() {
  const { compiled } = yield* Deployment
  const { changed } = yield* Bell
  const queue = new FakeQueue()
  const db = databaseOf(queue)
  const changes = makeFakeChanges(() => ({ handle: db, end: () => {} }))
  return {
    changes,
    db,
    queue,
    records: makeFakeRecords({ committed: capture(compiled, changes, changed) }),
    mail: makeFakeMail(),
    outbound: makeFakeOutbound(),
    storages: new Map([...compiled.files.providers.keys()].map((name) => [name, makeFakeStorage()])),
    tasks: makeFakeTasks(),
    tokens: makeFakeTokens(),
    vault: makeFakeVault(),
    webhooks: makeFakeWebhooks()
  }
})

/** The fakes behind the ports. */
export class Fakes extends Context.Service<Fakes, Effect.Success<typeof makeFakes>>()("test/Fakes") {}

const ports = Layer.effectContext(Effect.gen(function*() {
  const told = yield* Deployment
  const { changes, db, mail, outbound, queue, records, storages, tasks, tokens, vault, webhooks } = yield* Fakes
  return Context.make(Records, records.service).pipe(
    Context.add(Changes, changes),
    Context.add(Queue, queueOf(queue)),
    Context.add(JobRunner, { db, start: (jobs, attempt) => Promise.resolve(queue.start(jobs, attempt)) }),
    Context.add(Rates, makeFakeRates()),
    Context.add(Outbound, outbound.service),
    Context.add(Mail, mail),
    Context.add(Tokens, tokens.service),
    Context.add(Seal, vault.seal(told.secret)),
    Context.add(Signer, vault.signer(filesSecretOf(told), linkPurpose)),
    Context.add(Storage, new Map([...storages].map(([name, { service }]) => [name, service]))),
    Context.add(Detector, makeFakeDetector()),
    Context.add(Images, makeFakeImages()),
    Context.add(Tasks, tasks.service),
    Context.add(Audit, makeFakeAudit()),
    Context.add(SavedViews, makeFakeSavedViews()),
    Context.add(Submissions, makeFakeSubmissions()),
    Context.add(Webhooks, webhooks)
  )
}))

/** Every port on its fake, and the fakes. */
export const Memory = Layer.provideMerge(ports, Layer.effect(Fakes, makeFakes))
