/** `:watch` with a filter over HTTP, on fakes and on PostgreSQL: what entered, changed and left, for whom, and what is refused. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { Random } from "../generators/random.ts"
import { cases, seed } from "../support/depth.ts"
import { openEvents } from "../support/events.ts"
import type { Heard } from "../support/stream.ts"
import { ann, boss, config, eve, handsOf, inMemory, onPostgres, told, type WatchStage } from "./watch-scenes.ts"

describe.each([["fakes", inMemory], ["PostgreSQL", onPostgres]] as const)("on %s", (backend, openStage) => {
  let stage: WatchStage
  let hands: ReturnType<typeof handsOf>
  beforeAll(async () => {
    stage = await openStage()
    hands = handsOf(stage)
  })
  afterAll(() => stage?.close())
  const open: Heard[] = []
  afterEach(async () => {
    for (const each of open) each.close()
    await stage.until(() => open.every(({ ended }) => ended()), "the end of all streams")
    open.length = 0
  })
  const watch: typeof hands.watch = async (...given) => {
    const heard = await hands.watch(...given)
    if (heard.status === 200) open.push(heard)
    return heard
  }
  const heardOf = (heard: Heard, texts: readonly string[]) =>
    stage.until(() => told(heard).length >= texts.length, texts.join(", ")).then(() =>
      expect(told(heard)).toEqual(texts)
    )
  let last = 0
  const next = (): number => ++last

  it("tells apart what entered, changed within and left, for each caller as they see it", async () => {
    const [open, paid, own] = [
      await watch(boss, "status = open"),
      await watch(boss, "status = paid"),
      await watch(ann, "status = open")
    ]
    const [id, other] = [next(), next()]
    await hands.create(boss, id)
    await hands.create(boss, other, { owner_id: "bob" })
    await hands.change(boss, id, { total: "2.00" })
    await hands.change(boss, id, { status: "paid" })
    await hands.change(boss, other, { total: "2.00" })
    await hands.change(boss, id, { status: "open" })
    await hands.remove(boss, id)
    await hands.undelete(boss, id)
    await hands.change(boss, id, { owner_id: "bob" })
    await hands.change(boss, id, { total: "3.00" })
    await hands.change(boss, other, { owner_id: "ann" })
    await hands.change(boss, other, { status: "shipped" })
    await heardOf(open, [
      `entered ${id}`,
      `entered ${other}`,
      `changed ${id}`,
      `left ${id}`,
      `changed ${other}`,
      `entered ${id}`,
      `left ${id}`,
      `entered ${id}`,
      `changed ${id}`,
      `changed ${id}`,
      `changed ${other}`,
      `left ${other}`
    ])
    await heardOf(paid, [`entered ${id}`, `left ${id}`])
    // The row filter counts as a filter does: what passes to somebody else leaves.
    await heardOf(own, [
      `entered ${id}`,
      `changed ${id}`,
      `left ${id}`,
      `entered ${id}`,
      `left ${id}`,
      `entered ${id}`,
      `left ${id}`,
      `entered ${other}`,
      `left ${other}`
    ])
    expect(Object.keys(own.events[0]!.data)).toEqual(["key", "operation", "sequence", "kind"])
  })

  it("tells the same after a gap", async () => {
    const id = next()
    const first = await watch(ann, "status = open")
    await hands.create(boss, id)
    await heardOf(first, [`entered ${id}`])
    first.close()
    await hands.change(boss, id, { status: "paid" })
    await hands.change(boss, id, { status: "open" })
    await hands.change(boss, id, { owner_id: "bob" })
    await hands.change(boss, id, { total: "9.00" })
    const second = await watch(ann, "status = open", first.events[0]!.id)
    await heardOf(second, [`left ${id}`, `entered ${id}`, `left ${id}`])
    const late = await watch(ann, "status = open", "1-1")
    expect(told(late)).toEqual(["reset"])
  })

  it("tells nobody of records that they never saw, whatever they ask", async () => {
    const asked = [
      "status = open",
      "NOT status = open",
      "total > 0",
      "note:*",
      "isNull(note)",
      "id > 0",
      "regex(note, '^s')"
    ]
    const silent = await Promise.all(asked.flatMap((filter) => [watch(ann, filter), watch(eve, filter)]))
    const id = next()
    await hands.create(boss, id, { owner_id: "bob", note: "secret", secret: "s" })
    await hands.change(boss, id, { status: "paid", total: "5.00", note: null })
    await hands.change(boss, id, { note: "else" })
    await hands.remove(boss, id)
    await hands.undelete(boss, id)
    await hands.change(boss, id, { status: "open" })
    // What comes last is heard by all: nothing was told before it.
    const [own, theirs] = [next(), next()]
    await hands.create(boss, own, { note: "sign" })
    await hands.create(eve, theirs, { owner_id: "eve", note: "sign" })
    for (const [i, heard] of silent.entries()) {
      const filter = asked[Math.floor(i / 2)]!
      if (["NOT status = open", "isNull(note)"].includes(filter)) continue
      await heardOf(heard, [`entered ${i % 2 === 0 ? own : theirs}`])
    }
    expect(silent.flatMap(told).filter((text) => text.endsWith(` ${id}`))).toEqual([])
  })

  it("refuses a hidden field as it refuses one that is not there", async () => {
    const refusalOf = async (filter: string) => {
      const { refusal, status } = await watch(ann, filter)
      return { status, refusal: JSON.parse(refusal.replaceAll(/zecret|secret/g, "…")) as object }
    }
    const hidden = await refusalOf("secret = x")
    expect(hidden).toEqual(await refusalOf("zecret = x"))
    expect(hidden).toMatchObject({ status: 400, refusal: { errors: [{ code: "unknown-field" }] } })
    expect((await watch(boss, "secret = x")).status).toBe(200)
  })

  it.each<[string, string, string, string]>([
    ["what does not follow the grammar", "status = ", "invalid-filter", "syntax"],
    ["another value than the field has", "status = lost", "invalid-filter", "value"],
    ["a field of a related record that is not there", "customer.planet = DE", "invalid-filter", "unknown-field"],
    ["too much through relations", Array(6).fill("customer.country = DE").join(" OR "), "invalid-filter", "limit"],
    ["a pattern that is expensive to read", "regex(note, '(a{9}){9}')", "invalid-filter", "invalid-pattern"],
    ["too many conditions", Array.from({ length: 201 }, (_, i) => `id > ${i}`).join(" "), "invalid-filter", "limit"],
    ["too long a text", `note = "${"x".repeat(10_001)}"`, "invalid-filter", "limit"]
  ])("refuses %s", async (_, filter, slug, code) => {
    const { refusal, status } = await watch(boss, filter)
    expect(status).toBe(400)
    expect(JSON.parse(refusal)).toMatchObject({ type: `urn:service:problem:${slug}`, errors: [{ code }] })
  })

  it("refuses further filters of a caller once theirs weigh too much, and nobody else's", async () => {
    const heavy = Array.from({ length: 200 }, (_, i) => `id != ${i + 1_000_000}`).join(" ")
    for (let i = 0; i < 4; i++) expect((await watch(boss, heavy)).status).toBe(200)
    const refused = await watch(boss, "status = open")
    expect(refused.status).toBe(429)
    expect(refused.headers.get("retry-after")).toBe("10")
    expect((await watch(boss)).status).toBe(200)
    expect((await watch(ann, heavy)).status).toBe(200)
    open[0]!.close()
    await stage.until(() => open[0]!.ended(), "the end of one")
    expect((await watch(boss, heavy)).status).toBe(200)
  })

  it("asks the database about filters through relations, under the access of each caller to both ends", async () => {
    const [german, french, hidden] = [next(), next(), next()]
    await hands.customer(german, "DE")
    await hands.customer(french, "FR")
    await hands.customer(hidden, "XX")
    const [all, own, none, some] = [
      await watch(boss, "customer.country = DE OR customer.country = XX"),
      await watch(ann, "customer.country = DE OR customer.country = XX"),
      await watch(ann, "NOT has(customer)"),
      await watch(ann, "status = open AND customer.country = DE")
    ]
    const [one, two, three] = [next(), next(), next()]
    await hands.create(boss, one, { customer_id: german })
    await hands.create(boss, two, { customer_id: hidden })
    await hands.create(boss, three, { customer_id: german, owner_id: "bob" })
    await heardOf(all, [`entered ${one}`, `entered ${two}`, `entered ${three}`])
    await heardOf(own, [`entered ${one}`])
    // A customer that she does not see is none: the order has no more for her than one without.
    await heardOf(none, [`entered ${two}`])
    await hands.change(boss, one, { customer_id: french })
    await hands.change(boss, three, { customer_id: french })
    await hands.change(boss, two, { owner_id: "bob" })
    await heardOf(all, [
      `entered ${one}`,
      `entered ${two}`,
      `entered ${three}`,
      `left ${one}`,
      `left ${three}`,
      `entered ${two}`
    ])
    await heardOf(own, [`entered ${one}`, `left ${one}`, `left ${two}`])
    await heardOf(none, [`entered ${two}`, `left ${one}`, `left ${two}`])
    // Whether it was in before is not known: it may have been, so it leaves.
    await heardOf(some, [`entered ${one}`, `left ${one}`, `left ${two}`])
    // What a related record did is told with the next change of the record itself.
    await hands.move(french, "DE")
    await hands.change(boss, one, { total: "3.00" })
    await heardOf(some, [`entered ${one}`, `left ${one}`, `left ${two}`, `entered ${one}`])
    const again = await watch(ann, "status = open AND customer.country = DE", some.events[0]!.id)
    await heardOf(again, [`entered ${one}`, `left ${two}`, `entered ${one}`])
  })

  it("gives who applies what is told to a first page what a fresh list has", async () => {
    const random = new Random(seed)
    const asked = [
      [boss, "status = open"],
      [boss, "total > 5.00 AND NOT status = shipped"],
      [boss, "note:a OR isNull(note)"],
      [ann, "status = open OR total <= 2.00"],
      [ann, ""],
      [eve, "status != paid"],
      [boss, "customer.country = DE OR status = paid"],
      [ann, "NOT has(customer)"]
    ] as const
    const customers = ["DE", "FR", "XX"].map((country) => ({ country, id: next() }))
    for (const { country, id } of customers) await hands.customer(id, country)
    const apply = (keys: Set<string>, heard: Heard, from: number): void => {
      for (const { data, event } of heard.events.slice(from)) {
        expect(event).toBe("change")
        if (data["kind"] === "left") keys.delete(data["key"] as string)
        else keys.add(data["key"] as string)
      }
    }
    const clients = await Promise.all(asked.map(async ([caller, filter]) => {
      const heard = await watch(caller, filter)
      // The list is read once the stream stands.
      return { caller, filter, heard, from: 0, keys: new Set(await hands.keys(caller, filter)) }
    }))
    const known: Array<{ readonly id: number; readonly caller: typeof boss; gone: boolean }> = []
    const values = () => ({
      status: random.pick(["open", "paid", "shipped"]),
      total: `${random.below(9)}.00`,
      note: random.pick([null, "a", "b", "ab"]),
      owner_id: random.pick(["ann", "bob"]),
      customer_id: random.pick([null, ...customers.map(({ id }) => id)])
    })
    for (let step = 0; step < cases(400); step++) {
      const one = known.length === 0 ? undefined : random.pick(known)
      if (one === undefined || random.chance(4)) {
        const made = { id: next(), caller: random.pick([boss, boss, eve]), gone: false }
        await hands.create(made.caller, made.id, values())
        known.push(made)
      } else if (one.gone) {
        await hands.undelete(one.caller, one.id)
        one.gone = false
      } else if (random.chance(5)) {
        await hands.remove(one.caller, one.id)
        one.gone = true
      } else await hands.change(one.caller, one.id, Object.fromEntries(random.some(Object.entries(values()))))
      if (random.chance(12)) {
        // A connection breaks: what it told counts, and another goes on from there.
        const client = random.pick(clients)
        const { heard } = client
        heard.close()
        await stage.until(() => heard.ended(), "the end of a stream")
        apply(client.keys, heard, client.from)
        client.heard = await watch(client.caller, client.filter, heard.marks.at(-1))
        client.from = 0
      }
    }
    const ends = { boss: next(), eve: next() }
    await hands.create(boss, ends.boss, { total: "1.00", note: "a" })
    await hands.change(boss, ends.boss, { total: "6.00" })
    await hands.create(eve, ends.eve, { owner_id: "eve" })
    for (const { caller, heard, keys, filter, from } of clients) {
      const end = String(caller === eve ? ends.eve : ends.boss)
      await stage.until(() => heard.events.some(({ data }) => data["key"] === end), `the end of ${filter}`)
      // A second event of the same record comes where the first did not end it.
      await stage.until(
        async () => {
          const now = new Set(keys)
          apply(now, heard, from)
          return [...now].toSorted().join() === (await hands.keys(caller, filter)).join()
        },
        `what a fresh list has: ${filter}`,
        5_000
      )
    }
  })

  it(
    "serves a thousand who ask each for something else: those hear who asked for it, and others have their turns",
    async () => {
      const callers = Array.from({ length: 100 }, (_, i) => ({ ...boss, id: `boss${i}` }))
      const streams = await Promise.all(
        callers.flatMap((caller, i) => Array.from({ length: 10 }, (_, j) => watch(caller, `total = ${i * 10 + j}.25`)))
      )
      const [third, last] = [next(), next()]
      await hands.create(boss, third, { total: "3.25" })
      await hands.change(boss, third, { total: "999.25" })
      await hands.create(boss, last, { total: "7.25" })
      await stage.until(() => streams.flatMap(told).length >= 4, "what each asked for")
      expect(streams.flatMap((heard, i) => told(heard).map((text) => `${i} ${text}`)).toSorted()).toEqual(
        [`3 entered ${third}`, `3 left ${third}`, `999 entered ${third}`, `7 entered ${last}`].toSorted()
      )
    },
    120_000
  )

  if (backend === "fakes") {
    it("ends with the credential, before the next change", async () => {
      const heard = await watch(ann, "status = open")
      const id = next()
      await hands.create(boss, id)
      await heardOf(heard, [`entered ${id}`])
      stage.revoke("ann")
      await hands.change(boss, id, { status: "paid" })
      await stage.until(() => heard.ended(), "the end")
      expect(told(heard)).toEqual([`entered ${id}`])
    })
    return
  }

  it("judges what SQL did: keys that change, many rows at once, rows of other tenants", async () => {
    const { database } = stage.events!
    const heard = await watch(boss, "status = open")
    const [one, two, three] = [next(), next(), next()]
    const row = (id: number, tenant: number) => `(${id}, ${tenant}, 'ann', 'open', 1)`
    await database.execute(
      `insert into orders (id, tenant_id, owner_id, status, total) values ${row(one, 1)}, ${row(two, 2)}`
    )
    await database.execute(`update orders set id = ${three} where id = ${one}`)
    await database.execute(`update orders set tenant_id = 3 - tenant_id where id in (${two}, ${three})`)
    await database.execute(`delete from orders where id in (${two}, ${three})`)
    await stage.until(() => told(heard).length === 6, "all of it")
    expect(told(heard).slice(0, 3)).toEqual([`entered ${one}`, `left ${one}`, `entered ${three}`])
    expect(told(heard).slice(3).toSorted()).toEqual([`entered ${two}`, `left ${three}`, `left ${two}`].toSorted())
    // A stream goes on after both events of one change.
    expect(heard.events.slice(1, 3).map(({ id }) => id === "")).toEqual([true, false])
  })

  it("is the same on every instance, and goes on at another one", async () => {
    const { database } = stage.events!
    const other = await openEvents({ config, schema: "", database })
    try {
      const there = handsOf({ ...stage, fetch: other.fetch })
      const [here, away] = [await watch(ann, "status = open"), await there.watch(ann, "status = open")]
      const id = next()
      await hands.create(boss, id)
      await there.change(boss, id, { total: "2.00" })
      await hands.change(boss, id, { status: "paid" })
      const all = [`entered ${id}`, `changed ${id}`, `left ${id}`]
      await heardOf(here, all)
      await heardOf(away, all)
      away.close()
      const again = await watch(ann, "status = open", away.events[0]!.id)
      await heardOf(again, all.slice(1))
    } finally {
      await other.close()
    }
  })
})
