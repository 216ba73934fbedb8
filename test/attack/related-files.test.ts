/** Files of records whose rules go through relations: what a ticket, an address or a link may do once the related records have changed. */

import { expect, it } from "vitest"
import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { localFiles } from "../../core/domain/file/provider.ts"
import { base, held, onStage, patch, pdf, scheduled, ticketFor } from "../http/files/stage.ts"
import type { Answer, Fixture, TestCaller } from "../support/composed.ts"

const admin: TestCaller = { id: "root", roles: ["admin"] }
const ann: TestCaller = { id: "ann", roles: ["clerk"] }
const isAdmin = (roles: readonly string[]): boolean => roles.includes("admin")
const kept = where`has(folder.keepers, "user_id = caller.id")`

const folders = defineResource("folders", {
  primaryKey: "id",
  fields: { id: f.integer().filterable(), open: f.boolean().filterable() },
  access: { read: true }
})
const keepers = defineResource("keepers", {
  primaryKey: "id",
  fields: { id: f.integer(), folder_id: relation("folders").filterable(), user_id: f.text().filterable() },
  access: {
    read: ({ caller }) => isAdmin(caller.roles) || where`user_id = caller.id`,
    delete: ({ caller }) => isAdmin(caller.roles) || where`user_id = caller.id`
  }
})
const scans = defineResource("scans", {
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    folder_id: relation("folders").filterable(),
    sheet: f.file().optional().accept(["application/pdf"]).linkLifetime("10 minutes")
  },
  access: {
    read: ({ caller }) => isAdmin(caller.roles) || kept,
    create: ({ caller }) => isAdmin(caller.roles) || where`${kept} AND folder.open = true`,
    update: ({ caller }) => isAdmin(caller.roles) || where`${kept} AND folder.open = true`
  }
})

const fixture: Fixture = {
  config: defineConfig({
    resources: [folders, keepers, scans],
    roles: defineRoles({ admin: ["*"], clerk: ["folders.read", "keepers.read", "keepers.delete", "scans.*"] }),
    files: {
      providers: {
        archive: localFiles({ dir: "archive" }),
        small: localFiles({ dir: "small" })
      }
    }
  }),
  schema: `create table folders (id integer primary key, open boolean not null);
    create table keepers (id integer primary key, folder_id integer not null, user_id text not null);
    create table scans (id integer primary key, folder_id integer not null, sheet text);
    create index on keepers (folder_id, user_id);`,
  rows: { folders: [{ id: 1, open: true }, { id: 2, open: true }] }
}

onStage(
  "files under rules through relations",
  (stage) => {
    let last = 0
    const call = (caller: TestCaller, method: string, path: string, body?: object): Promise<Answer> =>
      stage().service.call(caller, method, `${base}/${path}`, {
        ...(body === undefined ? {} : { body }),
        headers: method === "POST" ? {} : { "if-match": "*" }
      })
    const done = async (answer: Promise<Answer>, status: number): Promise<Answer> => {
      const got = await answer
      expect(got.status, got.text).toBe(status)
      return got
    }
    const ticket = (text: string): Promise<string> => ticketFor(stage(), ann, "scans.sheet", pdf(text))
    /** A folder that Ann keeps, with a scan that has a file. */
    const scene = async (text: string) => {
      const id = ++last + 100
      await done(call(admin, "POST", "folders", { id, open: true }), 201)
      await done(call(admin, "POST", "keepers", { id, folder_id: id, user_id: "ann" }), 201)
      const made = await done(call(ann, "POST", "scans", { id, folder_id: id, sheet: await ticket(text) }), 201)
      return { id, sheet: made.json["sheet"]! as unknown as { readonly uri: string; readonly url: string } }
    }
    const stored = () => ({ held: held(stage().storages.private), scheduled: scheduled(stage().storages.private) })

    it("attach nothing once the relation has ended, let go of nothing, and spend no ticket", async () => {
      const { id } = await scene("one")
      const value = await ticket("two")
      const before = stored()
      await done(call(admin, "PATCH", `folders/${id}`, { open: false }), 200)
      await done(patch(stage(), ann, `scans/${id}`, { sheet: value }), 403)
      await done(patch(stage(), ann, `scans/${id}`, { sheet: null }), 403)
      await done(call(ann, "POST", "scans", { id: ++last + 500, folder_id: id, sheet: value }), 403)
      await done(call(admin, "PATCH", `folders/${id}`, { open: true }), 200)
      await done(call(admin, "DELETE", `keepers/${id}`), 204)
      await done(patch(stage(), ann, `scans/${id}`, { sheet: value }), 404)
      await done(call(ann, "POST", "scans", { id: ++last + 500, folder_id: id, sheet: value }), 403)
      expect(stored()).toEqual(before)
      await done(call(admin, "POST", "keepers", { id, folder_id: id, user_id: "ann" }), 201)
      await done(patch(stage(), ann, `scans/${id}`, { sheet: value }), 200)
    })

    it("attach nothing in a batch that ends the right first", async () => {
      const { id } = await scene("three")
      const value = await ticket("four")
      const before = stored()
      const answer = await stage().service.call(ann, "POST", `${base}:batch`, {
        body: {
          operations: [
            { op: "delete", resource: "keepers", key: id, etag: "*" },
            { op: "update", resource: "scans", key: id, etag: "*", data: { sheet: value } }
          ]
        }
      })
      expect([403, 404], answer.text).toContain(answer.status)
      expect(stored()).toEqual(before)
      await done(call(ann, "GET", `keepers/${id}`), 200)
    })

    it("give no new link to who sees the record no more, and end the links that were given in time", async () => {
      const { id, sheet } = await scene("five")
      await done(stage().service.get(null, sheet.url), 200)
      await done(call(admin, "DELETE", `keepers/${id}`), 204)
      await done(call(ann, "GET", `scans/${id}`), 404)
      for (
        const path of [
          `scans?filter=id%3D${id}`,
          `scans:export?format=ndjson&filter=id%3D${id}`,
          `folders/${id}?expand=scans`
        ]
      ) {
        expect((await done(call(ann, "GET", path), 200)).text).not.toContain("/api/files/")
      }
      // Whoever has a link may follow it until it ends.
      await done(stage().service.get(null, sheet.url), 200)
      stage().clock.now += 11 * 60_000
      await done(stage().service.get(null, sheet.url), 403)
    })

    it("take the address of a file that is not seen like one that is nowhere", async () => {
      const [{ id }, other] = [await scene("six"), await scene("seven")]
      await done(call(admin, "DELETE", `keepers/${other.id}`), 204)
      const about = async (uri: string): Promise<string> =>
        (await done(patch(stage(), ann, `scans/${id}`, { sheet: uri }), 400)).text
          .replaceAll(uri, "URI").replaceAll(/"(?:instance|request_id)":"[^"]*",?/g, "")
      const nowhere = other.sheet.uri.replace(/.{4}(?=\.pdf)/, "0000")
      expect(await about(other.sheet.uri)).toBe(await about(nowhere))
    })
  },
  ["fake", "postgres"],
  false,
  fixture
)
