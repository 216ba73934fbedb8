/** The OpenAPI document of files: who sees which route, and that downloads and the cleanup answer as it says. */

import { Validator } from "@seriousme/openapi-schema-validator"
import { describe, expect, it } from "vitest"
import type { Answer, TestCaller } from "../../support/composed.ts"
import type { OpenapiDoc } from "../../support/openapi.ts"
import { announce, begun, ending, metadata, piece, pieceType, state } from "./pieces.ts"
import { admin, ann, create, eve, onStage, pdf, type Stage, ticketFor } from "./stage.ts"

const download = "/api/files/{provider}/{folder}/{file}"
const everywhere =
  /^(?:cache-control|content-length|content-security-policy|content-type|referrer-policy|vary|x-content-type-options|x-frame-options)$/

const documentOf = async ({ service }: Stage, caller: TestCaller): Promise<OpenapiDoc> =>
  (await service.get(caller, "/api/openapi.json")).json as unknown as OpenapiDoc

/** Status and headers of an answer stand in the document. */
const described = (doc: OpenapiDoc, path: string, method: string, answer: Answer): void => {
  const responses = doc.paths[path]![method]!.responses as {
    readonly [status: string]: { readonly $ref?: string; readonly headers?: object }
  }
  const found = responses[String(answer.status)]
  expect(found, `${method} ${path} ${answer.status}`).toBeDefined()
  const reference = found!.$ref?.split("/").at(-1)
  const { headers = {} } = reference === undefined
    ? found!
    : doc.components.responses[reference] as { readonly headers?: object }
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const more = [...answer.headers.keys()].filter((name) => !everywhere.test(name) && !names.has(name))
  expect([answer.status, more]).toEqual([answer.status, answer.status >= 400 ? more : []])
}

onStage("the document of files", (stage) => {
  it("has the download for whoever reads a file field, and the cleanup for admins", async () => {
    const [ours, theirs] = [await documentOf(stage(), admin), await documentOf(stage(), eve)]
    expect(Object.keys(ours.paths)).toEqual(expect.arrayContaining([download, "/api/files:cleanup"]))
    expect(Object.keys(theirs.paths)).toContain(download)
    expect(Object.keys(theirs.paths)).not.toContain("/api/files:cleanup")
    expect((await new Validator().validate(structuredClone(ours) as unknown as Record<string, unknown>)).errors)
      .toBeUndefined()
    const nobody: TestCaller = { id: "new", roles: [], tenant: "t1" }
    expect(Object.keys((await documentOf(stage(), nobody)).paths)).not.toContain(download)
  })

  it("says what uploads in pieces answer", async () => {
    const doc = await documentOf(stage(), ann)
    const collection = "/api/v1/papers:upload"
    const each = `${collection}/{upload}`
    expect(Object.keys((await documentOf(stage(), eve)).paths)).not.toContain(each)
    const { service } = stage()
    const body = pdf()
    const begin = await announce(stage(), ann, "papers.invoice", body.length, metadata({ filename: "a.pdf" }))
    const location = begin.headers.get("location")!
    const other = await begun(stage(), ann, "papers.invoice", 5)
    const answers: ReadonlyArray<readonly [path: string, method: string, status: number, answer: Answer]> = [
      [collection, "post", 201, begin],
      [collection, "post", 201, await announce(stage(), ann, "papers.invoice", 5, pieceType, "%PDF-")],
      [collection, "post", 412, await announce(stage(), ann, "papers.invoice", 5, { "tus-resumable": "2" })],
      [collection, "post", 413, await announce(stage(), ann, "papers.invoice", 1e9)],
      [each, "head", 200, await state(stage(), ann, location)],
      [each, "get", 409, await service.get(ann, location)],
      [each, "patch", 409, await piece(stage(), ann, location, 3, body)],
      [each, "patch", 204, await piece(stage(), ann, location, 0, body)],
      [each, "get", 200, await service.get(ann, location)],
      [each, "patch", 415, await piece(stage(), ann, other, 0, "text!")],
      [each, "delete", 204, await ending(stage(), ann, location)],
      [each, "delete", 404, await ending(stage(), ann, location)],
      [each, "head", 401, await state(stage(), null, location)]
    ]
    for (const [path, method, status, answer] of answers) {
      expect([method, answer.status]).toEqual([method, status])
      described(doc, path, method, answer)
    }
  })

  it("says what a download and a cleanup answer", async () => {
    const doc = await documentOf(stage(), admin)
    const { service } = stage()
    const ticket = await ticketFor(stage(), ann, "papers.invoice", pdf(), { name: "a.pdf" })
    const paper = await create(stage(), ann, "papers", { title: "A", owner_id: "ann", invoice: ticket })
    const url = paper["invoice"]!["url"] as unknown as string
    const whole = await service.call(null, "GET", url)
    for (
      const [status, answer] of [
        [200, whole],
        [206, await service.call(null, "GET", url, { headers: { range: "bytes=0-3" } })],
        [304, await service.call(null, "GET", url, { headers: { "if-none-match": whole.headers.get("etag")! } })],
        [416, await service.call(null, "GET", url, { headers: { range: "bytes=9999-" } })],
        [403, await service.call(null, "GET", `${url}x`)],
        [404, await service.call(null, "GET", "/api/files/public/_/nothing.png")]
      ] as const
    ) {
      expect(answer.status).toBe(status)
      described(doc, download, "get", answer)
    }
    for (const [caller, status] of [[admin, 200], [ann, 403], [null, 401]] as const) {
      const answer = await service.call(caller, "POST", "/api/files:cleanup")
      expect(answer.status).toBe(status)
      described(doc, "/api/files:cleanup", "post", answer)
    }
  })
}, ["fake"])

describe("a provider with links", () => {
  onStage(
    "of a bucket",
    (stage) => {
      it("answers with a redirect that is described", async () => {
        const ticket = await ticketFor(stage(), ann, "papers.invoice", pdf(), { name: "a.pdf" })
        const paper = await create(stage(), ann, "papers", { title: "A", owner_id: "ann", invoice: ticket })
        const answer = await stage().service.call(null, "GET", paper["invoice"]!["url"] as unknown as string)
        expect(answer.status).toBe(302)
        described(await documentOf(stage(), admin), download, "get", answer)
      })

      it("says what direct uploads answer", async () => {
        const doc = await documentOf(stage(), ann)
        const { service, storages: { private: storage } } = stage()
        const collection = "/api/v1/papers:upload"
        const each = `${collection}/{upload}`
        const begin = (size: number) =>
          service.call(ann, "POST", `${collection}?field=invoice&direct=1`, { body: { name: "a.pdf", size } })
        const announced = await begin(pdf().length)
        const location = announced.headers.get("location")!
        const early = await service.call(ann, "POST", location)
        const object = new URL(announced.json["url"] as unknown as string).pathname.slice(1)
        storage.files.set(object, { bytes: pdf(), modified: 0 })
        const answers: ReadonlyArray<readonly [path: string, method: string, status: number, answer: Answer]> = [
          [collection, "post", 201, announced],
          [collection, "post", 413, await begin(1e9)],
          [collection, "post", 400, await begin(-1)],
          [each, "post", 409, early],
          [each, "get", 409, await service.get(ann, location)],
          [each, "post", 200, await service.call(ann, "POST", location)],
          [each, "get", 200, await service.get(ann, location)],
          [each, "post", 404, await service.call(admin, "POST", location)],
          [each, "post", 401, await service.call(null, "POST", location)]
        ]
        for (const [path, method, status, answer] of answers) {
          expect([method, answer.status]).toEqual([method, status])
          described(doc, path, method, answer)
        }
      })
    },
    ["fake"],
    true
  )
})
