/** What scenarios say about answers: the exact shape of problems, and paths with query parameters. */

import { expect } from "vitest"
import { problemKinds } from "../../core/domain/problem.ts"
import type { ProblemSlug } from "../../core/domain/problem.ts"
import type { Answer } from "./composed.ts"

/** Parameters in order; a list repeats the name. */
export type Query = { readonly [name: string]: string | number | boolean | readonly string[] }

/** A path below `/api/v1` with an encoded query. */
export const at = (resource: string, query: Query = {}): string => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value as readonly string[] : [String(value)]).map((each) =>
      `${encodeURIComponent(name)}=${encodeURIComponent(each)}`
    )
  )
  return `/api/v1/${resource}${pairs.length === 0 ? "" : `?${pairs.join("&")}`}`
}

/** The whole problem document and the headers every problem has. `members` must be all there are besides the five of RFC 9457. */
export const expectProblem = (
  answer: Answer,
  slug: ProblemSlug,
  instance: string,
  members: { readonly [member: string]: unknown } = {},
  detail?: string
): void => {
  const { status, title } = problemKinds[slug]
  expect(answer.json).toEqual({
    type: `urn:service:problem:${slug}`,
    title,
    status,
    detail: detail ?? expect.stringMatching(/^["A-Z].*\.$/s),
    instance,
    ...members
  })
  expect(answer.status).toBe(status)
  expect(answer.headers.get("content-type")).toBe("application/problem+json")
  expect(answer.headers.get("cache-control")).toBe("no-store")
  expect(answer.headers.get("x-meta-version")).toMatch(/^[\w-]{8,}$/)
  expect(answer.headers.get("x-request-id")).not.toBeNull()
}

/** `errors` of an `invalid-parameter` about one parameter. What there is not comes with what there is. */
export const expectParameter = (answer: Answer, instance: string, parameter: string, message?: string): void => {
  const wording: unknown = expect.stringMatching(/^["A-Z].*\.$/s)
  const absent = /"There is no (?:parameter|relation) /.test(answer.text)
  expectProblem(answer, "invalid-parameter", instance, {
    errors: [{ parameter, message: message ?? wording, ...(absent ? { hint: wording } : {}) }]
  }, message)
}

/**
 * The answer to a request with quick patterns in it. A pattern has half a second; a machine that stands still for so long makes any a slow one, and is
 * asked again. One that is slow by itself is so each time.
 */
export const quickly = async (ask: () => Promise<Answer>): Promise<Answer> => {
  let answer = await ask()
  for (let again = 0; again < 5 && answer.text.includes("\"slow-pattern\""); again++) answer = await ask()
  return answer
}

/** The answer to a request under a time limit that the test made short. What should be within it and is not is asked again, as by `quickly`. */
export const inTime = async (ask: () => Promise<Answer>): Promise<Answer> => {
  let answer = await ask()
  for (let again = 0; again < 20 && answer.status === 504; again++) answer = await ask()
  return answer
}

/**
 * The answer to a request through relations, which has little time: a machine that stands still makes any a slow one, and is asked again. One that is slow
 * by itself is so each time.
 */
export const related = async (ask: () => Promise<Answer>): Promise<Answer> => {
  let answer = await ask()
  for (let again = 0; again < 5 && answer.text.includes("\"related-records\""); again++) answer = await ask()
  return answer
}

/** One member of every item. */
export const pluck = (answer: Answer, field: string): readonly unknown[] => {
  expect(answer.status, answer.text).toBe(200)
  return (answer.json["items"] as unknown as ReadonlyArray<{ readonly [name: string]: unknown }>).map((item) =>
    item[field]
  )
}
