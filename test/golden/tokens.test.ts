/**
 * What one version gives out and another takes back, as golden values of a fixed secret: while versions are deployed one after the other, and after a way
 * back, each works with what the other made (docs/guides/upgrade.md#what-a-version-promises). A change that breaks one of them fails here. `UPDATE_GOLDEN=1`
 * adds what is missing and changes nothing that is there: a new form gets a new name in the file, and the old one stays until no version in use makes it.
 */

import * as Effect from "effect/Effect"
import { createHmac } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { expect, it } from "vitest"
import { makeSealer } from "../../adapters/auth/key-text.ts"
import { makeCipher, makeCookieRenewal } from "../../adapters/auth/rotation.ts"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { makeSeal } from "../../adapters/seal/seal.ts"
import { makeSigner } from "../../adapters/seal/signer.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { linkPurpose } from "../../composition/files.ts"
import { eventId } from "../../core/app/event/delivery-attempt.ts"
import { sealContext } from "../../core/app/event/webhooks.ts"
import { printKeyText, readKeyText } from "../../core/domain/account/api-key.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { linkQuery, readLink, signedText } from "../../core/domain/file/link.ts"
import { readTicket, ticketContext, writeTicket } from "../../core/domain/file/ticket.ts"
import {
  addressContext,
  readAddress,
  readRecord,
  readUnfinished,
  recordContext,
  unfinishedName,
  uploaderText,
  writeAddress,
  writeRecord
} from "../../core/domain/file/unfinished.ts"
import { challengeContext, printChallenge, readChallenge } from "../../core/domain/form/challenge.ts"
import { etagOf } from "../../core/domain/read/etag.ts"
import { pageContext, readPosition, writePosition } from "../../core/domain/read/page-token.ts"
import { makeFakeRecords } from "../fakes/records.ts"

const secret = "a secret of golden values, for nothing else"
const file = new URL("tokens.json", import.meta.url)
const kept: Record<string, string> = existsSync(file)
  ? JSON.parse(readFileSync(file, "utf8")) as Record<string, string>
  : {}

/** The golden text of a name: what an earlier version made, or what this one makes where there is none yet. */
const golden = (name: string, make: () => string): string => {
  const there = kept[name]
  if (there !== undefined) return there
  if (process.env["UPDATE_GOLDEN"] === undefined) throw new Error(`There is no golden value "${name}".`)
  kept[name] = make()
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`)
  return kept[name]
}

const seal = makeSeal(secret)
const caller = { id: "ann", roles: ["admin"], tenant: "7" }

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: {
    id: f.integer().readOnly().dbDefault(),
    text: f.text().sortable().optional(),
    at: f.timestamp().optional(),
    price: f.decimal({ precision: 9, scale: 2 }).optional()
  }
})
const versioned = defineResource("orders", {
  table: "orders",
  primaryKey: "id",
  version: "updated_at",
  fields: { id: f.integer().readOnly().dbDefault(), updated_at: f.timestamp().readOnly().dbDefault() }
})
const compiled = compileOrThrow(defineConfig({ resources: [notes, versioned], roles: { admin: ["*"] } }))
const noteModel = compiled.models.get("notes")!
const orderModel = compiled.models.get("orders")!

it("a page token goes on in the other version", () => {
  const request = { filter: "text = \"x\"", orderBy: "text desc", showDeleted: false }
  const order = [{ field: noteModel.byName.get("text")!, descending: true }, {
    field: noteModel.byName.get("id")!,
    descending: false
  }]
  const position = {
    direction: "after",
    bothWays: true,
    cells: ["x", "7"],
    estimate: { size: 12, roles: "[\"admin\"]" }
  } as const
  const token = golden(
    "page token",
    () => seal.seal(pageContext(caller, "notes", request, order), writePosition(position))
  )
  expect(readPosition(seal.open(pageContext(caller, "notes", request, order), token) ?? "", 2)).toEqual(position)
})

it("a ticket, the address of an upload and its record are read by the other version", () => {
  const ticket = {
    uri: "private:_/a.png?name=a.png&size=9",
    expires: 1_900_000_000_000,
    derived: new Map([["width", "10"], ["hash", null]])
  }
  const ticketText = golden("ticket", () => seal.seal(ticketContext(caller, "notes", "file"), writeTicket(ticket)))
  expect(readTicket(seal.open(ticketContext(caller, "notes", "file"), ticketText) ?? "")).toEqual(ticket)

  const unfinished = {
    who: seal.digest(uploaderText(caller)),
    created: 1_800_000_000_000,
    length: 9,
    id: "a".repeat(26)
  }
  const name = golden("name of an unfinished upload", () => unfinishedName(unfinished))
  expect(readUnfinished(name)).toMatchObject({ ...unfinished, of: "upload" })

  const address = { provider: "private", name, field: "file", metadata: "filename YQ==", fileName: null, direct: null }
  const addressText = golden(
    "address of an upload",
    () => seal.seal(addressContext(caller, "notes"), writeAddress(address))
  )
  expect(readAddress(seal.open(addressContext(caller, "notes"), addressText) ?? "")).toEqual(address)

  const record = {
    path: "_/a.png",
    type: "image/png",
    corrected: { from: "text/plain", to: "image/png" },
    finished: 1_800_000_000_001,
    result: { uri: ticket.uri, type: "image/png", cells: [["width", "10"], ["hash", null]] as const }
  }
  const recordText = golden("record of an upload", () => seal.seal(recordContext(name), writeRecord(record)))
  expect(readRecord(seal.open(recordContext(name), recordText) ?? "")).toEqual(record)
})

it("a link to a file opens in the other version", () => {
  const signer = makeSigner(secret, linkPurpose)
  const link = {
    provider: "private",
    path: "_/a b.png",
    resource: "notes",
    key: "7",
    field: "file",
    expires: 1_900_000_000
  }
  const query = golden("link to a file", () => linkQuery(link, signer.sign(signedText(link))))
  const read = readLink(link.provider, link.path, [...new URLSearchParams(query)])
  expect(read?.link).toEqual(link)
  expect(signer.verify(signedText(link), read?.signature ?? "")).toBe(true)
})

it("an ETag is the same in both versions", () => {
  const restricted = (model: typeof noteModel) => ({ model, fields: model.fields, byName: model.byName }) as never
  const row = ["7", "é:\u0001", "2026-06-30 12:34:56.123456+00", "12.50"]
  expect(etagOf(restricted(noteModel), row, seal)).toBe(
    golden("ETag of fields", () => etagOf(restricted(noteModel), row, seal))
  )
  expect(etagOf(restricted(noteModel), ["7", null, null, null], seal)).toBe(
    golden("ETag of nulls", () => etagOf(restricted(noteModel), ["7", null, null, null], seal))
  )
  const order = ["7", "2026-06-30 12:34:56.123456+00"]
  expect(etagOf(restricted(orderModel), order, seal)).toBe(
    golden("ETag of a version", () => etagOf(restricted(orderModel), order, seal))
  )
})

it("an answer that was kept for an idempotency key is that of the other version", async () => {
  const { service: records } = makeFakeRecords()
  const fetch = makeFetch(makeService({
    webFolder: "no-admin-app",
    compiled,
    records,
    authenticator: () => ({ user: { id: "ann", roles: ["admin"] } }),
    secret,
    publicUrl: "http://localhost"
  }))
  const post = (key: string) =>
    fetch(
      new Request("http://localhost/api/v1/notes", {
        method: "POST",
        headers: { authorization: "Bearer x", "content-type": "application/json", "idempotency-key": key },
        body: "{\"text\":\"x\"}"
      }),
      { address: "192.0.2.1" }
    )
  const own = { scope: JSON.stringify([null, "ann"]), key: "k", now: BigInt(Date.now()) * 1_000n }
  if (kept["answer for an idempotency key"] === undefined) {
    expect((await post("made")).status).toBe(201)
    const made = await Effect.runPromise(records.transaction((tx) => tx.claimKey({ ...own, key: "made" })))
    golden("answer for an idempotency key", () => JSON.stringify(made))
  }
  const { answer, request } = JSON.parse(golden("answer for an idempotency key", () => "")) as {
    readonly request: string
    readonly answer: string
  }
  await Effect.runPromise(records.transaction((tx) => tx.storeKey({ ...own, request, answer })))
  const again = await post("k")
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"])
  expect(await again.json()).toMatchObject({ text: "x" })
})

it("an event has the same id, whichever version sends it", () => {
  const happened = {
    change: {
      model: { name: "notes" },
      stored: { sequence: "12", transaction: "7311", at: "2026-11-27T10:00:00.000001Z" }
    },
    event: "created"
  } as never
  expect(eventId(seal, happened)).toBe(golden("id of an event", () => eventId(seal, happened)))
})

it("secrets of webhooks and challenges of forms open in the other version", () => {
  const webhook = golden("secret of a webhook", () => seal.seal(sealContext("7"), "whsec_AAAA"))
  expect(seal.open(sealContext("7"), webhook)).toBe("whsec_AAAA")
  const challenge = { expires: 1_900_000_000_000, difficulty: 16 }
  const text = golden("challenge of a form", () => seal.seal(challengeContext("contact"), printChallenge(challenge)))
  expect(readChallenge(seal.open(challengeContext("contact"), text) ?? "", 0)).toEqual(challenge)
})

it("API keys, cookies and what the accounts keep encrypted are good in the other version", async () => {
  const sealer = makeSealer([secret])
  const [id, own] = ["0123456789abcdef", "A".repeat(32)]
  const key = golden("API key", () => printKeyText({ id, secret: own, seal: sealer.seal(id, own) }))
  expect(sealer.isSealed(readKeyText(key)!)).toBe(true)

  // As better-auth signs them.
  const signed = (by: string) =>
    encodeURIComponent(`token.${createHmac("sha256", by).update("token").digest("base64")}`)
  const cookie = golden("cookie of a session", () => signed(secret))
  const renew = makeCookieRenewal(
    ["another secret of golden values", secret],
    { query: () => Promise.resolve([]) },
    "v"
  )
  expect([...await renew(new Map([["service.session_token", cookie]]))]).toEqual([
    ["service.session_token", signed("another secret of golden values")]
  ])

  const cipher = makeCipher([secret])
  const encrypted = kept["secret of a second factor"] ?? await cipher.seal("JBSWY3DPEHPK3PXP")
  expect(await cipher.open(golden("secret of a second factor", () => encrypted))).toBe("JBSWY3DPEHPK3PXP")
})
