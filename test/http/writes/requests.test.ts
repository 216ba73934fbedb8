/** What surrounds a write: media types, JSON, sizes, query parameters, dry runs, hooks and ETags. */

import { beforeEach, describe, expect, it } from "vitest"
import type { TransactionHandle } from "../../../adapters/postgres/transaction.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import type { Change, WriteHook } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { expectParameter, expectProblem, inTime } from "../../support/answer.ts"
import type { Answered, Fixture } from "../../support/composed.ts"
import { admin, ann, ledger } from "../../support/ledger.ts"
import { base, batch, make, makeAccount, on, onBoth, patch, read, takeUnhandled } from "./scenes.ts"

const accounts = `${base}/accounts`

onBoth("requests", ledger, (use) => {
  const post = (body: unknown, headers: { readonly [name: string]: string } = {}, path = accounts) =>
    use().call(ann, "POST", path, { body, headers })

  it("takes JSON in UTF-8 only", async () => {
    const body = JSON.stringify({ name: "typed" })
    for (const type of ["application/json", "application/merge-patch+json", "application/json; charset=UTF-8"]) {
      expect((await post(body, { "content-type": type })).status, type).toBe(201)
    }
    for (
      const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json; charset=latin1",
        "multipart/form-data"
      ]
    ) {
      expectProblem(await post(body, { "content-type": type }), "unsupported-media-type", accounts)
      expectProblem(
        await post(body, { "content-type": type }, `${base}:batchWrite`),
        "unsupported-media-type",
        `${base}:batchWrite`
      )
    }
    expectProblem(await post(body, { "content-encoding": "gzip" }), "unsupported-media-type", accounts)
    expectProblem(
      await patch(use(), ann, `${accounts}/1`, body, "*", { "content-type": "text/plain" }),
      "unsupported-media-type",
      `${accounts}/1`
    )
  })

  it("names the methods that there are", async () => {
    for (
      const [method, path, allow] of [
        ["PUT", `${accounts}/1`, "GET, HEAD, PATCH, DELETE"],
        ["POST", `${accounts}/1`, "GET, HEAD, PATCH, DELETE"],
        ["PUT", accounts, "GET, HEAD, POST, PATCH, DELETE"],
        ["GET", `${accounts}/1:undelete`, "POST"],
        ["PATCH", `${base}:batchWrite`, "POST"]
      ] as const
    ) {
      const answer = await use().call(ann, method, path, method === "GET" ? {} : { body: {} })
      expectProblem(answer, "method-not-allowed", path)
      expect(answer.headers.get("allow")).toBe(allow)
    }
  })

  it("refuses what is no strict JSON", async () => {
    const texts = [
      "",
      "{",
      "{\"name\":\"a\",\"name\":\"b\"}",
      "{\"name\":\"a\",\"__proto__\":{}}",
      "{\"name\":\"a\",\"meta\":{\"constructor\":1}}",
      "{\"name\":\"a\"} x",
      "{name:1}",
      "{\"name\":NaN}",
      "{\"name\":\"\\ud800\"}",
      "{\"balance\":0.10000000000000000001}",
      "{\"name\":\"a\",\"balance\":1e-400}",
      `{"meta":${"[".repeat(64)}${"]".repeat(64)}}`
    ]
    for (const text of texts) {
      for (const path of [accounts, `${base}:batchWrite`]) {
        const answer = await post(text, { "content-type": "application/json" }, path)
        expect([answer.status, answer.json["type"]], text).toEqual([400, "urn:service:problem:malformed-json"])
      }
    }
    const deep = await post(`{"name":"deep","meta":${"[".repeat(63)}${"]".repeat(63)}}`)
    expect(deep.status).toBe(201)
    expectProblem(await use().call(ann, "POST", accounts), "malformed-json", accounts)
  })

  it("refuses bodies above 2 MiB, and takes those below", async () => {
    const big = (bytes: number) => JSON.stringify({ name: "big", meta: "x".repeat(bytes - 24) })
    const limit = 2 * 1024 * 1024
    expect(Buffer.byteLength(big(limit))).toBe(limit)
    expect((await post(big(limit))).status).toBe(201)
    expectProblem(await post(big(limit + 1)), "payload-too-large", accounts)
    expectProblem(await post(big(limit + 1), {}, `${base}:batchWrite`), "payload-too-large", `${base}:batchWrite`)
  })

  it("reads Prefer as a list, in which a comma between quotes parts nothing", async () => {
    const { path } = await makeAccount(use())
    for (
      const [prefer, status] of [
        ["respond-async, return=minimal", 204],
        ["return=representation, return=minimal", 200],
        ["note=\"a, return=minimal\"", 200],
        ["note=\"a \\\", return=minimal\"", 200],
        ["note=\"a, b\", Return=\"minimal\"; x", 204]
      ] as const
    ) {
      const answer = await patch(use(), ann, path, {}, "*", { prefer })
      expect([prefer, answer.status]).toEqual([prefer, status])
    }
  })

  it("knows no query parameters but dry_run and validate_only", async () => {
    const { path } = await makeAccount(use())
    const targets: ReadonlyArray<readonly [string, string, unknown]> = [
      ["POST", accounts, { name: "x" }],
      ["PATCH", path, { name: "x" }],
      ["DELETE", path, undefined],
      ["POST", `${base}:batchWrite`, { ops: [] }]
    ]
    for (const [method, target, body] of targets) {
      const send = (query: string) =>
        use().call(ann, method, `${target}?${query}`, {
          headers: { "if-match": "*" },
          ...(body === undefined ? {} : { body })
        })
      expectParameter(await send("force=1"), target, "force")
      expectParameter(await send("dry_run=yes"), target, "dry_run")
      expectParameter(await send("dry_run=true&dry_run=true"), target, "dry_run")
    }
    expectParameter(await use().call(ann, "POST", `${accounts}/4:undelete?x=1`), `${accounts}/4:undelete`, "x")
  })

  it("dry runs answer as if and write nothing", async () => {
    const { etag, path, record } = await makeAccount(use())
    const before = (await use().get(admin, `${accounts}?count=exact`)).json["total_size"]
    for (const query of ["dry_run=true", "validate_only=true", "dry_run=false&validate_only=true"]) {
      const created = await post({ name: "dry" }, {}, `${accounts}?${query}`)
      expect([created.status, created.json["name"]]).toEqual([201, "dry"])
      const patched = await use().call(ann, "PATCH", `${path}?${query}`, {
        body: { name: "dry" },
        headers: { "if-match": etag }
      })
      expect([patched.status, patched.json["name"]]).toEqual([200, "dry"])
      expect((await use().call(ann, "DELETE", `${path}?${query}`)).status).toBe(204)
      expect((await use().call(ann, "POST", `${accounts}/4:undelete?${query}`)).status).toBe(200)
      const operations = [{ op: "create", resource: "accounts", data: { name: "dry" } }, {
        op: "delete",
        resource: "accounts",
        key: record["id"]
      }]
      const batched = await batch(use(), ann, operations, {}, `?${query}`)
      expect(batched.json["results"]).toMatchObject([{ record: { name: "dry" } }, { deleted: true }])
      expectProblem(
        await use().call(ann, "PATCH", `${path}?${query}`, { body: {}, headers: { "if-match": "\"old\"" } }),
        "precondition-failed",
        path,
        { etag }
      )
    }
    expect(await read(use(), ann, path)).toEqual(record)
    expect((await use().get(ann, `${accounts}/4`)).status).toBe(404)
    expect((await use().get(admin, `${accounts}?count=exact`)).json["total_size"]).toBe(before)
    // What a dry run saw is no version that anybody could have held.
    const third = await patch(use(), ann, path, { name: "third" }, etag)
    expect((await patch(use(), ann, path, {}, etag)).json["changed"]).toEqual(["name"])
    expect((await post({ name: "wet" }, {}, `${accounts}?dry_run=false`)).status).toBe(201)
    expect(third.status).toBe(200)
  })

  it("the ETag of a dry run is of no version, also where versions are counted", async () => {
    const dryTag = /^"dry-run-[\w-]{22}"$/
    const counter = `${base}/counters/1`
    const { etag } = await read(use(), ann, counter) as unknown as { readonly etag: string }
    const rehearse = (query: string) =>
      use().call(ann, "PATCH", `${counter}?${query}`, { body: { n: "41" }, headers: { "if-match": etag } })
    const dry = await rehearse("dry_run=true")
    const batched = await batch(
      use(),
      ann,
      [
        { op: "update", resource: "counters", key: 1, etag, data: { n: "41" } },
        { op: "update", resource: "counters", key: 1, etag: "*", data: {} },
        { op: "reorder", resource: "counters", field: "n", keys: [2, 1], etags: { 1: "*", 2: "*" } }
      ],
      {},
      "?validate_only=true"
    )
    const [first, second, reordered] = batched.json["results"]! as unknown as readonly Answered[]
    const tags = [
      dry.headers.get("etag"),
      dry.json["etag"],
      first!["etag"],
      first!["record"]!["etag"],
      second!["etag"],
      reordered!["records"]![0]!["etag"],
      reordered!["records"]![1]!["etag"]
    ] as readonly string[]
    for (const tag of tags) expect(tag).toMatch(dryTag)
    expect(tags[1]).toBe(tags[0])
    expect((await rehearse("dry_run=true")).headers.get("etag")).toBe(tags[0])
    // Somebody else writes the very version that was rehearsed.
    const written = await patch(use(), admin, counter, { n: "42" }, etag)
    expect(written.json).toMatchObject({ n: "42", rev: 2 })
    for (const tag of tags) {
      expectProblem(await patch(use(), ann, counter, { n: "43" }, tag), "precondition-failed", counter, {
        etag: written.headers.get("etag")
      })
    }
    expect((await rehearse("dry_run=false")).json["etag"]).toBe(written.headers.get("etag"))
    expect(await read(use(), ann, counter)).toMatchObject({ n: "42", rev: 2 })
  })

  it("one ETag everywhere: create, update, get, list, search, batch; with version column and without", async () => {
    const account = await makeAccount(use())
    const note = await make(use(), ann, "notes", { title: "tagged" })
    for (const { id, path } of [account, note]) {
      const resource = path.split("/")[3]!
      const changed = await patch(
        use(),
        ann,
        path,
        resource === "notes" ? { title: "tagged again" } : { name: "again" }
      )
      const tag = changed.headers.get("etag")!
      const listed = await use().get(ann, `${base}/${resource}?filter=${encodeURIComponent(`id = ${id}`)}&fields=id`)
      const searched = await use().call(ann, "POST", `${base}/${resource}:search`, {
        body: { filter: `id = ${id}`, fields: ["id"] }
      })
      const batched = await batch(use(), ann, [{ op: "update", resource, key: id, etag: tag, data: {} }])
      expect([
        changed.json["etag"],
        (await use().get(ann, path)).headers.get("etag"),
        (await use().get(ann, `${path}?fields=id`)).json["etag"],
        listed.json["items"]![0]!["etag"],
        searched.json["items"]![0]!["etag"],
        batched.json["results"]![0]!["etag"]
      ]).toEqual(Array.from({ length: 6 }, () => tag))
      expect((await use().get(ann, path, { "if-none-match": tag })).status).toBe(304)
    }
  })

  it("a change to a hidden field leaves the ETag of those who cannot read it, without version column", async () => {
    const { etag, path } = await make(use(), ann, "notes", { title: "marked" })
    const adminTag = (await use().get(admin, path)).headers.get("etag")!
    expect(adminTag).not.toBe(etag)
    const marked = await patch(use(), admin, path, { zq_mark: "zq-1" }, adminTag)
    expect(marked.headers.get("etag")).not.toBe(adminTag)
    expect((await use().get(ann, path)).headers.get("etag")).toBe(etag)
    expect((await patch(use(), ann, path, { body: "b" }, etag)).status).toBe(200)
    expect((await patch(use(), admin, path, { body: "c" }, marked.headers.get("etag"))).status).toBe(412)
  })
})

// -------------------------------------------------------------------------------------------------------------------- hooks

const seen: Array<readonly [string, Change]> = []
let hook: WriteHook = () => {}
const noticing = (name: string): WriteHook => (change) => void seen.push([name, change])
const hooked = () =>
  ledger(
    { writeHooks: [noticing("first"), (change) => hook(change), noticing("last")] },
    "create table ledger.audit (entry text not null)"
  )

const reset = (): void => {
  seen.length = 0
  hook = () => {}
}

onBoth("write hooks", hooked, (use) => {
  beforeEach(reset)

  it("see each write once, in order, with the records before and after in wire form", async () => {
    const { id, path } = await makeAccount(use(), { zq: undefined })
    await patch(use(), admin, path, { balance: "2.00", zq_note: "zq-hook" })
    await use().call(ann, "DELETE", path)
    expect(seen.map(([name, { operation }]) => `${name} ${operation}`))
      .toEqual(["first create", "last create", "first update", "last update", "first delete", "last delete"])
    const [create, , update, , remove] = seen.map(([, change]) => change)
    expect(create).toMatchObject({
      resource: "accounts",
      before: null,
      after: { id, owner_id: "ann", balance: "0.00", opened_on: "2026-01-01", zq_note: null },
      caller: { id: "ann", roles: ["clerk"], tenant: "1" }
    })
    expect(Object.keys(create!.after!)).toEqual([...use().compiled.models.get("accounts")!.byName.keys()])
    expect(update).toMatchObject({
      before: { balance: "0.00" },
      after: { balance: "2.00", zq_note: "zq-hook" },
      caller: { id: "root" }
    })
    expect(remove!.after!["deleted_at"]).toMatch(/Z$/)
  })

  it("see what was written, whatever one before them made of it", async () => {
    hook = (change) => {
      Object.assign(change.after!, { name: "never written" })
      Object.assign(change, { operation: "delete", before: {} })
    }
    const { record } = await makeAccount(use())
    expect(record["name"]).toBe("made")
    expect(seen.map(([name, { after, before, operation }]) => [name, operation, before, after?.["name"]]))
      .toEqual([["first", "create", null, "made"], ["last", "create", null, "made"]])
  })

  it("see each record of a batch, and none of a refused write", async () => {
    const { path } = await makeAccount(use())
    seen.length = 0
    await batch(use(), ann, [1, 2, 3].map((n) => ({ op: "create", resource: "notes", data: { title: `h${n}` } })))
    expect(seen.map(([name, { after }]) => [name, after!["title"]]))
      .toEqual([["first", "h1"], ["last", "h1"], ["first", "h2"], ["last", "h2"], ["first", "h3"], ["last", "h3"]])
    seen.length = 0
    await patch(use(), ann, path, { name: "x" }, "\"old\"")
    await patch(use(), ann, path, { owner_id: "bob" })
    await patch(use(), ann, path, {})
    expect(seen).toEqual([])
  })

  it("a hook that throws rolls the write back: 500, reported once, with no word of it in the answer", async () => {
    const { etag, path } = await makeAccount(use())
    for (
      const fail of [() => {
        throw new Error("zq-boom")
      }, () => Promise.reject(new Error("zq-boom"))]
    ) {
      hook = fail
      const answers = [
        await patch(use(), ann, path, { name: "lost" }, etag),
        await use().call(ann, "POST", accounts, { body: { name: "lost" } }),
        await use().call(ann, "DELETE", path)
      ]
      for (const answer of answers) {
        expect([answer.status, answer.json["detail"]]).toEqual([500, "An unexpected error occurred."])
        expect(answer.text).not.toContain("zq")
      }
      const inBatch = await batch(use(), ann, [{ op: "create", resource: "notes", data: { title: "lost" } }])
      expect(inBatch.status).toBe(500)
      expect(takeUnhandled(use()).map(String)).toEqual(Array.from({ length: 4 }, () => "Error: zq-boom"))
    }
    reset()
    expect(await read(use(), ann, path)).toMatchObject({ name: "made", etag })
    const lost = await use().get(admin, `${accounts}?filter=${encodeURIComponent("name = \"lost\"")}&count=exact`)
    expect(lost.json["total_size"]).toBe(0)
    expect(seen).toEqual([])
  })
})

/** Never ends. */
const stuck = (): Promise<void> => new Promise(() => {})
const limited = (statementTimeoutMs: number) => () =>
  ledger({ statementTimeoutMs, writeHooks: [(change) => hook(change), stuck] })

onBoth("a write hook that does not end", limited(300), (use) => {
  beforeEach(reset)

  it("is given up after the statement timeout: rolled back, 500, reported by its name, the row is free", async () => {
    const counter = `${base}/counters/1`
    const before = await inTime(() => use().get(ann, counter))
    expect(before.status).toBe(200)
    const answers = await Promise.all([
      inTime(() => patch(use(), ann, counter, { n: "9" })),
      inTime(() => use().call(ann, "POST", `${base}/counters`, { body: { id: 900 } })),
      inTime(() => batch(use(), ann, [{ op: "delete", resource: "counters", key: 2 }]))
    ])
    for (const answer of answers) {
      expect([answer.status, answer.json["detail"]]).toEqual([500, "An unexpected error occurred."])
    }
    const ended = "Error: options.writeHooks[1] (stuck) has not ended after 300 ms, the time that a statement has."
    expect(takeUnhandled(use()).map(String)).toEqual([ended, ended, ended])
    expect((await inTime(() => use().get(ann, counter))).json).toEqual(before.json)
    expect((await inTime(() => use().get(ann, `${base}/counters/900`))).status).toBe(404)
    // Neither the row nor a connection is held: more writes than there are connections come to the same end.
    const more = () => inTime(() => patch(use(), ann, `${base}/counters/2`, { n: "9" }))
    await Promise.all(Array.from({ length: 6 }, more))
    expect(takeUnhandled(use()).length).toBeGreaterThan(0)
    hook = () => Promise.reject(new Error("before the stuck one"))
    expect((await inTime(() => patch(use(), ann, counter, { n: "9" }))).status).toBe(500)
    expect(takeUnhandled(use()).map(String)).toEqual(["Error: before the stuck one"])
  })
})

// Time enough for what the hook does before it is stuck, also where the machine stands still for a moment.
on("postgres", "the handle of a write hook that does not end", limited(2_000), (use) => {
  beforeEach(reset)
  const fresh = async () =>
    (await use().database!.rows("select n::text from ledger.counters where id in (1, 2) order by id")).flat()

  it("is of no use afterwards; a statement under way goes with the transaction", async () => {
    const handles: TransactionHandle[] = []
    let asked: Promise<unknown> = Promise.resolve()
    hook = (change) => {
      const handle = change.transaction
      handles.push(handle)
      asked = handle.query("update ledger.counters set n = 99 where id = 2")
        .then(() => new Promise((later) => setTimeout(later, 150)))
        .then(() => handle.query("select pg_sleep(600)"))
      return asked as Promise<void>
    }
    const answer = await patch(use(), ann, `${base}/counters/1`, { n: "9" })
    expect(answer.status).toBe(500)
    expect(takeUnhandled(use()).map(String)).toEqual([expect.stringContaining("options.writeHooks[0]")])
    await expect(handles[0]!.query("update ledger.counters set n = 99 where id = 2")).rejects.toThrow("has ended")
    await expect(asked).rejects.toThrow()
    expect(await fresh()).toEqual(["0", "0"])
  })
})

on("postgres", "the hooks' transaction handle", hooked, (use) => {
  beforeEach(reset)
  const handleOf = (change: Change) => change.transaction
  const audited = async () => (await use().database!.rows("select entry from ledger.audit order by entry")).flat()

  it("runs statements in the same transaction: kept and lost with the write", async () => {
    hook = async (change) => {
      const [{ name }] = await handleOf(change).query("select name from ledger.accounts where id = $1", [
        change.after!["id"]
      ]) as [{ name: string }]
      await handleOf(change).query("insert into ledger.audit values ($1)", [`${change.operation} ${name}`])
    }
    const { path } = await makeAccount(use(), { name: "handled" })
    expect(await audited()).toEqual(["create handled"])
    await patch(use(), ann, path, { owner_id: "bob" })
    await use().call(ann, "PATCH", `${path}?dry_run=true`, { body: { name: "dry" }, headers: { "if-match": "*" } })
    const failing = await batch(use(), ann, [
      { op: "update", resource: "accounts", key: path.split("/").at(-1), etag: "*", data: { name: "batched" } },
      { op: "delete", resource: "accounts", key: "123456" }
    ])
    expect(failing.status).toBe(404)
    expect(await audited()).toEqual(["create handled"])
  })

  it("is of no use once the transaction has ended", async () => {
    let late: TransactionHandle | undefined
    hook = (change) => {
      late = handleOf(change)
    }
    await makeAccount(use())
    await expect(late!.query("select 1")).rejects.toThrow("has ended")
  })

  it("a failed statement that the hook swallows still loses the write", async () => {
    hook = async (change) => {
      await handleOf(change).query("select 1 / 0").catch(() => {})
    }
    expect((await use().call(ann, "POST", accounts, { body: { name: "swallowed" } })).status).toBe(500)
    expect(takeUnhandled(use())).toHaveLength(1)
    reset()
    expect(
      (await use().get(ann, `${accounts}?filter=${encodeURIComponent("name = \"swallowed\"")}&count=exact`))
        .json["total_size"]
    ).toBe(0)
  })

  it("neither ends the transaction nor changes the session: what would is refused, and the write stays whole", async () => {
    const refused: unknown[] = []
    const attempts = [
      "rollback",
      "  -- done\n/* so */ COMMIT and chain",
      "end",
      "abort",
      "begin",
      "start transaction",
      "prepare transaction 'x'",
      "set timezone = 'Asia/Tokyo'",
      "set session statement_timeout = 1",
      "/**/ Set Role postgres",
      "set local timezone = 'Asia/Tokyo'",
      "set local intervalstyle = 'postgres'",
      "set local time zone 'Asia/Tokyo'",
      "SET LOCAL DateStyle = german"
    ]
    hook = async (change) => {
      for (const sql of attempts) await handleOf(change).query(sql).catch((error: unknown) => refused.push(error))
      await handleOf(change).query("set local application_name = 'hook'")
      await handleOf(change).query("savepoint mine")
      await handleOf(change).query("insert into ledger.audit values ('undone')")
      await handleOf(change).query("rollback to savepoint mine")
      await handleOf(change).query("rollback work to mine")
      await handleOf(change).query("set constraints all immediate")
    }
    const { path } = await makeAccount(use(), { name: "whole" })
    expect(refused.map(String)).toEqual(attempts.map(() => expect.stringContaining("hook")))
    reset()
    expect(await read(use(), ann, path)).toMatchObject({ name: "whole" })
    expect(await audited()).not.toContain("undone")
    const next = await makeAccount(use(), { name: "next" })
    expect(await read(use(), ann, next.path)).toMatchObject({ etag: next.etag })
  })

  it("what a hook wrote is no version that a 412 names", async () => {
    const counter = `${base}/counters/2`
    const { etag } = await read(use(), ann, counter) as unknown as { readonly etag: string }
    hook = async (change) => {
      await handleOf(change).query("update ledger.counters set rev = rev + 1 where id = 2")
    }
    const answer = await batch(use(), ann, [
      { op: "create", resource: "notes", data: { title: "counted" } },
      { op: "update", resource: "counters", key: 2, etag: "\"old\"", data: { n: "1" } }
    ])
    expect([answer.status, answer.json["etag"]]).toEqual([412, etag])
  })

  it("a conflict inside a hook is tried again like any other", async () => {
    let tries = 0
    hook = async (change) => {
      await handleOf(change).query(
        "do $$ begin " + (++tries < 3 ? "raise exception using errcode = '40001'" : "null") + "; end $$"
      )
    }
    expect((await use().call(ann, "POST", accounts, { body: { name: "retried" } })).status).toBe(201)
    expect(tries).toBe(3)
    tries = -9
    const one = { op: "create", resource: "accounts", data: { name: "retried" } }
    const answer = await batch(use(), ann, [one])
    expect([answer.status, answer.json["operation"], tries]).toEqual([409, 0, -5])
  })

  it("a conflict that a hook swallows is tried again, too, but not where a savepoint undid it", async () => {
    const conflicting = "do $$ begin raise exception using errcode = '40001'; end $$"
    let tries = 0
    hook = async (change) => {
      if (++tries < 3) await handleOf(change).query(conflicting).catch(() => {})
    }
    expect((await use().call(ann, "POST", accounts, { body: { name: "swallowed" } })).status).toBe(201)
    expect(tries).toBe(3)
    hook = async (change) => {
      tries++
      await handleOf(change).query("savepoint mine")
      await handleOf(change).query(conflicting).catch(() => {})
      await handleOf(change).query("rollback to savepoint mine")
    }
    expect((await use().call(ann, "POST", accounts, { body: { name: "undone" } })).status).toBe(201)
    expect(tries).toBe(4)
  })
})

describe("versions", () => {
  on("postgres", "of microseconds", ledger, (use) => {
    it("two updates in one microsecond, and one of a row from the future, still move the version on", async () => {
      const { id, path } = await makeAccount(use())
      const stored = async () =>
        (await use().database!.rows(`select zq_version::text from ledger.accounts where id = ${id}`))[0]![0]!
      await use().database!.execute(
        `update ledger.accounts set zq_version = '2100-01-01 00:00:00.000007+00' where id = ${id}`
      )
      const tags = new Set<string>()
      for (let i = 0; i < 3; i++) tags.add((await patch(use(), ann, path, { name: `n${i}` })).headers.get("etag")!)
      expect(tags.size).toBe(3)
      expect(await stored()).toBe("2100-01-01 00:00:00.00001+00")
    })

    it("many updates in one batch give as many versions; integers count", async () => {
      const { id } = await makeAccount(use())
      const ops = Array.from(
        { length: 50 },
        (_, i) => ({ op: "update", resource: "accounts", key: id, etag: "*", data: { name: `b${i}` } })
      )
      const answer = await batch(use(), ann, ops)
      const tags = (answer.json["results"] as unknown as ReadonlyArray<{ readonly etag: string }>).map(({ etag }) =>
        etag
      )
      expect(new Set(tags).size).toBe(50)
      await patch(use(), ann, `${base}/counters/2`, { n: "5" })
      expect((await patch(use(), ann, `${base}/counters/2`, { n: 6 })).json).toMatchObject({ n: "6", rev: 3 })
      expect((await patch(use(), ann, `${base}/counters/2`, { rev: 9 })).status).toBe(400)
    })
  })
  const seconds = (): Fixture => ({
    config: defineConfig({
      resources: [
        defineResource("clocks", {
          table: "ledger.clocks",
          primaryKey: "id",
          version: "updated_at",
          fields: { id: f.integer(), n: f.integer(), updated_at: f.timestamp() }
        })
      ]
    }),
    schema:
      `create schema ledger; create domain ledger.second as timestamptz(0); create domain ledger.stamp as ledger.second;
      create table ledger.clocks (id integer primary key, n integer not null, updated_at ledger.stamp not null default now());`,
    rows: {}
  })
  on("postgres", "of whole seconds, by a domain over a domain", seconds, (use) => {
    it("move on, too, however short the time", async () => {
      const { etag, path } = await make(use(), admin, "clocks", { id: 1, n: 0 })
      const tags = new Set([etag])
      for (let n = 1; n <= 5; n++) tags.add((await patch(use(), admin, path, { n })).headers.get("etag")!)
      expect(tags.size).toBe(6)
      expect((await patch(use(), admin, path, { n: 9 }, etag)).status).toBe(412)
    })
  })
})
