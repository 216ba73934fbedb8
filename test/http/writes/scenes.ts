/** What the write scenarios share: one service for each backend of a file, and records made for one test each. */

import { afterAll, beforeAll, describe, expect } from "vitest"
import { startService } from "../../support/composed.ts"
import type { Answer, Answered, Fixture, StartOptions, TestCaller, TestService } from "../../support/composed.ts"
import { ann } from "../../support/ledger.ts"

/** Runs the suite on the records fake and on PostgreSQL. At the end nothing may have become a 500 that no test took away. */
export const onBoth = (name: string, fixture: () => Fixture, suite: Suite): void => {
  for (const backend of ["fake", "postgres"] as const) on(backend, name, fixture, suite)
}

type Suite = (use: () => TestService, backend: TestService["backend"]) => void

export const on = (
  backend: TestService["backend"],
  name: string,
  fixture: () => Fixture,
  suite: Suite,
  options: StartOptions = {}
): void => {
  describe(`${name}, ${backend}`, () => {
    let service: TestService | undefined
    beforeAll(async () => {
      service = await startService(backend, fixture(), options)
    })
    afterAll(async () => {
      if (service === undefined) return
      await service.close()
      expect(service.unhandled).toEqual([])
    })
    suite(() => service!, backend)
  })
}

/** Takes the errors that became a 500 so far. */
export const takeUnhandled = (service: TestService): readonly unknown[] => (service.unhandled as unknown[]).splice(0)

export interface Made {
  readonly path: string
  readonly id: string
  readonly etag: string
  readonly record: Answered
}

export const base = "/api/v1"

/** Creates a record or fails the test. */
export const make = async (
  service: TestService,
  caller: TestCaller,
  resource: string,
  body: { readonly [field: string]: unknown }
): Promise<Made> => {
  const answer = await service.call(caller, "POST", `${base}/${resource}`, { body })
  expect(answer.status, answer.text).toBe(201)
  const path = answer.headers.get("location")!
  return {
    path,
    id: path.split("/").at(-1)!,
    etag: answer.headers.get("etag")!,
    record: answer.json
  }
}

/** An account of Ann's, or of whom `owner` names. */
export const makeAccount = (
  service: TestService,
  more: { readonly [field: string]: unknown } = {},
  caller = ann
): Promise<Made> => make(service, caller, "accounts", { name: "made", ...more })

export const patch = (
  service: TestService,
  caller: TestCaller,
  path: string,
  body: unknown,
  ifMatch: string | null = "*",
  headers: { readonly [name: string]: string } = {}
): Promise<Answer> =>
  service.call(caller, "PATCH", path, {
    body,
    headers: { ...headers, ...(ifMatch === null ? {} : { "if-match": ifMatch }) }
  })

export const batch = (
  service: TestService,
  caller: TestCaller,
  ops: unknown,
  headers: { readonly [name: string]: string } = {},
  query = ""
): Promise<Answer> => service.call(caller, "POST", `${base}:batchWrite${query}`, { body: { ops }, headers })

/** `field code` of each error of an `invalid-record`. */
export const codes = (answer: Answer): readonly string[] =>
  (answer.json["errors"] as unknown as ReadonlyArray<{ readonly field?: string; readonly code: string }>)
    .map(({ code, field }) => `${field ?? "-"} ${code}`)

/** The record as a get shows it, without permissions. */
export const read = async (service: TestService, caller: TestCaller, path: string): Promise<Answered> => {
  const answer = await service.get(caller, path)
  expect(answer.status, answer.text).toBe(200)
  const { permissions: _, ...record } = answer.json as unknown as { readonly [member: string]: Answered }
  return record as unknown as Answered
}
