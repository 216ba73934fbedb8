/** What a comparison found, as tables and as the goals they answer. All figures are medians over the rounds, ratios those of each round's. */

import { keysOf } from "../core/domain/value/table.ts"
import { type Case, cases } from "./cases.ts"
import {
  allCpu,
  databaseCpu,
  figure,
  type Findings,
  geometricMean,
  type Measure,
  print,
  serverCpu,
  table,
  times
} from "./figures.ts"
import {
  connected,
  fewForTail,
  goalsAgainst,
  goalsAt,
  measuredCases,
  ownGoals,
  relatedGoals,
  thinTails,
  verdict
} from "./goals.ts"

/** A report of parts, under a line that says when and where. */
export const document = (findings: Pick<Findings, "at" | "machine">, about: string, parts: readonly string[]): string =>
  `${findings.at}, ${findings.machine}, ${about}\n\n${parts.join("\n\n")}\n`

export const report = (findings: Findings): string => {
  const { connections, samples, systems } = findings
  const [service, ...rivals] = systems as readonly [string, ...string[]]
  const most = connections.at(-1)!
  const kinds = measuredCases(findings, service, most, keysOf(cases))
  const parts: string[] = []

  for (const at of connections) {
    for (const rival of rivals) {
      const of = (system: string, kind: string, measure: Measure) => figure(samples, system, kind, at, measure)
      const shared = measuredCases(findings, rival, at, kinds)
      const found = (kind: Case, measure: Measure) => times(samples, [service, rival], kind, at, measure)
      const mean = (measure: Measure) =>
        print(geometricMean(shared.map((kind) => found(kind, measure)).filter((value) => value !== null)))
      parts.push(
        `### Processor time per request at ${connected(at)}, against the ${rival}`,
        table(
          [
            "case",
            `${rival}: server + database ms`,
            `${service}: server + database ms`,
            "server ×",
            "server + database ×"
          ],
          [
            ...shared.map((kind) => [
              cases[kind],
              ...[rival, service].map((system) =>
                `${print(of(system, kind, serverCpu))} + ${print(of(system, kind, databaseCpu))}`
              ),
              print(found(kind, serverCpu)),
              print(found(kind, allCpu))
            ]),
            ["geometric mean", "", "", mean(serverCpu), mean(allCpu)]
          ]
        )
      )
    }
    parts.push(
      `### Answers at ${connected(at)}`,
      table(
        ["case", ...systems.flatMap((system) => [`${system}: per second`, "p50 ms", "p99 ms"])],
        kinds.map((kind) => [
          cases[kind],
          ...systems.flatMap((system) =>
            (["perSecond", "p50", "p99"] as const).map((name) =>
              print(figure(samples, system, kind, at, (sample) => sample[name]))
            )
          )
        ])
      )
    )
  }
  parts.push(
    "### Memory",
    table(
      ["", ...systems],
      (["idle", "loaded"] as const).map((when) => [
        `${when === "idle" ? "after the start" : "most under load"}, MB`,
        ...systems.map((system) => print(findings.memory[system]?.[when] ?? null))
      ])
    )
  )
  if (findings.hostile.length > 0) {
    parts.push(
      "### Filters meant to hurt",
      table(
        ["filter", "status", "median of five, ms"],
        findings.hostile.map(({ ms, name, status }) => [name, String(status), print(ms)])
      )
    )
  }
  const goals = [
    ...rivals.flatMap((rival) => [
      ...connections.flatMap((at) => [
        ...goalsAt(findings, rival, kinds, at),
        ...relatedGoals(findings, rival, kinds, at).filter(({ found }) => found !== null)
      ]),
      ...goalsAgainst(findings, rival, kinds)
    ]),
    ...ownGoals(findings)
  ]
  parts.push(
    "### Goals",
    table(
      ["goal", "at most", "found", ""],
      goals.map((goal) => [goal.name, String(goal.limit), print(goal.found), verdict(goal)])
    )
  )
  const thin = thinTails(findings, most, kinds)
  if (thin.length > 0) {
    parts.push(`The p99 of ${thin.join(", ")} is that of fewer than ${fewForTail} requests: their slowest, or nearly.`)
  }
  return document(findings, `${findings.orders} orders`, parts)
}
