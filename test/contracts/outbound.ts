/**
 * The contract of the outbound port, one suite for every implementation. A harness makes receivers; what only a network has (TLS, resolvers,
 * broken HTTP) is in test/attack/outbound.test.ts.
 */

import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { OutboundRequest, OutboundService } from "../../core/ports/outbound.ts"
import type { Receiver } from "../fakes/outbound.ts"

export interface OutboundHarness {
  readonly outbound: OutboundService
  /** A receiver of its own; gives the URL of its root. */
  readonly receive: (receiver: Receiver) => Promise<string>
  readonly close: () => Promise<void>
}

/** Runs the suite. */
export const outboundContract = (name: string, make: () => Promise<OutboundHarness>): void => {
  describe(`outbound: ${name}`, () => {
    let harness: OutboundHarness
    beforeAll(async () => {
      harness = await make()
    })
    afterAll(() => harness?.close())

    const post = (url: string, more: Partial<OutboundRequest> = {}) =>
      Effect.runPromise(Effect.result(harness.outbound.post({
        url,
        headers: { "content-type": "application/json", "x-own": "1" },
        body: "{\"text\":\"Grüße\"}",
        anyAddress: true,
        timeoutMs: 5_000,
        ...more
      })))
    const reason = async (outcome: Promise<Result.Result<unknown, { readonly reason: string }>>) =>
      Result.match(await outcome, { onFailure: (error) => error.reason, onSuccess: (answer) => answer })

    it("sends the body and the headers, and gives status and text", async () => {
      let got: OutboundRequest | undefined
      const url = await harness.receive((request) => {
        got = request
        return { status: 202, body: "taken" }
      })
      expect(await reason(post(`${url}/hook?x=1`))).toEqual({ status: 202, headers: {}, text: "taken" })
      expect(got?.body).toBe("{\"text\":\"Grüße\"}")
      expect(got?.headers).toMatchObject({ "content-type": "application/json", "x-own": "1" })
      expect(new URL(got!.url).pathname + new URL(got!.url).search).toBe("/hook?x=1")
    })

    it.each([200, 204, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503])("gives a %i as it is", async (status) => {
      const url = await harness.receive(() => ({ status }))
      expect(await reason(post(url))).toMatchObject({ status })
    })

    it("gives the headers of an answer that tell something, cut, and no cookies", async () => {
      const headers = { "retry-after": "120", "content-type": "text/plain", "x-request-id": "r".repeat(600) }
      const url = await harness.receive(() => ({
        status: 503,
        headers: { ...headers, "set-cookie": "a=hush", "x-own": "1" }
      }))
      expect(await reason(post(url))).toMatchObject({
        status: 503,
        headers: { ...headers, "x-request-id": "r".repeat(500) }
      })
    })

    it("keeps 2 KB of a long answer", async () => {
      const url = await harness.receive(() => ({ status: 200, body: "x".repeat(1_000_000) }))
      expect(await reason(post(url))).toEqual({ status: 200, headers: {}, text: "x".repeat(2_048) })
    })

    it("fails when the receiver closes the connection", async () => {
      const url = await harness.receive(() => "reset")
      expect(await reason(post(url))).toBe("unreachable")
    })

    it("fails when the receiver is silent for too long", async () => {
      const url = await harness.receive(() => "silence")
      expect(await reason(post(url, { timeoutMs: 50 }))).toBe("timeout")
    })

    it("ends with the effect that waits for it", async () => {
      let came = (): void => {}
      const arrived = new Promise<void>((resolve) => {
        came = resolve
      })
      const url = await harness.receive(() => {
        came()
        return "silence"
      })
      const request = { url, headers: {}, body: "{}", anyAddress: true, timeoutMs: 60_000 }
      const fiber = Effect.runFork(harness.outbound.post(request))
      await arrived
      await Effect.runPromise(Fiber.interrupt(fiber))
    })

    it("refuses private addresses unless they are allowed", async () => {
      let count = 0
      const url = await harness.receive(() => {
        count++
        return { status: 200 }
      })
      expect(await reason(post(url, { anyAddress: false }))).toBe("address")
      expect(await reason(Effect.runPromise(Effect.result(harness.outbound.check(url))))).toBe("address")
      expect(count).toBe(0)
    })

    it.each([
      "ftp://example.com/",
      "file:///etc/passwd",
      "//example.com",
      "http://",
      "nothing",
      "http://a:b@example.com/"
    ])(
      "refuses %s",
      async (url) => {
        expect(await reason(post(url))).toBe("url")
        expect(await reason(Effect.runPromise(Effect.result(harness.outbound.check(url))))).toBe("url")
      }
    )
  })
}
