// OpenTelemetry end to end: a collector on loopback sees the stages of a request as spans of one trace, and the service's own numbers.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startServer } from "../../composition/server.ts"
import { openCluster } from "../support/cluster.ts"
import type { TestCluster } from "../support/cluster.ts"
import { KeepAlive } from "../support/load.ts"
import { clientOf, config, pause, prepare, signOf, untilServing, untilTrue, watchMachine } from "./fixture.ts"
import type { Ready } from "./fixture.ts"

let cluster: TestCluster
let ready: Ready

beforeAll(async () => {
  cluster = await openCluster()
  ready = await prepare(cluster)
})
afterAll(async () => {
  await ready?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

interface Collector extends AsyncDisposable {
  readonly url: string
  /** Bodies by path, as bytes: protobuf keeps names and texts as they are. */
  readonly received: Map<string, Buffer[]>
}

/** Takes what exporters send; `answers` false: takes connections and says nothing. */
const openCollector = async (answers = true): Promise<Collector> => {
  const received = new Map<string, Buffer[]>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const path = request.url ?? ""
      received.set(path, [...received.get(path) ?? [], Buffer.concat(chunks)])
      if (answers) response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
    })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    [Symbol.asyncDispose]: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      })
  }
}

// ----------------------------------------------------------------------------------------------------------- protobuf

interface Part {
  readonly field: number
  readonly value: Buffer | bigint
}

/** The fields of a protobuf message, nested ones still as bytes. */
const parts = (bytes: Buffer): readonly Part[] => {
  const found: Part[] = []
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n;; shift += 7n) {
      const byte = bytes[at++]!
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const wire = tag & 7
    if (wire === 0) found.push({ field: tag >> 3, value: varint() })
    else {
      const length = wire === 2 ? Number(varint()) : wire === 1 ? 8 : 4
      found.push({ field: tag >> 3, value: bytes.subarray(at, at + length) })
      at += length
    }
  }
  return found
}

const nested = (bytes: Buffer, ...path: readonly number[]): readonly Buffer[] =>
  path.length === 0
    ? [bytes]
    : parts(bytes).flatMap(({ field, value }) =>
      field === path[0] && typeof value !== "bigint" ? nested(value, ...path.slice(1)) : []
    )

const attributes = (bytes: Buffer, field: number): { readonly [name: string]: string } =>
  Object.fromEntries(
    nested(bytes, field).map((pair) => [
      nested(pair, 1)[0]!.toString(),
      // A string, or the bytes of a number, which is no matter here.
      nested(pair, 2, 1)[0]?.toString() ?? ""
    ])
  )

interface Span {
  readonly trace: string
  readonly id: string
  readonly parent: string
  readonly name: string
}

/** ExportTraceServiceRequest: resource_spans 1, scope_spans 2, spans 2. */
const spansOf = ({ received }: Collector): readonly Span[] =>
  (received.get("/v1/traces") ?? []).flatMap((body) => nested(body, 1, 2, 2)).map((span) => ({
    trace: nested(span, 1)[0]?.toString("hex") ?? "",
    id: nested(span, 2)[0]?.toString("hex") ?? "",
    parent: nested(span, 4)[0]?.toString("hex") ?? "",
    name: nested(span, 5)[0]?.toString() ?? ""
  }))

interface Series {
  readonly name: string
  readonly unit: string
  readonly attributes: { readonly [name: string]: string }
  /** Observations of a histogram. */
  readonly count: number
}

/** ExportMetricsServiceRequest: resource_metrics 1, scope_metrics 2, metrics 2; gauge 5, histogram 9, data points 1. */
const seriesOf = ({ received }: Collector): readonly Series[] => {
  const last = received.get("/v1/metrics")?.at(-1)
  return last === undefined ? [] : nested(last, 1, 2, 2).flatMap((metric) => {
    const name = nested(metric, 1)[0]?.toString() ?? ""
    const unit = nested(metric, 3)[0]?.toString() ?? ""
    return [
      ...nested(metric, 5, 1).map((point) => ({ name, unit, attributes: attributes(point, 7), count: 0 })),
      ...nested(metric, 9, 1).map((point) => ({
        name,
        unit,
        attributes: attributes(point, 9),
        count: Number(nested(point, 4)[0]?.readBigUInt64LE() ?? 0n)
      }))
    ]
  })
}

describe("telemetry", () => {
  it("sends the stages of a list as spans of the client's trace, and durations by route", async () => {
    await using collector = await openCollector()
    const server = await startServer(config, {
      env: ready.env({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
        // What is left at the end must arrive here, however long that takes.
        OTEL_EXPORTER_OTLP_TIMEOUT: "60000"
      }),
      port: 0,
      log: () => {}
    })
    const connection = new KeepAlive(server.port)
    const { get } = clientOf(ready.bearer)
    // The first may have to be refused, when the database is late with what it needs: before its route is looked for.
    let refused = 0
    await untilTrue(async () => {
      const { status } = (await connection.send(get("/entries/1")))!
      if (status === 503) refused++
      else expect(status).toBe(200)
      return status === 200
    })
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    const list = get("/entries?page_size=5&filter=amount%20%3E%203")
    const answered = await connection.send({
      ...list,
      headers: { ...list.headers, traceparent: `00-${trace}-00f067aa0ba902b7-01` }
    })
    expect(answered?.status).toBe(200)
    for (const id of [2, 3]) expect((await connection.send(get(`/entries/${id}`)))?.status).toBe(200)
    expect((await connection.send(get("/entries/4711")))?.status).toBe(404)
    for (const name of ["nothing-here", "neither-here"]) {
      expect((await connection.send(get(`/${name}/5`)))?.status).toBe(404)
    }
    connection.close()
    await server.close()

    const spans = spansOf(collector).filter((span) => span.trace === trace)
    const [root] = spans.filter(({ name }) => name === "HTTP GET")
    expect(root?.parent).toBe("00f067aa0ba902b7")
    const stages = spans.filter(({ parent }) => parent === root?.id).map(({ name }) => name)
    expect(stages).toEqual(
      expect.arrayContaining(["authenticate", "list.parse", "list.access", "list.plan", "list.execute", "list.present"])
    )

    const series = seriesOf(collector)
    const durations = series.filter(({ name }) => name === "http.server.request.duration")
    expect(new Set(durations.map(({ unit }) => unit))).toEqual(new Set(["s"]))
    const counted = Object.fromEntries(durations.map(({ attributes, count }) => [
      `${attributes["http.request.method"]} ${attributes["http.route"]} ${attributes["http.response.status_code"]}`,
      count
    ]))
    expect(counted).toEqual({
      "GET /api/v1/entries 200": 1,
      "GET /api/v1/entries/{key} 200": 3,
      "GET /api/v1/entries/{key} 404": 1,
      // No name that nobody declared.
      "GET undefined 404": 2,
      ...(refused === 0 ? {} : { "GET undefined 503": refused })
    })
    const pools = series.filter(({ name }) => name.startsWith("db.client.connection.")).map(({ attributes, name }) =>
      `${name} ${attributes["db.client.connection.pool.name"]}`
    )
    for (const name of ["count", "max", "pending_requests", "timeouts"]) {
      for (const pool of ["read", "write"]) expect(pools).toContain(`db.client.connection.${name} ${pool}`)
    }
  })

  it("neither delays answers nor the end when the collector is away or silent", async () => {
    await using silent = await openCollector(false)
    for (const endpoint of [silent.url, "http://127.0.0.1:9"]) {
      const server = await startServer(config, {
        env: ready.env({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: "300" }),
        port: 0,
        log: () => {}
      })
      await untilServing(server.port, ready.bearer)
      const connection = new KeepAlive(server.port)
      for (let i = 0; i < 20; i++) {
        expect((await connection.send(clientOf(ready.bearer).get("/entries/1")))?.status).toBe(200)
        await pause(5)
      }
      connection.close()
      await using watch = watchMachine([signOf(cluster)])
      const closing = performance.now()
      await server.close()
      const took = performance.now() - closing
      await watch.end()
      expect(took - watch.stood()).toBeLessThan(5_000)
    }
  })

  it("loads nothing of it and has no registry when it is off", async () => {
    const { openTelemetry } = await import("../../composition/telemetry.ts")
    const off = await openTelemetry({})
    expect(off.metrics).toBeNull()
    expect(off.context.mapUnsafe.size).toBe(0)
  })
})
