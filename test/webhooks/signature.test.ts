import * as Result from "effect/Result"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { hmac, newWebhookSecret, verifyStandardWebhook, WebhookSignatureError } from "../../adapters/seal/webhook.ts"
import { readSecret, signatureHeader, signedContent } from "../../core/domain/event/signature.ts"

const secret = newWebhookSecret()
const other = newWebhookSecret()
const body = JSON.stringify({ id: "evt_1", text: "Grüße, 世界 😀" })
const now = new Date("2026-11-23T08:00:00Z")
const seconds = now.getTime() / 1_000

const sign = (at: number, ...secrets: readonly string[]) => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": String(at),
  "webhook-signature": signatureHeader(
    secrets.map((each) => hmac(Result.getOrThrow(readSecret(each)), signedContent("evt_1", at, body)))
  )
})

describe("signatures", () => {
  it("are those of the standardwebhooks package", () => {
    const headers = sign(seconds, secret)
    expect(headers["webhook-signature"]).toBe(new Webhook(secret).sign("evt_1", now, body))
    const present = Math.floor(Date.now() / 1_000)
    expect(new Webhook(secret).verify(body, sign(present, secret))).toEqual(JSON.parse(body))
    expect(new Webhook(secret).verify(body, sign(present, other, secret))).toEqual(JSON.parse(body))
    expect(() => new Webhook(secret).verify(body, sign(present, other))).toThrow()
  })

  it("of the standardwebhooks package are verified", () => {
    const headers = { ...sign(seconds), "webhook-signature": new Webhook(secret).sign("evt_1", now, body) }
    expect(verifyStandardWebhook({ headers, body }, secret, { now })).toEqual({
      id: "evt_1",
      timestamp: seconds,
      event: JSON.parse(body)
    })
    expect(verifyStandardWebhook({ headers: new Headers(headers), body }, [other, secret], { now }).id).toBe("evt_1")
  })

  const headers = sign(seconds, secret)
  it.each<[string, Partial<typeof headers>, string, string]>([
    ["another body", {}, `${body} `, secret],
    ["another id", { "webhook-id": "evt_2" }, body, secret],
    ["another time", { "webhook-timestamp": String(seconds + 1) }, body, secret],
    ["another secret", {}, body, other],
    ["no signature", { "webhook-signature": "" }, body, secret],
    [
      "a signature of another version",
      { "webhook-signature": headers["webhook-signature"].replace("v1", "v2") },
      body,
      secret
    ],
    ["a cut signature", { "webhook-signature": headers["webhook-signature"].slice(0, -2) }, body, secret],
    ["a time that is none", { "webhook-timestamp": "now" }, body, secret],
    ["six minutes ago", sign(seconds - 360, secret), body, secret],
    ["in six minutes", sign(seconds + 360, secret), body, secret]
  ])("with %s are refused", (_, changed, sent, key) => {
    expect(() => verifyStandardWebhook({ headers: { ...headers, ...changed }, body: sent }, key, { now }))
      .toThrow(WebhookSignatureError)
  })

  it("within five minutes are taken", () => {
    for (const at of [seconds - 299, seconds + 299]) {
      expect(verifyStandardWebhook({ headers: sign(at, secret), body }, secret, { now }).timestamp).toBe(at)
    }
  })

  it("of a body that is no JSON are refused after they were verified", () => {
    const text = "not json"
    const signed = {
      ...headers,
      "webhook-signature": signatureHeader([
        hmac(Result.getOrThrow(readSecret(secret)), signedContent("evt_1", seconds, text))
      ])
    }
    expect(() => verifyStandardWebhook({ headers: signed, body: text }, secret, { now })).toThrow("not JSON")
  })
})

describe("requests that the package of the standard takes", () => {
  const short = btoa("short")
  it.each([
    ["a secret without its prefix", secret.slice(6), body, (each: object) => each],
    ["a short secret", `whsec_${short}`, body, (each: object) => each],
    ["a long secret", btoa("k".repeat(200)), body, (each: object) => each],
    [
      "names of headers in capitals",
      secret,
      body,
      (each: object) => Object.fromEntries(Object.entries(each).map(([name, value]) => [name.toUpperCase(), value]))
    ],
    ["an empty body", secret, "", (each: object) => each]
  ])("are taken with %s, as text and as bytes", (_, key, sent, change) => {
    const theirs = new Webhook(key)
    const at = new Date()
    const made = change({
      "webhook-id": "evt_1",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": theirs.sign("evt_1", at, sent)
    }) as Record<string, string>
    const event = theirs.verify(sent, made)
    expect(verifyStandardWebhook({ headers: made, body: sent }, key).event).toEqual(event)
    expect(verifyStandardWebhook({ headers: made, body: Buffer.from(sent) }, key).event).toEqual(event)
    expect(() => verifyStandardWebhook({ headers: made, body: `${sent} ` }, key)).toThrow(WebhookSignatureError)
  })
})

describe("secrets", () => {
  it("are new each time and have 32 bytes", () => {
    expect(secret).not.toBe(other)
    expect(Result.getOrThrow(readSecret(secret))).toHaveLength(32)
  })

  it.each(["whsec_AAAA", secret.slice(6), `whsec_${btoa("k".repeat(15))}`, `whsec_${btoa("k".repeat(129))}`])(
    "like %j sign nothing of ours",
    (weak) => expect(Result.isFailure(readSecret(weak))).toBe(true)
  )

  it.each([
    "",
    "whsec_",
    "whsec_###",
    `${secret}=`,
    "whsec_AAAAAAAAAAAAAAAAAAAAAAAA=",
    btoa("k".repeat(4_097)),
    null,
    5
  ])(
    "like %j are refused",
    (wrong) => {
      expect(Result.isFailure(readSecret(wrong))).toBe(true)
      expect(() => verifyStandardWebhook({ headers: sign(seconds, secret), body }, wrong as string, { now })).toThrow(
        TypeError
      )
    }
  )
})
