/**
 * OpenTelemetry (traces, metrics) with Effect's own exporter. It is on when the standard variable `OTEL_EXPORTER_OTLP_ENDPOINT` is set. The metrics are also kept
 * where somebody scrapes them. Otherwise nothing is, and it costs nothing, as its modules are loaded only when they are needed.
 */

import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { ServiceMetrics } from "./metrics.ts"

export interface Telemetry {
  /** What the service's effects run in: the tracer, or nothing. */
  readonly context: Context.Context<never>
  /** The service's own numbers; null when nobody collects them. */
  readonly metrics: ServiceMetrics | null
  /** Sends what is still buffered. */
  readonly close: () => Promise<void>
}

const off: Telemetry = { context: Context.empty(), metrics: null, close: () => Promise.resolve() }

/** Metrics that are kept and not sent. */
const kept = async (): Promise<Telemetry> => {
  const [Metric, own] = await Promise.all([import("effect/Metric"), import("./metrics.ts")])
  const context = Context.make(Metric.MetricRegistry, new Map())
  return { context, metrics: own.makeMetrics(context), close: () => Promise.resolve() }
}

/** Milliseconds that a collector has for an answer; the specification's default. */
const timeoutOf = (text: string | undefined): number => {
  const value = Number(text ?? "")
  return Number.isFinite(value) && value > 0 ? value : 10_000
}

/**
 * Opens the exporter configured by the `OTEL_*` variables: endpoint, headers, `OTEL_SERVICE_NAME` (default `resource-admin`), resource attributes,
 * and which signals are exported. Logs stay on standard output. `scraped`: the metrics are kept for a scraper, whether or not they are sent.
 */
export const openTelemetry = async (
  environment: { readonly [name: string]: string | undefined },
  scraped = false
): Promise<Telemetry> => {
  if ((environment["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "") === "" || environment["OTEL_SDK_DISABLED"] === "true") {
    return scraped ? await kept() : off
  }
  const [FetchHttpClient, HttpClient, Metric, OtlpTracer, OtlpMetrics, OtlpSerialization, OtlpExporter, own] =
    await Promise.all([
      import("effect/http/FetchHttpClient"),
      import("effect/http/HttpClient"),
      import("effect/Metric"),
      import("effect/observability/OtlpTracer"),
      import("effect/observability/OtlpMetrics"),
      import("effect/observability/OtlpSerialization"),
      import("effect/observability/OtlpExporter"),
      import("./metrics.ts")
    ])
  // The specification's default for both signals. The exporter itself has none.
  const signals = { OTEL_TRACES_EXPORTER: "otlp", OTEL_METRICS_EXPORTER: "otlp" }
  const provider = ConfigProvider.fromEnv({ env: { ...signals, ...environment } as Record<string, string> })
  const named = (environment["OTEL_SERVICE_NAME"] ?? "") !== "" ||
    /(?:^|,)\s*service\.name\s*=/.test(environment["OTEL_RESOURCE_ATTRIBUTES"] ?? "")
  const resource = named ? {} : { serviceName: "resource-admin" }
  // With a collector that accepts connections and never answers, batches would pile up. It is given up for a while, like one that is away.
  const limit = Effect.timeout(timeoutOf(environment["OTEL_EXPORTER_OTLP_TIMEOUT"]))
  const client = Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.transform((response) => Effect.catchTag(limit(response), "TimeoutError", Effect.die))
    )
  )
  const layer = Layer.mergeAll(OtlpTracer.layerFromConfig({ resource }), OtlpMetrics.layerFromConfig({ resource }))
    .pipe(
      Layer.provide(OtlpExporter.layerFlusher),
      Layer.provide(OtlpSerialization.layerProtobuf),
      Layer.provide(Layer.provide(client, FetchHttpClient.layer)),
      Layer.provide(ConfigProvider.layer(provider)),
      Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map()))
    )
  const scope = Scope.makeUnsafe()
  const context = await Effect.runPromise(Effect.orDie(Layer.buildWithScope(layer, scope)))
  return {
    context,
    metrics: own.makeMetrics(context),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
