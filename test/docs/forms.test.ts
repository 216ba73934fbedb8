/** The guide of public forms is true: its requests are sent as they stand, in order, to the example shop, and answered as it says. */

import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, it } from "vitest"
import { solver } from "../../web/client/solve.ts"
import type { TestService } from "../support/composed.ts"
import { startShop } from "./shop.ts"

const page = readFileSync(new URL("../../docs/guides/forms.md", import.meta.url), "utf8")

let service: TestService
beforeAll(async () => {
  service = await startShop("")
})
afterAll(() => service.close())

const exchange = /^```http\n(\w+) (\S+)\n\n(?:(\{.*\})\n\n)?HTTP\/1\.1 (\d+) .+\n\n?(?:(\{.*\})\n)?```$/gm

it("every request is answered as the page says", async () => {
  const examples = [...page.matchAll(exchange)]
  expect(examples.length).toBe(page.match(/^```http$/gm)?.length)
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
