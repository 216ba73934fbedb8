// Signatures of other systems, with their published examples, with every part changed, and at the edges of the clock.
import * as Result from "effect/Result"
import { createHmac } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { isSigned } from "../../adapters/seal/webhook.ts"
import type { SignatureScheme } from "../../core/domain/hook/declaration.ts"
import { keyOfSecret, readClaim, stripeId } from "../../core/domain/hook/signature.ts"

interface Sent {
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array
}

const bytesOf = (body: string | Uint8Array): Uint8Array => typeof body === "string" ? Buffer.from(body) : body

const keyOf = (scheme: SignatureScheme, secret: string): Uint8Array => Result.getOrThrow(keyOfSecret(scheme, secret))

/** The id of a request that holds, else why it does not. */
const judge = (
  scheme: SignatureScheme,
  secrets: readonly string[],
  { body, headers }: Sent,
  now: number,
  tolerance = 300
): string | null => {
  const claim = readClaim(scheme, (name) => headers[name] ?? null, now, tolerance)
  if (Result.isFailure(claim)) return `no ${claim.failure}`
  const { id, prefix, signatures } = claim.success
  return isSigned(secrets.map((secret) => keyOf(scheme, secret)), prefix, bytesOf(body), signatures)
    ? id
    : "no signature"
}

const hmacOf = (key: string | Uint8Array, ...parts: ReadonlyArray<string | Uint8Array>): Buffer => {
  const hash = createHmac("sha256", key)
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Every request that differs from a good one in one character of one part. */
const tampered = (sent: Sent): readonly Sent[] => {
  const flipped = (text: string): readonly string[] =>
    Array.from(text, (character, at) => text.slice(0, at) + (character === "0" ? "1" : "0") + text.slice(at + 1))
  return [
    ...Object.entries(sent.headers).flatMap(([name, value]) =>
      flipped(value).map((changed) => ({ ...sent, headers: { ...sent.headers, [name]: changed } }))
    ),
    ...Object.keys(sent.headers).map((name) => ({
      ...sent,
      headers: Object.fromEntries(Object.entries(sent.headers).filter(([each]) => each !== name))
    })),
    ...flipped(String(sent.body)).map((body) => ({ ...sent, body })),
    { ...sent, body: `${String(sent.body)} ` },
    { ...sent, body: "" }
  ]
}

describe("Standard Webhooks", () => {
  // The example that the packages of the specification test themselves with.
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  const at = 1_614_265_330
  const published: Sent = {
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": String(at),
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    },
    body: "{\"test\": 2432232314}"
  }
  const signed = (id: string, seconds: number, body: string): Sent => ({
    headers: {
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": new Webhook(secret).sign(id, new Date(seconds * 1_000), body)
    },
    body
  })

  it("takes the published example, and what the package signs", () => {
    expect(judge("standard", [secret], published, at)).toBe("msg_p5jXN8AQM9LWM0D4loKWxJek")
    expect(judge("standard", [secret.slice("whsec_".length)], published, at)).toBe("msg_p5jXN8AQM9LWM0D4loKWxJek")
    for (const body of ["", "{}", "täglich 🦊", "\u{feff}{}"]) {
      expect(judge("standard", [secret], signed("evt_1", at, body), at)).toBe("evt_1")
    }
  })

  it("takes no request of which one character was changed, and none without a header", () => {
    const holds = tampered(published).filter((each) => !judge("standard", [secret], each, at)!.startsWith("no "))
    expect(holds).toEqual([])
  })

  it("takes one of several secrets and one of several signatures, and no other version", () => {
    const other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    expect(judge("standard", [other, secret], published, at)).toBe("msg_p5jXN8AQM9LWM0D4loKWxJek")
    expect(judge("standard", [other], published, at)).toBe("no signature")
    const good = published.headers["webhook-signature"]!
    const given = (signature: string): Sent => ({
      ...published,
      headers: { ...published.headers, "webhook-signature": signature }
    })
    const wrong = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    expect(judge("standard", [secret], given(`${wrong} v2,x ${good}`), at)).toBe("msg_p5jXN8AQM9LWM0D4loKWxJek")
    expect(judge("standard", [secret], given(good.replace("v1", "v2")), at)).toBe("no headers")
    expect(judge("standard", [secret], given(`${`${wrong} `.repeat(20)}${good}`), at)).toBe("no signature")
    // A second spelling of the same bytes is no signature.
    expect(judge("standard", [secret], given(good.replace("1OE=", "1OF=")), at)).toBe("no headers")
  })

  it("takes what is up to five minutes old or early", () => {
    const of = (now: number) => judge("standard", [secret], signed("evt_1", at, "{}"), now)
    expect([of(at - 300), of(at + 300)]).toEqual(["evt_1", "evt_1"])
    expect([of(at - 300.001), of(at + 300.001), of(0)]).toEqual(["no timestamp", "no timestamp", "no timestamp"])
  })

  it("takes no id that lets the signed text be cut elsewhere", () => {
    // Signed: evt_1.1614265330.1614265331.{} — as one message with an id, or as another with a longer id.
    const one = signed("evt_1", at, `${at + 1}.{}`)
    const cut: Sent = {
      headers: { ...one.headers, "webhook-id": `evt_1.${at}`, "webhook-timestamp": String(at + 1) },
      body: "{}"
    }
    expect(judge("standard", [secret], one, at)).toBe("evt_1")
    expect(judge("standard", [secret], cut, at)).toBe("no headers")
    for (const id of ["", " ", "a b", "é", "x".repeat(256)]) {
      expect(judge("standard", [secret], { ...one, headers: { ...one.headers, "webhook-id": id } }, at)).toBe(
        "no headers"
      )
    }
  })
})

describe("Stripe", () => {
  const secret = "whsec_test_secret_of_an_endpoint"
  const at = 1_492_774_577
  const body = "{\"id\":\"evt_1\",\"object\":\"event\"}"
  const sign = (key: string, seconds: number | string = at, text = body): string =>
    hmacOf(key, `${seconds}.`, text).toString("hex")
  const sent = (signature: string): Sent => ({ headers: { "stripe-signature": signature }, body })
  const good = sent(`t=${at},v1=${sign(secret)},v0=${"6".repeat(64)}`)

  it("takes the time and one of several signatures, under the text of the secret", () => {
    expect(judge("stripe", [secret], good, at)).toBeNull()
    expect(judge("stripe", ["whsec_another_secret_here", secret], good, at)).toBeNull()
    expect(judge("stripe", [secret, "whsec_another_secret_here"], good, at)).toBeNull()
    expect(judge("stripe", [secret], sent(`t=${at},v1=${sign(secret)},v1=${"0".repeat(64)}`), at)).toBeNull()
    expect(judge("stripe", [secret], sent(`t=${at},v1=${"0".repeat(64)},v1=${sign(secret)}`), at)).toBeNull()
    expect(judge("stripe", [secret], sent(`t=${at}, v1=${sign(secret).toUpperCase()}`), at)).toBeNull()
    const others = (count: number) => sent(`t=${at},${`v1=${"0".repeat(64)},`.repeat(count)}v1=${sign(secret)}`)
    expect([19, 20].map((count) => judge("stripe", [secret], others(count), at))).toEqual([null, "no signature"])
    expect(judge("stripe", ["whsec_another_secret_here"], good, at)).toBe("no signature")
  })

  it("takes no request of which one character was changed", () => {
    const strict = sent(`t=${at},v1=${sign(secret)}`)
    expect(tampered(strict).filter((each) => judge("stripe", [secret], each, at) === null)).toEqual([])
    for (
      const header of [
        "",
        `t=${at}`,
        `v1=${sign(secret)}`,
        `t=${at},v0=${sign(secret)}`,
        `t=${at},t=${at},v1=${sign(secret)}`,
        `t=1e9,v1=${sign(secret, "1e9")}`,
        `t=-1,v1=${sign(secret, "-1")}`,
        `t=,v1=${sign(secret, "")}`
      ]
    ) expect([header, judge("stripe", [secret], sent(header), at)]).toEqual([header, "no headers"])
  })

  it("takes what is as old or early as its tolerance says", () => {
    const of = (now: number, tolerance?: number) => judge("stripe", [secret], good, now, tolerance)
    expect([of(at - 300), of(at + 300), of(at + 10, 10)]).toEqual([null, null, null])
    expect([of(at - 301), of(at + 301), of(at + 10.5, 10)]).toEqual(["no timestamp", "no timestamp", "no timestamp"])
  })

  it("finds the id of an event in its body", () => {
    const of = (text: string) => stripeId(Buffer.from(text))
    expect([of(body), of("\u{feff}{\"id\":\"evt_2\"}")]).toEqual(["evt_1", "evt_2"])
    for (
      const text of [
        "",
        "[]",
        "null",
        "{}",
        "{\"id\":7}",
        "{\"id\":\"\"}",
        "{\"id\":\"a b\"}",
        "{",
        "[".repeat(100_000)
      ]
    ) {
      expect(of(text)).toBeNull()
    }
  })
})

describe("GitHub", () => {
  // The example of GitHub's documentation.
  const secret = "It's a Secret to Everybody"
  const published: Sent = {
    headers: {
      "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958"
    },
    body: "Hello, World!"
  }

  it("takes the published example, and bytes that are no text", () => {
    expect(judge("github", [secret], published, 0)).toBe("72d3162e-cc78-11e3-81ab-4c9367dc0958")
    const body = Buffer.from([0xff, 0x00, 0xfe])
    const signature = `sha256=${hmacOf(secret, body).toString("hex")}`
    expect(judge("github", [secret], { headers: { ...published.headers, "x-hub-signature-256": signature }, body }, 0))
      .toBe("72d3162e-cc78-11e3-81ab-4c9367dc0958")
  })

  it("takes no request whose signature or body was changed, no older hash, and none without its id", () => {
    const { "x-github-delivery": id, ...signature } = published.headers
    const wrong = tampered({ ...published, headers: signature as Sent["headers"] }).map((each) => ({
      ...each,
      headers: { ...each.headers, "x-github-delivery": id! }
    }))
    expect(wrong.filter((each) => !judge("github", [secret], each, 0)!.startsWith("no "))).toEqual([])
    expect(judge("github", [secret], { ...published, headers: signature as Sent["headers"] }, 0)).toBe("no headers")
    expect(judge("github", ["another secret of theirs"], published, 0)).toBe("no signature")
    const sha1 = { ...published.headers, "x-hub-signature-256": "", "x-hub-signature": "sha1=0" }
    expect(judge("github", [secret], { ...published, headers: sha1 }, 0)).toBe("no headers")
  })
})

describe("secrets", () => {
  it("are refused where they are missing, short or no secret of the scheme, and never quoted", () => {
    const wrong: ReadonlyArray<readonly [SignatureScheme, unknown]> = [
      ["standard", undefined],
      ["standard", ""],
      ["standard", 7],
      ["standard", "whsec_"],
      ["standard", "whsec_c2hvcnQ="],
      ["standard", "shor"],
      ["standard", "whsec_hidden-hidden!"],
      ["stripe", undefined],
      ["stripe", ""],
      ["stripe", "sk_live_hidden_hidden_hidden"],
      ["stripe", "whsec_hidden"],
      ["stripe", "whsec_hidden_hidden_hidden\n"],
      ["github", ""],
      ["github", "hidden"],
      ["github", " hidden hidden hidden"],
      ["github", "hidden\u0007hidden hidden"],
      ["github", "h".repeat(5_000)]
    ]
    for (const [scheme, secret] of wrong) {
      const found = keyOfSecret(scheme, secret)
      expect([scheme, secret, Result.isFailure(found)]).toEqual([scheme, secret, true])
      if (Result.isFailure(found)) expect(found.failure).not.toContain("hidden")
    }
  })
})
