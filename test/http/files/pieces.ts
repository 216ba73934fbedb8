/** Uploads in pieces as a client of tus 1.0 sends them, for scenarios. */

import { expect } from "vitest"
import type { Answer, CallOptions, TestCaller, TestService } from "../../support/composed.ts"

export const tus = { "tus-resumable": "1.0.0" }
export const pieceType = { "content-type": "application/offset+octet-stream" }

type Headers = { readonly [name: string]: string }
type Served = { readonly service: TestService }

/** The value of `Upload-Metadata`. */
export const metadata = (values: { readonly [key: string]: string }): Headers => ({
  "upload-metadata": Object.entries(values).map(([key, value]) => `${key} ${Buffer.from(value).toString("base64")}`)
    .join(",")
})

/** Announces a file for `resource.field`. */
export const announce = (
  { service }: Served,
  caller: TestCaller | null,
  place: string,
  length: number | string,
  headers: Headers = {},
  raw?: CallOptions["raw"]
): Promise<Answer> => {
  const [resource, field] = place.split(".")
  return service.call(caller, "POST", `/api/v1/${resource}:upload?field=${field}`, {
    headers: { ...tus, "upload-length": String(length), ...headers },
    ...(raw === undefined ? {} : { raw })
  })
}

/** Announces a file, and gives its address. */
export const begun = async (...args: Parameters<typeof announce>): Promise<string> => {
  const answer = await announce(...args)
  expect(answer.status, answer.text).toBe(201)
  return answer.headers.get("location")!
}

export const piece = (
  { service }: Served,
  caller: TestCaller | null,
  location: string,
  offset: number | string,
  raw: NonNullable<CallOptions["raw"]>,
  headers: Headers = {}
): Promise<Answer> =>
  service.call(caller, "PATCH", location, {
    raw,
    headers: { ...tus, ...pieceType, "upload-offset": String(offset), ...headers }
  })

export const state = ({ service }: Served, caller: TestCaller | null, location: string): Promise<Answer> =>
  service.call(caller, "HEAD", location, { headers: tus })

/** Where the next piece begins. */
export const offsetOf = async (...args: Parameters<typeof state>): Promise<number> => {
  const answer = await state(...args)
  expect(answer.status).toBe(200)
  return Number(answer.headers.get("upload-offset"))
}

export const ending = ({ service }: Served, caller: TestCaller | null, location: string): Promise<Answer> =>
  service.call(caller, "DELETE", location, { headers: tus })
