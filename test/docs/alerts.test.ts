// The alerts and the dashboard of examples/operations: every metric that they name is one that the service tells, and every alert has its runbook.
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { makeMetrics } from "../../composition/metrics.ts"
import { metricsText } from "../../composition/openmetrics.ts"

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

/** The samples that a process tells when it has met everything. */
const samples = (): ReadonlyMap<string, ReadonlySet<string>> => {
  const context = Context.make(Metric.MetricRegistry, new Map())
  const metrics = makeMetrics(context)
  metrics.measure({ method: "GET", route: "/", seconds: 1, status: 503, refused: { slug: "unavailable", cause: "x" } })
  metrics.onWait("read", 1)
  metrics.watch(
    { pools: () => [{ pool: "read", size: 1, busy: 0, waiting: 0, timeouts: 0 }] },
    { states: () => [{ name: "db2:5432", absence: null, lagMs: 0 }] }
  )
  const times = { nextDue: null, oldestDue: null, nextRun: null, lastRun: null, pausedAt: null }
  metrics.jobs([{ name: "a", waiting: 0, running: 0, retrying: 0, failed: 0, completed: 0, ...times }])
  metrics.backlog({ events: { count: 0, age: 0 }, tasks: new Map([["running", 1]]), held: 0 })
  metrics.outage("unavailable", true)
  metrics.database(true)
  metrics.cleaned({ deleted: 0, kept: 0, failed: 0 })
  const found = new Map<string, Set<string>>()
  for (const line of metricsText(context, true).split("\n")) {
    const [, name, labels = ""] = /^([a-z_]+)(?:\{(.*)\})? /.exec(line) ?? []
    if (name === undefined) continue
    const known = found.get(name) ?? new Set()
    for (const [, label = ""] of labels.matchAll(/([a-z_]+)="/g)) known.add(label)
    found.set(name, known)
  }
  return found
}

/** What an expression names that is not there: metrics, and labels of matchers on them. `job` and `instance` are the scraper's. */
const unknownIn = (expression: string, known: ReturnType<typeof samples>): readonly string[] =>
  [...expression.matchAll(/\b((?:service|http|db)_[a-z_]+)(?:\{([^}]*)\})?/g)].flatMap(
    ([, name = "", matchers = ""]) => {
      const labels = known.get(name)
      if (labels === undefined) return [...known.values()].some((each) => each.has(name)) ? [] : [name]
      return [...matchers.matchAll(/([a-z_]+)(?:=~|!~|!=|=)"/g)].flatMap(([, label = ""]) =>
        labels.has(label) || label === "job" ? [] : [`${name}{${label}}`]
      )
    }
  )

const alerts = read("examples/operations/alerts.yaml")
const rules = alerts.split(/^ {6}- alert: /m).slice(1).map((text) => ({
  name: /^\w+/.exec(text)![0],
  expression: /expr: (?:\|\n)?([\s\S]*?)\n {8}\w+:/.exec(text)![1]!,
  runbook: /runbook: runbooks\.md#(\w+)/.exec(text)?.[1]
}))

it("alerts and dashboard name metrics and labels that the service tells", () => {
  const known = samples()
  const { panels } = JSON.parse(read("examples/operations/dashboard.json")) as {
    readonly panels: ReadonlyArray<{ readonly targets: ReadonlyArray<{ readonly expr: string }> }>
  }
  const expressions = [
    ...rules.map(({ expression }) => expression),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  ]
  expect(expressions.length).toBeGreaterThan(30)
  expect(expressions.flatMap((each) => unknownIn(each, known))).toEqual([])
  expect(unknownIn("max(service_outage{status=\"x\"}) > service_nothing", known)).toEqual([
    "service_outage{status}",
    "service_nothing"
  ])
})

it("every alert has a runbook, and every runbook an alert", () => {
  const sections = [...read("docs/guides/runbooks.md").matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
  expect(rules.map(({ name }) => name)).toEqual(sections)
  expect(rules.map(({ runbook }) => runbook)).toEqual(sections.map((name) => name?.toLowerCase()))
})
