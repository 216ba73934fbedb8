// SVG files: taken for one only where a field names them, and never shown in place.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { makeFakeStorage } from "../fakes/storage.ts"
import { startService } from "../support/composed.ts"
import type { Answered, TestService } from "../support/composed.ts"

const config = defineConfig({
  resources: [defineResource("drawings", {
    primaryKey: "id",
    fields: {
      id: f.integer().bits(64).readOnly().dbDefault(),
      drawing: f.file().optional().public().accept(["image/png", "image/svg+xml"]),
      picture: f.file().optional().accept(["image/*"]),
      any: f.file().optional()
    }
  })]
})
const admin = { id: "root", roles: ["admin"] }
const svg = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>"

describe("an SVG", () => {
  let service: TestService
  beforeAll(async () => {
    const storages = new Map(["private", "public"].map((name) => [name, makeFakeStorage().service]))
    service = await startService("fake", { config, schema: "", rows: {} }, { files: { storages } })
  })
  afterAll(() => service.close())
  const send = (field: string, raw: string, name = "a.svg") =>
    service.call(admin, "POST", `/api/v1/drawings:upload?field=${field}&name=${name}`, {
      raw,
      headers: { "content-type": "image/svg+xml" }
    })

  it("is taken where accept names it, and is an attachment without a policy for scripts", async () => {
    const sent = await send("drawing", svg)
    expect(sent.json, sent.text).toMatchObject({ file: { name: "a.svg", type: "image/svg+xml" } })
    const made = await service.call(admin, "POST", "/api/v1/drawings", { body: { drawing: sent.json["value"] } })
    const { type, url } = made.json["drawing"] as unknown as { readonly type: string; readonly url: string }
    expect(type).toBe("image/svg+xml")
    const opened = await service.call(null, "GET", url)
    expect(opened.text).toBe(svg)
    expect(Object.fromEntries(opened.headers)).toMatchObject({
      "content-type": "image/svg+xml",
      "content-disposition": expect.stringMatching(/^attachment;/) as string,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff"
    })
  })

  it("is refused where its content is another, and elsewhere stays the text that it is", async () => {
    expect((await send("drawing", "<html><svg/></html>")).status).toBe(415)
    expect((await send("picture", svg)).status).toBe(415)
    expect((await send("any", svg)).json["file"] as Answered).toMatchObject({ type: "text/plain" })
  })
})
