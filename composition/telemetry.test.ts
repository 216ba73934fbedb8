import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { openTelemetry } from "./telemetry.ts"

/** A collector, and what it has got so far. */
const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const received: Buffer[] = []
    const server = createServer((request, response) => {
      request.on("data", (chunk: Buffer) => received.push(chunk))
      request.on("end", () => response.end())
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return { server, port: (server.address() as AddressInfo).port, received }
  }),
  ({ server }) =>
    Effect.promise(() => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    })
)

/** What a collector gets for one span, as text. */
const sent = Effect.fnUntraced(function*(variables: { readonly [name: string]: string }) {
  const { port, received } = yield* collector
  const telemetry = yield* Effect.promise(() =>
    openTelemetry({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      // A machine that stands still for a while must not end what is being sent.
      OTEL_EXPORTER_OTLP_TIMEOUT: "60000",
      ...variables
    })
  )
  yield* Effect.provide(Effect.withSpan(Effect.void, "a-span"), telemetry.context)
  yield* Effect.promise(telemetry.close)
  const text = Buffer.concat(received).toString("latin1")
  expect(text).toContain("a-span")
  return text
})

describe("the name of the service in telemetry", () => {
  it.live.each<readonly [variables: { readonly [name: string]: string }, name: string]>([
    [{}, "resource-admin"],
    [{ OTEL_RESOURCE_ATTRIBUTES: "deployment=blue" }, "resource-admin"],
    [{ OTEL_RESOURCE_ATTRIBUTES: "deployment=blue,service.name=shop-api" }, "shop-api"],
    [{ OTEL_RESOURCE_ATTRIBUTES: "service.name=shop-api", OTEL_SERVICE_NAME: "orders-api" }, "orders-api"]
  ])("with %j is %s", ([variables, name]) =>
    Effect.gen(function*() {
      const names = ["resource-admin", "shop-api", "orders-api"]
      const text = yield* sent(variables)
      expect(names.filter((each) => text.includes(each))).toEqual([name])
    }))
})
