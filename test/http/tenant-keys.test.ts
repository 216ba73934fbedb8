// Keys that are unique within each tenant only: the same key names another record for every tenant, and no request of one reads, changes or judges by
// the records of another. All rows were written by one transaction, so that nothing but the tenant tells them apart.
import { beforeEach, expect, it } from "vitest"
import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { at } from "../support/answer.ts"
import type { Fixture, TestCaller } from "../support/composed.ts"
import { batch, make, on, onBoth, patch, read } from "./writes/scenes.ts"

const tenants = ["north", "south", "west"] as const
const callers = Object.fromEntries(
  tenants.map((tenant) => [tenant, { id: `u-${tenant}`, roles: ["admin"], tenant }])
) as unknown as { readonly [tenant in typeof tenants[number]]: TestCaller }
const { north, south, west } = callers

const rooms = defineResource("rooms", {
  primaryKey: "number",
  tenant: "house",
  fields: {
    number: f.integer().filterable().sortable(),
    name: f.text().filterable().sortable(),
    position: f.integer().filterable().sortable(),
    over: f.relation("rooms").optional().as("beneath").inverse("above")
  },
  // A filter that a rule answers for the record is asked about the row as written.
  access: { update: ({ record }) => record.name === "locked" ? false : where`position < 100` }
})
const guests = defineResource("guests", {
  primaryKey: "number",
  tenant: "house",
  softDelete: "left_at",
  version: "version",
  fields: {
    number: f.integer().filterable().sortable(),
    name: f.text().filterable(),
    room: relation(rooms).optional(),
    version: f.integer()
  }
})

const fixture: Fixture = {
  config: defineConfig({ resources: [rooms, guests] }),
  schema: `
    create table rooms (house text, number integer, name text not null, position integer not null, over integer, primary key (house, number));
    create table guests (
      house text, number integer, name text not null, room integer, left_at timestamptz, version integer not null default 1,
      primary key (house, number)
    )`,
  rows: {
    // The first of each number is not the one that the caller means.
    rooms: [1, 2, 3, 4].flatMap((number) =>
      [...tenants].reverse().map((house) => ({
        house,
        number,
        name: `${house} ${number}`,
        position: number,
        over: null
      }))
    ),
    guests: [1, 2, 3].flatMap((number) =>
      [...tenants].reverse().map((house) => ({
        house,
        number,
        name: `${house} ${number}`,
        room: null,
        left_at: null,
        version: "1"
      }))
    )
  }
}

onBoth("keys within a tenant", () => fixture, (use) => {
  /** Everything that a tenant has, and what it had. */
  const all = async (caller: TestCaller): Promise<unknown> => {
    const found = await Promise.all(
      [at("rooms"), at("guests", { show_deleted: true })].map((path) => use().get(caller, path))
    )
    return found.map(({ json, status, text }) => {
      expect(status, text).toBe(200)
      return json["items"]
    })
  }
  const others = () => Promise.all([south, west].map(all))
  let before: unknown
  beforeEach(async () => {
    before = await others()
  })
  const expectOthersUntouched = async () => expect(await others()).toEqual(before)

  it("are sought among the caller's own records", async () => {
    for (const caller of [north, south, west]) {
      for (const position of [1, 2, 9]) {
        const { json, status } = await use().get(caller, at("rooms:seek", { position, page_size: 2, fields: "name" }))
        expect(status).toBe(200)
        const names = (json["items"] as unknown as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
        const from = Math.min(position, 2) + 1
        expect(names).toEqual([from, from + 1].map((number) => `${caller.tenant} ${number}`))
      }
    }
  })

  it("change, delete and bring back one record, alone and in a batch", async () => {
    const service = use()
    expect((await patch(service, north, at("rooms/1"), { name: "changed" })).json).toMatchObject({ name: "changed" })
    expect((await patch(service, north, at("guests/1"), { name: "changed" })).json).toMatchObject({ name: "changed" })
    expect((await service.call(north, "DELETE", at("rooms/4"))).status).toBe(204)
    expect((await service.call(north, "DELETE", at("guests/2"))).status).toBe(204)
    expect((await service.call(north, "POST", at("guests/2:undelete"))).status).toBe(200)
    await expectOthersUntouched()
    const answer = await batch(service, north, [
      { op: "update", resource: "rooms", key: 2, etag: "*", data: { name: "batched" } },
      { op: "update", resource: "guests", key: 2, etag: "*", data: { name: "batched" } },
      { op: "delete", resource: "guests", key: 3 },
      { op: "reorder", resource: "rooms", field: "position", keys: [3, 2, 1], etags: { 1: "*", 2: "*", 3: "*" } },
      { op: "delete", resource: "rooms", key: 2 }
    ])
    expect(answer.status, answer.text).toBe(200)
    expect(await read(service, north, at("rooms/1"))).toMatchObject({ name: "changed", position: 3 })
    expect((await service.get(north, at("rooms/2"))).status).toBe(404)
    await expectOthersUntouched()
  })

  it("are judged by the caller's own record, and point at it", async () => {
    const service = use()
    expect((await patch(service, north, at("rooms/3"), { position: 200 })).status).toBe(403)
    expect((await patch(service, west, at("rooms/3"), { position: 50 })).status).toBe(200)
    // Nobody but north has this room.
    await make(service, north, "rooms", { number: 77, name: "attic", position: 1 })
    const made = await make(service, north, "guests", { number: 9, name: "Bo", room: 77 })
    expect((await service.get(north, `${made.path}?expand=room`)).json["expand"]).toMatchObject({
      room: { name: "attic" }
    })
    const refused = await service.call(south, "POST", at("guests"), { body: { number: 9, name: "Bo", room: 77 } })
    expect(refused.status).toBe(400)
    await make(service, south, "guests", { number: 9, name: "Bo", room: 3 })
  })

  it("stand beside the caller's own records only: pages, counts and trees", async () => {
    const service = use()
    for (const caller of [north, south, west]) {
      await make(service, caller, "rooms", { number: 40, name: "ground", position: 1 })
      for (const number of [7, 8]) {
        await make(service, caller, "guests", { number, name: `${caller.tenant} ${number}`, room: 40 })
      }
      await make(service, caller, "rooms", { number: 50, name: `${caller.tenant} 50`, position: 1, over: 40 })
      await make(service, caller, "rooms", { number: 51, name: `${caller.tenant} 51`, position: 1, over: 50 })
    }
    for (const caller of [north, south, west]) {
      const expanded = async (expand: string) => (await service.get(caller, at("rooms/40", { expand }))).json["expand"]
      const named = (number: number, more: object = {}) => ({
        name: `${caller.tenant} ${number}`,
        etag: expect.any(String) as unknown,
        ...more
      })
      expect(await expanded("guests(count)")).toEqual({ guests: { count: 2 } })
      expect(await expanded("guests(page_size: 1, fields: \"name\")")).toEqual({
        guests: { items: [named(7)], more: true }
      })
      expect(await expanded("above(depth: 2, fields: \"name\")")).toEqual({
        above: [named(50, { expand: { above: [named(51)] } })]
      })
    }
  })

  it("in a 412 amid a batch, tell of no version of another tenant's record", async () => {
    const answer = await batch(use(), west, [
      { op: "create", resource: "rooms", data: { number: 77, name: "cellar", position: 1 } },
      { op: "update", resource: "rooms", key: 77, etag: "\"stale\"", data: { name: "x" } }
    ])
    expect([answer.status, answer.json["etag"], answer.headers.get("etag")]).toEqual([412, undefined, null])
  })
})

on("postgres", "versions of records with the same key", () => fixture, (use) => {
  it("are told of in a 412 to their own tenant only", async () => {
    const service = use()
    const [own, other] = await Promise.all([read(service, south, at("guests/3")), read(service, west, at("guests/3"))])
    // Both are at the same version, so that their tags are equal.
    expect(own["etag"]).toBe(other["etag"])
    const held = own["etag"] as unknown as string
    expect((await patch(service, west, at("guests/3"), { name: "changed" })).status).toBe(200)
    await service.database!.execute("update guests set version = 5 where house = 'south' and number = 3")
    const stale = await patch(service, south, at("guests/3"), { name: "x" }, held)
    expect(stale.status).toBe(412)
    expect(stale.json["changed"]).toBeUndefined()
    expect((await patch(service, west, at("guests/3"), { name: "x" }, held)).json["changed"]).toEqual([
      "name",
      "version"
    ])
  })
})

const people = defineResource("people", {
  primaryKey: "id",
  tenant: "house",
  fields: { id: f.text(), name: f.text() }
})
const chores = defineResource("chores", {
  primaryKey: "id",
  tenant: "house",
  owner: "owner_id",
  fields: { id: f.integer(), owner_id: relation(people), helper_id: relation(people).optional().inverse(false) }
})
const household: Fixture = {
  config: defineConfig({ resources: [people, chores] }),
  schema: `create table people (id text primary key, house text not null, name text not null);
    create table chores (id integer primary key, house text not null, owner_id text not null, helper_id text)`,
  rows: { people: [{ id: "bo", house: "north", name: "Bo" }, { id: "sue", house: "south", name: "Sue" }] }
}

onBoth("owners that are records of a tenant", () => household, (use) => {
  it("are people of the caller's own tenant, or the caller, who needs no record", async () => {
    const create = async (body: object): Promise<number> =>
      (await use().call(north, "POST", at("chores"), { body })).status
    expect(await create({ id: 1, owner_id: "bo" })).toBe(201)
    expect([await create({ id: 2, owner_id: "sue" }), await create({ id: 2, owner_id: "nobody" })]).toEqual([400, 400])
    expect(await create({ id: 2, owner_id: north.id })).toBe(201)
    expect(await create({ id: 3, owner_id: "bo", helper_id: north.id })).toBe(400)
    expect((await patch(use(), north, at("chores/1"), { owner_id: "sue" })).status).toBe(400)
    expect(await read(use(), north, at("chores/1"))).toMatchObject({ owner_id: "bo" })
  })

  it("are so for each of several creates", async () => {
    const operations = ["bo", "sue"].map((owner_id, i) => ({
      op: "create",
      resource: "chores",
      data: { id: 20 + i, owner_id }
    }))
    expect((await batch(use(), north, operations)).json).toMatchObject({ status: 400, operation: 1 })
    expect((await use().get(north, at("chores/20"))).status).toBe(404)
  })
})
