// The pool of the auth store, the queue and migrations, against a server that answers when the test says so.
import { createServer, type Socket } from "node:net"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { until } from "../test/http/edge-app.ts"
import { openPool } from "./database.ts"

const message = (type: string, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const ready = message("Z", Buffer.from("I"))
const welcome = Buffer.concat([message("R", Buffer.alloc(4)), ready])
const done = Buffer.concat([message("C", Buffer.from("SET\0")), ready])

const held: Array<() => void> = []
let holds = false
const server = createServer((socket: Socket) => {
  let greeted = false
  socket.on("error", () => {})
  socket.on("data", (data) => {
    if (!greeted) {
      greeted = true
      return void socket.write(welcome)
    }
    if (String.fromCharCode(data[0]!) !== "Q") return
    if (holds) held.push(() => socket.write(done))
    else socket.write(done)
  })
})
beforeEach(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
afterEach(() => {
  vi.useRealTimers()
  server.close()
})

it("lets go of a connection for which its caller no longer waited", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  const { port } = server.address() as { readonly port: number }
  const pool = openPool(`postgres://user@127.0.0.1:${port}/none?sslmode=disable`, 1)
  const first = await pool.connect()
  const second = pool.connect().then(() => "connected", (error: Error) => error.message)
  // The connection that it waits for breaks: a new one is made for it, whose first statement takes longer than it waits.
  holds = true
  await new Promise(setImmediate)
  first.release(true)
  await until(() => held.length === 1)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await second).toContain("timeout exceeded")
  holds = false
  for (const answer of held.splice(0)) answer()
  // The only connection is free again, and the pool comes to its end.
  const third = await pool.connect()
  third.release()
  await pool.end()
})
