/**
 * Whether the service gets slower as a table grows: the same questions to 10,000 orders and to 1,000,000, by two processes of the service side by side,
 * asked in turns.
 */

import { keysOf } from "../core/domain/value/table.ts"
import { type Case, State } from "./cases.ts"
import { brief } from "./comparison.ts"
import { prepareData, sizes } from "./data.ts"
import {
  databaseCpu,
  figure,
  type Measure,
  p50,
  print,
  ratio,
  type Sample,
  sampleKey,
  type Samples,
  serverCpu,
  table
} from "./figures.ts"
import { measure, type Running, warm } from "./measure.ts"
import { document } from "./report.ts"
import { onStage, type Options, placeAndTime, serviceOf, type Stage, worldOf } from "./stage.ts"

/** What is asked of both tables. */
const questions = {
  get: { about: "get one record", kind: "get", row: null, flat: true },
  list: { about: "list of 50, filtered and ordered", kind: "list", row: null, flat: true },
  deep: {
    about: "the same list, page 20 of 10,000 orders and 2,000 of 1,000,000",
    kind: "deep",
    row: null,
    flat: true
  },
  row: { about: "50 rows at row 5,000", kind: "seek", row: () => 5_000, flat: true },
  middle: { about: "50 rows at the middle", kind: "seek", row: (orders: number) => orders / 2, flat: false }
} as const satisfies {
  readonly [name: string]: {
    readonly about: string
    readonly kind: Case
    readonly row: ((orders: number) => number) | null
    readonly flat: boolean
  }
}

export type Question = keyof typeof questions

const names = keysOf(questions)

export interface FlatFindings {
  readonly at: string
  readonly machine: string
  readonly connections: readonly number[]
  /** By table, question and connections. */
  readonly samples: Samples
}

/** Times that big may cost what small does, to count as flat. */
const limit = 1.25

const tables = { small: "10,000", big: "1,000,000" } as const

/** One question's figures, and how many times each is the small table's on the big one. */
export const growth = ({ connections, samples }: Pick<FlatFindings, "connections" | "samples">, question: Question) => {
  const of = (what: string, at: number, measure: Measure) => {
    const by = (size: string) => figure(samples, size, question, at, measure)
    const [small, big] = [by("small"), by("big")]
    return { what, small, big, times: ratio(big, small) }
  }
  const most = connections.at(-1)!
  return [of("server", most, serverCpu), of("database", most, databaseCpu), of("p50", connections[0]!, p50)] as const
}

/** `flat`, or what grows; for a question that is to be flat. */
export const verdictOf = (question: Question, figures: ReturnType<typeof growth>): string => {
  if (!questions[question].flat) return "linear in the position: OFFSET walks the index"
  if (figures.every(({ times }) => times === null)) return "not measured"
  const grown = figures.filter(({ times }) => times !== null && times > limit)
  return grown.length === 0 ? "met" : `missed: ${grown.map(({ times, what }) => `${what} ${print(times)}`).join(", ")}`
}

export const flatReport = (findings: FlatFindings): string => {
  const { connections } = findings
  const rows = names.map((question) => {
    const figures = growth(findings, question)
    const [server, database, latency] = figures
    return [
      questions[question].about,
      ...(["small", "big"] as const).flatMap((size) => [
        `${print(server[size])} + ${print(database[size])}`,
        print(latency[size])
      ]),
      figures.map(({ times }) => print(times)).join(" / "),
      verdictOf(question, figures)
    ]
  })
  return document(findings, `the service on ${tables.small} and on ${tables.big} orders`, [
    "### Growing tables",
    `Processor time at ${connections.at(
      -1
    )!} connections, p50 at ${connections[0]!}. Flat: at most ${limit} times the small table's.`,
    table(
      [
        "question",
        ...(["small", "big"] as const).flatMap((size) => [
          `${tables[size]}: server + database ms`,
          "p50 ms"
        ]),
        "× server / database / p50",
        "flat"
      ],
      rows
    )
  ])
}

/** Starts the service on a copy of one table. */
const startOn = async (stage: Stage, options: Options, size: "small" | "big"): Promise<Running> => {
  const recipe = serviceOf(options, stage.keys, `bench_flat_${size}`)
  await prepareData(stage.database, size, [recipe.database], options.say)
  const one = { ...await stage.start(recipe, await worldOf(stage, size)), name: size }
  await one.dialect.walk(one.state, ["deep"])
  return one
}

export const flat = async (options: Options, done: (findings: FlatFindings, text: string) => void): Promise<void> =>
  onStage(options, true, async (stage) => {
    const { connections, rounds, say, seconds, warmUp } = options
    const running = [await startOn(stage, options, "small"), await startOn(stage, options, "big")]
    /** The same system, asked for another row. */
    const asked = (one: Running, question: Question): Running => {
      const { row } = questions[question]
      if (row === null) return one
      const { port, world } = one.state
      return { ...one, state: new State({ ...world, seekTo: row(world.orders) }, port) }
    }
    for (const question of names) {
      for (const one of running) {
        await warm(stage, asked(one, question), questions[question].kind, warmUp)
      }
    }
    const samples: { [key: string]: Sample[] } = {}
    for (let round = 0; round < rounds; round++) {
      for (const question of names) {
        for (const at of connections) {
          const line: string[] = []
          for (const one of round % 2 === 0 ? running : running.toReversed()) {
            const { kind } = questions[question]
            const task = { kind, connections: at, warmMs: 300, ms: seconds * 1000 }
            const sample = await measure(stage, asked(one, question), task)
            if (sample === null) continue
            ;(samples[sampleKey(one.name, question, at)] ??= []).push(sample)
            line.push(`${sizes[one.name as "small" | "big"]} orders ${brief(sample)}`)
          }
          say(`round ${round + 1}/${rounds} ${question} at ${at}: ${line.join("   ")}`)
        }
      }
    }
    const findings: FlatFindings = { ...placeAndTime(), connections, samples }
    done(findings, flatReport(findings))
  })
