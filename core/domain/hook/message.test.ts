// What is kept of a message, and how a job gets it back: every body byte for byte, no secret, within the limit of the queue.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { largestMessage } from "../job/definition.ts"
import { checkStored } from "../job/enqueue.ts"
import { FatalJobError } from "../job/failure.ts"
import { type HookMessage, largestBody } from "./declaration.ts"
import { encodeMessage, keptHeaders, messageSchema, mostHeaders } from "./message.ts"

const receivedAt = "2026-11-27T12:00:00.000Z"

const stored = (body: Uint8Array, headers: { readonly [name: string]: string } = {}): string =>
  Result.getOrThrow(encodeMessage({ id: "evt_1", receivedAt, headers, body }))

const read = async (json: string, schema = messageSchema(null)): Promise<HookMessage<unknown>> =>
  Result.getOrThrow(await checkStored(schema, JSON.parse(json))) as HookMessage<unknown>

describe("a message", () => {
  it("comes back byte for byte, as text where it is one", async () => {
    const texts = ["", "{}", "a=b&c=d", "täglich 🦊", "\u{feff}{}", "\\u0000 written out", "\u007f\u0001\r\n\t"]
    for (const text of texts) {
      const message = await read(stored(Buffer.from(text)))
      expect(message.body).toBe(text)
    }
    for (const bytes of [[0], [0xff], [0x61, 0, 0x62], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const message = await read(stored(Uint8Array.from(bytes)))
      expect(message.body).toEqual(Uint8Array.from(bytes))
    }
  })

  it("fits into a job, whatever its bytes and headers are", async () => {
    const bodies = [0x61, 0x22, 0x5c, 0x01, 0x00, 0xff].map((byte) => new Uint8Array(largestBody).fill(byte))
    const headers = { "x-long": "\"".repeat(mostHeaders - "x-long".length) }
    for (const body of bodies) {
      const json = stored(body, headers)
      expect(Buffer.byteLength(json)).toBeLessThanOrEqual(largestMessage)
      const message = await read(json)
      expect(Buffer.compare(Buffer.from(message.body), body)).toBe(0)
      expect(typeof message.body).toBe(body[0] === 0x61 ? "string" : "object")
    }
  })

  it("has its id, its time and its JSON, and says that there is none", async () => {
    const message = await read(stored(Buffer.from("\u{feff}{\"a\":[1]}"), { "x-event": "push" }))
    expect([message.id, message.receivedAt.toISOString(), message.headers]).toEqual([
      "evt_1",
      receivedAt,
      { "x-event": "push" }
    ])
    expect(message.json()).toEqual({ a: [1] })
    expect((await read(stored(Buffer.from("{\"a\":\"\0\"}")))).body).toBeInstanceOf(Uint8Array)
    const none = await read(stored(Buffer.from("a=b")))
    expect(() => none.json()).toThrow(FatalJobError)
  })

  it("is refused for good where the schema of its JSON refuses it", async () => {
    const schema = messageSchema(Schema.toStandardSchemaV1(Schema.Struct({ order: Schema.String })))
    expect((await read(stored(Buffer.from("{\"order\":\"17\"}")), schema)).input).toEqual({ order: "17" })
    for (const body of ["{\"order\":17}", "a=b", "", "null"]) {
      expect(Result.isFailure(await checkStored(schema, JSON.parse(stored(Buffer.from(body)))))).toBe(true)
    }
  })

  it("is none of what anybody else enqueues under its name", async () => {
    for (
      const payload of [
        null,
        7,
        {},
        [],
        { id: null, receivedAt, headers: {} },
        { id: 7, receivedAt, headers: {}, text: "" },
        {
          id: null,
          receivedAt: "yesterday",
          headers: {},
          text: ""
        },
        { id: null, receivedAt, headers: { a: 1 }, text: "" },
        { id: null, receivedAt, headers: {}, base64: "a" }
      ]
    ) expect(Result.isFailure(await checkStored(messageSchema(null), payload))).toBe(true)
  })
})

describe("its headers", () => {
  it("are those without credentials and signatures, by name in lower case", () => {
    const secrets = [
      "Authorization",
      "Proxy-Authorization",
      "Cookie",
      "Webhook-Signature",
      "Stripe-Signature",
      "X-Hub-Signature-256",
      "X-Gitlab-Token",
      "X-Telegram-Bot-Api-Secret-Token",
      "X-Shopify-Hmac-Sha256",
      "X-Api-Key",
      "X-Auth",
      "X-Auth-Key",
      "X-Access-Key",
      "X-Functions-Key",
      "Ocp-Apim-Subscription-Key",
      "X-Goog-IAP-JWT-Assertion",
      "X-Sender-Sig"
    ]
    const kept = { "x-github-event": "push", "idempotency-key": "k1", "x-author": "ann", "x-sigma": "1" }
    expect(keptHeaders([...secrets.map((name) => [name, "hush"] as const), ...Object.entries(kept)])).toEqual(kept)
    expect(keptHeaders([["__proto__", "x"]])).toEqual(JSON.parse("{\"__proto__\":\"x\"}"))
  })

  it("are at most 16 KiB", () => {
    expect(keptHeaders([["a", "x".repeat(mostHeaders - 1)]])).not.toBeNull()
    expect(keptHeaders([["a", "x".repeat(mostHeaders)]])).toBeNull()
    expect(keptHeaders([["cookie", "x".repeat(mostHeaders)]])).toEqual({})
  })
})
