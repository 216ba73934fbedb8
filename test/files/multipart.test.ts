// Forms as browsers and upload libraries send them, over connections that stay open: text parts beside the file, and what is refused.
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { mkdtemp, rm } from "node:fs/promises"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { listen } from "../../adapters/http/node.ts"
import type { Listener } from "../../adapters/http/node.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { startService, tokenOf } from "../support/composed.ts"
import type { Answered, TestService } from "../support/composed.ts"

const config = defineConfig({
  resources: [defineResource("docs", {
    primaryKey: "id",
    fields: { id: f.integer().bits(64).readOnly().dbDefault(), file: f.file().optional() }
  })]
})
const admin = { id: "root", roles: ["admin"] }

type Part = readonly [name: string, value: string, file?: string]

const text = (name: string, value: string): Part => [name, value]
const file = (size = 20): Part => ["file", "x".repeat(size), "a.txt"]

const formOf = (parts: readonly Part[], end = "--b--\r\n"): string =>
  parts.map(([name, value, file]) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${
      file === undefined ? "" : `; filename="${file}"\r\nContent-Type: text/plain`
    }\r\n\r\n${value}\r\n`
  ).join("") + end

describe("multipart forms", () => {
  let folder: string
  let service: TestService
  let listener: Listener
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "multipart-"))
    service = await startService("fake", { config, schema: "", rows: {} }, {
      parts: { fileSettings: { folder, data: folder, keys: () => null, retention: null } }
    })
    listener = await listen(service.edge, { port: 0 })
  })
  afterAll(async () => {
    agent.destroy()
    await listener.close()
    await service.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Sends a request over the one connection that there is. */
  const call = (method: string, path: string, body: string | null) =>
    new Promise<{ readonly status: number; readonly json: Answered; readonly reused: boolean }>((resolve, reject) => {
      const sent = request({
        agent,
        method,
        path,
        host: "127.0.0.1",
        port: listener.port,
        headers: {
          authorization: `Bearer ${tokenOf(admin)}`,
          ...(body === null
            ? {}
            : { "content-type": "multipart/form-data; boundary=b", "content-length": String(body.length) })
        }
      }, (answer) => {
        let read = ""
        answer.on("data", (chunk: Buffer) => read += chunk.toString())
        answer.on(
          "end",
          () => resolve({ status: answer.statusCode!, json: JSON.parse(read) as Answered, reused: sent.reusedSocket })
        )
      })
      sent.on("error", reject)
      sent.end(body ?? undefined)
    })

  const send = (body: string) => call("POST", "/api/v1/docs:upload?field=file", body)

  it.each<readonly [what: string, parts: readonly Part[]]>([
    ["before the file", [text("name", "a.txt"), text("type", "text/plain"), file()]],
    ["behind the file", [file(), text("relativePath", "null")]],
    ["around a large file", [text("csrf", "x".repeat(3_000)), file(300_000), text("send", "Send")]]
  ])("may have text parts %s", async (_, parts) => {
    const answer = await send(formOf(parts))
    const size = parts.find(([name]) => name === "file")![1].length
    expect(answer).toMatchObject({ status: 201, json: { file: { name: "a.txt", type: "text/plain", size } } })
  })

  it.each<readonly [what: string, body: string, slug: string]>([
    ["two files", formOf([file(), file()]), "invalid-parameter"],
    ["two files and much more", formOf([file(), file(200_000)]), "invalid-parameter"],
    ["text only", formOf([text("file", "text")]), "invalid-parameter"],
    ["nothing", formOf([]), "invalid-parameter"],
    ["more text than a form needs", formOf([text("a", "x".repeat(100_000)), file(100_000)]), "invalid-parameter"],
    [
      "more parts than a form needs",
      formOf([...Array.from({ length: 60 }, (_, i) => text(`a${i}`, "")), file()]),
      "invalid-parameter"
    ],
    ["no end", formOf([file()], ""), "malformed-request"],
    ["no end behind its file", formOf([file(), text("a", "b")], "--b\r\nContent-Disp"), "malformed-request"],
    ["no part", "something else", "malformed-request"]
  ])("with %s are refused, and their connection goes on", async (_, body, slug) => {
    const answer = await send(body)
    expect(answer).toMatchObject({ status: 400, json: { type: `urn:service:problem:${slug}` } })
    expect(JSON.stringify(answer.json)).not.toContain("JSON")
    expect(await call("GET", "/api/v1/docs", null)).toMatchObject({ status: 200, reused: true })
  })
})
