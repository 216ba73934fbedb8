/** The guide of public forms is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { afterAll, beforeAll, expect, it } from "vitest"
import { solver } from "../../web/client/solve.ts"
import type { TestService } from "../support/composed.ts"
import { examplesOf } from "./blocks.ts"
import { startShop } from "./shop.ts"

let service: TestService
beforeAll(async () => {
  service = await startShop("")
})
afterAll(() => service.close())

const exchange = /^(\w+) (\S+)\n\n(?:(\{.*\})\n\n)?HTTP\/1\.1 (\d+) .+\n\n?(?:(\{.*\})\n)?$/

it("every request is answered as the page says", async () => {
  const examples = examplesOf("docs/guides/forms.md", "http").map(({ text }) =>
    exchange.exec(text) ?? expect.fail(text)
  )
  expect(examples.length).toBeGreaterThan(3)
  for (const [, method = "", path = "", body, status = "", answer] of examples) {
    const given = await service.get(null, "/api/forms/contact:challenge")
    const { challenge, difficulty } = given.json as unknown as {
      readonly challenge: string
      readonly difficulty: number
    }
    const proof = JSON.stringify({ challenge, solution: solver(challenge, difficulty)(2 ** 31) })
    const actual = await service.call(
      null,
      method,
      path,
      body === undefined ? {} : { body: body.replace("\"solved\"", proof) }
    )
    expect(actual.status, `${path}: ${actual.text}`).toBe(Number(status))
    if (answer !== undefined) expect(actual.json, path).toMatchObject(JSON.parse(answer) as object)
  }
})
