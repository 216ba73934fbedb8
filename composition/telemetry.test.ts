import * as Effect from "effect/Effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "vitest"
import { openTelemetry } from "./telemetry.ts"

/** What a collector gets for one span, as text. */
const sent = async (variables: { readonly [name: string]: string }): Promise<string> => {
  const received: Buffer[] = []
  const collector = createServer((request, response) => {
    request.on("data", (chunk: Buffer) => received.push(chunk))
    request.on("end", () => response.end())
  })
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve))
  try {
    const { port } = collector.address() as AddressInfo
    const telemetry = await openTelemetry({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      // A machine that stands still for a while must not end what is being sent.
      OTEL_EXPORTER_OTLP_TIMEOUT: "60000",
      ...variables
    })
    await Effect.runPromiseWith(telemetry.context)(Effect.withSpan(Effect.void, "a-span"))
    await telemetry.close()
  } finally {
    collector.closeAllConnections()
    await new Promise((resolve) => collector.close(resolve))
  }
  const text = Buffer.concat(received).toString("latin1")
  expect(text).toContain("a-span")
  return text
}

describe("the name of the service in telemetry", () => {
  it.each<readonly [variables: { readonly [name: string]: string }, name: string]>([
    [{}, "resource-admin"],
    [{ OTEL_RESOURCE_ATTRIBUTES: "deployment=blue" }, "resource-admin"],
    [{ OTEL_RESOURCE_ATTRIBUTES: "deployment=blue,service.name=shop-api" }, "shop-api"],
    [{ OTEL_RESOURCE_ATTRIBUTES: "service.name=shop-api", OTEL_SERVICE_NAME: "orders-api" }, "orders-api"]
  ])("with %j is %s", async (variables, name) => {
    const names = ["resource-admin", "shop-api", "orders-api"]
    const text = await sent(variables)
    expect(names.filter((each) => text.includes(each))).toEqual([name])
  })
})
