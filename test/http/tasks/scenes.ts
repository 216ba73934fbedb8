/** What the scenarios of tasks share: a service with notes on each backend, whose job a test runs when it wants to. */

import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect } from "vitest"
import { makeTaskStore, taskSchema } from "../../../adapters/postgres/tasks.ts"
import { makeFoundation } from "../../../composition/foundation.ts"
import { defineConfig, defineResource, defineRoles, f, where } from "../../../composition/index.ts"
import { taskingOn } from "../../../composition/tasks.ts"
import type { TaskParts } from "../../../core/app/task/parts.ts"
import { runTask } from "../../../core/app/task/run.ts"
import type { Tasking } from "../../../core/app/task/tasking.ts"
import type { WriteHook } from "../../../core/domain/declare/config.ts"
import type { RolesNow } from "../../../core/ports/subscriptions.ts"
import { makeFakeTasks } from "../../fakes/tasks.ts"
import { type Answer, type Fixture, startService, testSecret } from "../../support/composed.ts"
import type { TestCaller, TestService } from "../../support/composed.ts"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  owner: "owner",
  softDelete: "deleted_at",
  version: "version",
  fields: {
    id: f.integer().bits(64).filterable().sortable(),
    title: f.text().max(20).filterable().sortable(),
    email: f.text().filterable().optional(),
    amount: f.decimal({ precision: 12, scale: 2 }).optional(),
    done: f.boolean().default(false),
    status: f.enum(["open", "closed"]).filterable().default("open"),
    secret: f.text().filterable().optional(),
    owner: f.text().filterable().default("ann"),
    version: f.integer().readOnly()
  },
  access: {
    read: ({ caller }) =>
      caller.roles.includes("boss") || (caller.roles.some((role) => role !== "none") && where`owner = caller.id`),
    // Only a clerk's answer depends on the record.
    update: (context) =>
      context.caller.roles.includes("boss") ||
      (context.caller.roles.includes("clerk") && context.record["status"] === "open"),
    fields: { secret: { read: ["boss"], write: ["boss"] } }
  },
  validate: [(record) => record["title"] === "bad" ? [{ field: "title", message: "Not this title." }] : []]
})

/** Records with a key of two fields, which are deleted for good. */
const parts = defineResource("parts", {
  table: "parts",
  primaryKey: ["note_id", "number"],
  fields: {
    note_id: f.integer().bits(64),
    number: f.integer(),
    label: f.text().filterable()
  }
})

/** Records that only show what notes are marked by. */
const marks = defineResource("marks", {
  table: "marks",
  primaryKey: "id",
  fields: { id: f.integer(), note_id: f.relation("notes"), colour: f.text().filterable() },
  access: { read: ["boss"], create: false, update: false, delete: false }
})

export const boss: TestCaller = { id: "bob", roles: ["boss"] }
export const clerk: TestCaller = { id: "ann", roles: ["clerk"] }
export const viewer: TestCaller = { id: "vic", roles: ["viewer"] }

/** What a test may do while a task runs: told of each write, and before each batch is claimed, when its records have been read. */
export const hooks: { write: WriteHook | null; claim: (() => Promise<void>) | null } = { write: null, claim: null }

const configOf = (hooked: boolean) =>
  defineConfig({
    resources: [notes, parts, marks],
    roles: defineRoles({
      viewer: ["notes.read"],
      clerk: ["notes.read", "notes.create", "notes.update", "notes.delete", "parts.read"],
      boss: ["*"]
    }),
    options: {
      scanGuard: { mode: "off" },
      ...(hooked ? { writeHooks: [(change) => hooks.write?.(change as never)] } : {})
    }
  })

export const fixture = (count: number, hooked = false): Fixture => ({
  config: configOf(hooked),
  schema: `create table notes (id bigint primary key, title text not null, email text unique, amount numeric(12,2),
    done boolean not null default false, status text not null default 'open', secret text, owner text not null default 'ann',
    version integer not null default 1, deleted_at timestamptz);
    create table marks (id integer primary key, note_id bigint not null, colour text not null);
    create table parts (note_id bigint, number integer, label text not null, primary key (note_id, number)); ${
    taskSchema().join(";")
  }`,
  rows: {
    marks: [["1", "red"], ["2", "red"], ["4", "blue"]].map(([note_id = "", colour = ""], id) => ({
      id,
      note_id,
      colour
    })),
    notes: Array.from({ length: count }, (_, i) => ({
      id: String(i + 1),
      title: `note ${i + 1}`,
      email: `n${i + 1}@example.org`,
      done: false,
      status: i % 10 === 9 ? "closed" : "open",
      owner: i % 2 === 0 ? "ann" : "bob",
      secret: "s",
      version: 1
    }))
  }
})

/** The id of the task that an answer is. */
export const idOf = ({ json }: Answer): string => (json as unknown as { readonly id: string }).id

export interface TaskScene {
  readonly service: TestService
  /** The roles that people have now. */
  readonly roles: Map<string, RolesNow>
  /** Runs the jobs that wait, until there are none. */
  readonly work: () => Promise<void>
  /** Ids of tasks whose jobs wait. */
  readonly waiting: string[]
  readonly tasking: Tasking
  readonly unexpected: unknown[]
  /** Uploads text as a file. */
  readonly upload: (
    caller: TestCaller,
    text: string | Uint8Array | ReadableStream<Uint8Array>,
    query?: string,
    resource?: string
  ) => Promise<Answer>
  /** A task as its owner sees it. */
  readonly task: (caller: TestCaller, id: string) => Promise<Answer>
  readonly post: (
    caller: TestCaller,
    path: string,
    body?: unknown,
    headers?: { readonly [name: string]: string }
  ) => Promise<Answer>
  /** Titles by id of the notes as they are. */
  readonly titles: (filter?: string) => Promise<ReadonlyMap<string, string>>
}

/** A service with tasks on one backend. */
export const startTasks = async (backend: TestService["backend"], made: Fixture): Promise<TaskScene> => {
  const waiting: string[] = []
  const roles = new Map<string, RolesNow>([["bob", ["boss"]], ["ann", ["clerk"]], ["vic", ["viewer"]]])
  const unexpected: unknown[] = []
  let tasking: Tasking
  let ids = 0
  const service = await startService(backend, made, {
    parts: ({ compiled, postgres, records }) => {
      const store = postgres === null ? makeFakeTasks().service : makeTaskStore(postgres)
      const tasks: TaskParts = {
        tasks: {
          ...store,
          claim: (id, within) => Effect.andThen(Effect.promise(async () => hooks.claim?.()), store.claim(id, within))
        },
        enqueue: (id) => Effect.sync(() => void waiting.push(id)),
        wake: () => {},
        rolesOf: (id) => Effect.sync(() => roles.get(id) ?? null),
        newId: () => `task${++ids}`,
        maxImportBytes: 5_000_000,
        unexpected: (error) => void unexpected.push(error)
      }
      tasking = taskingOn(makeFoundation({ compiled, records, secret: testSecret }), compiled, tasks)
      return { tasks }
    }
  })
  const post: TaskScene["post"] = (caller, path, body, headers = {}) =>
    service.call(caller, "POST", path, { headers, ...(body === undefined ? {} : { body }) })
  return {
    service,
    roles,
    waiting,
    tasking: tasking!,
    unexpected,
    post,
    work: async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        await Effect.runPromise(runTask(tasking, id))
      }
    },
    upload: (caller, text, query = "", resource = "notes") =>
      service.call(caller, "POST", `/api/v1/${resource}:import${query}`, {
        raw: text as never,
        headers: { "content-type": query.includes("format=ndjson") ? "application/x-ndjson" : "text/csv" }
      }),
    task: (caller, id) => service.get(caller, `/api/tasks/${id}`),
    titles: async (filter = "") => {
      const found = new Map<string, string>()
      const answer = await service.get(
        boss,
        `/api/v1/notes:export?format=ndjson&fields=id,title&filter=${encodeURIComponent(filter)}`
      )
      for (const line of answer.text.split("\n")) {
        if (line === "") continue
        const { id, title } = JSON.parse(line) as { readonly id: string; readonly title: string }
        found.set(id, title)
      }
      return found
    }
  }
}

/** Runs the suite on both backends. */
export const onBothTasks = (name: string, make: () => Fixture, suite: (use: () => TaskScene) => void): void => {
  describe.each(["fake", "postgres"] as const)(`${name}, %s`, (backend) => {
    let scene: TaskScene
    beforeAll(async () => {
      scene = await startTasks(backend, make())
    })
    afterAll(async () => {
      expect(scene.service.unhandled).toEqual([])
      await scene.service.close()
    })
    suite(() => scene)
  })
}
