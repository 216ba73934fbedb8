// Bodies of another length than was announced: nothing of them is stored. The bucket here is a server that takes everything and keeps nothing.
import * as Effect from "effect/Effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { Bytes, StorageService } from "../../core/ports/storage.ts"
import { gatheredBytes } from "./connection.ts"
import { makeBucketStorage } from "./storage.ts"

let taken = 0
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    taken++
    response.end()
  })
})
let storage: StorageService
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  storage = makeBucketStorage({
    bucket: "files",
    prefix: "",
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: "us-east-1",
    pathStyle: null,
    accessKeyId: "key",
    secretAccessKey: "secret"
  })
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

async function* body(bytes: number): Bytes {
  const half = bytes >> 1
  yield new Uint8Array(half)
  yield new Uint8Array(bytes - half)
}

const put = (bytes: number, size: number): Promise<number | string> =>
  Effect.runPromise(Effect.match(storage.put("a.bin", body(bytes), { type: "image/png", size }), {
    onFailure: ({ reason }) => reason,
    onSuccess: (stored) => stored
  }))

it.each([["one request", 10], ["a stream", gatheredBytes + 10]])(
  "stores no body of another length, as %s",
  async (_, size) => {
    taken = 0
    expect([await put(size - 1, size), await put(size + 1, size), taken]).toEqual(["Body", "Body", 0])
    expect([await put(size, size), taken]).toEqual([size, 1])
  }
)
