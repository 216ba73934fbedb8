import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import { describe, expect, it } from "vitest"
import { makeMetrics } from "./metrics.ts"
import { metricsText } from "./openmetrics.ts"

const registry = () => Context.make(Metric.MetricRegistry, new Map())

describe("metrics as text", () => {
  it("are OpenMetrics: units and totals in names, cumulative buckets, escaped labels, an end", () => {
    const context = registry()
    const duration = Metric.histogram("a.duration", {
      description: "How long \"it\" takes\\",
      boundaries: [0.1, 1],
      attributes: { unit: "s", "a.route": "/x\"\n\\" }
    })
    for (const seconds of [0.05, 0.5, 0.5, 5]) duration.updateUnsafe(seconds, context)
    Metric.counter("a.count", { incremental: true }).updateUnsafe(3, context)
    expect(metricsText(context, true)).toBe(String.raw`# TYPE a_duration_seconds histogram
# UNIT a_duration_seconds seconds
# HELP a_duration_seconds How long \"it\" takes\\
a_duration_seconds_bucket{a_route="/x\"\n\\",le="0.1"} 1
a_duration_seconds_bucket{a_route="/x\"\n\\",le="1"} 3
a_duration_seconds_bucket{a_route="/x\"\n\\",le="+Inf"} 4
a_duration_seconds_count{a_route="/x\"\n\\"} 4
a_duration_seconds_sum{a_route="/x\"\n\\"} 6.05
# TYPE a_count counter
a_count_total 3
# EOF
`)
  })

  it("are the older format for a scraper that does not ask for OpenMetrics", () => {
    const context = registry()
    Metric.counter("a.count", { incremental: true }).updateUnsafe(3, context)
    expect(metricsText(context, false)).toBe("# TYPE a_count_total counter\na_count_total 3\n")
  })

  it("count refusals by route, slug and cause, and only requests that were refused", () => {
    const context = registry()
    const { measure } = makeMetrics(context)
    const asked = { method: "GET", route: "/api/v1/orders", seconds: 0.01 }
    measure({ ...asked, status: 200, refused: null })
    measure({ ...asked, status: 503, refused: { slug: "unavailable", cause: "read-only", code: "25006" } })
    measure({ ...asked, status: 404, route: "", refused: { slug: "not-found" } })
    expect(metricsText(context, true).split("\n").filter((line) => line.startsWith("service_refusals_total"))).toEqual([
      "service_refusals_total{http_request_method=\"GET\",http_route=\"/api/v1/orders\",slug=\"unavailable\",cause=\"read-only\"} 1",
      "service_refusals_total{http_request_method=\"GET\",slug=\"not-found\"} 1"
    ])
  })

  it("tell the jobs of each name by state, and tasks by state also when there are none any more", () => {
    const context = registry()
    const { backlog, jobs } = makeMetrics(context)
    const counts = { name: "send", running: 1, retrying: 0, failed: 2, completed: 3, pausedAt: null }
    const times = { nextDue: null, oldestDue: null, nextRun: null, lastRun: null }
    jobs([{ ...counts, ...times, waiting: 5 }])
    jobs([{ ...counts, ...times, waiting: 4 }])
    backlog({ events: { count: 7, age: 1.5 }, tasks: new Map([["running", 2]]), held: 1 })
    backlog({ events: { count: 0, age: 0 }, tasks: new Map(), held: 0 })
    const lines = metricsText(context, true).split("\n")
    expect(lines.filter((line) => line.startsWith("service_jobs_count{"))).toEqual([
      "service_jobs_count{job_name=\"send\",job_state=\"waiting\"} 4",
      "service_jobs_count{job_name=\"send\",job_state=\"running\"} 1",
      "service_jobs_count{job_name=\"send\",job_state=\"retrying\"} 0",
      "service_jobs_count{job_name=\"send\",job_state=\"failed\"} 2"
    ])
    expect(lines).toContain("service_tasks_count{task_state=\"running\"} 0")
    expect(lines).toContain("service_events_waiting 0")
    expect(lines).toContain("service_jobs_held_by_dead 0")
  })
})
