/** The service against hand-written references: every case, in turns. */

import { resolve } from "node:path"
import { type Case, cases } from "./cases.ts"
import { prepareData } from "./data.ts"
import { type Sample, sampleKey } from "./figures.ts"
import type { Findings } from "./figures.ts"
import { hostileAnswers } from "./hostile.ts"
import { once } from "./load.ts"
import { measure, memoryOf, type Running, warm } from "./measure.ts"
import { report } from "./report.ts"
import { onStage, type Options, placeAndTime, serviceOf, worldOf } from "./stage.ts"
import { foreignRecipe, referenceRecipe } from "./systems.ts"

/** The ids on a page, to see that the systems answer the same question. */
const idsOf = (body: Buffer): string =>
  (JSON.parse(body.toString()) as { readonly items: ReadonlyArray<{ readonly id: string }> }).items.map(({ id }) => id)
    .join()

const compare = async (running: readonly Running[], kinds: readonly Case[]): Promise<void> => {
  const lists = ["list", "deep", "own", "seek", "related", "sorted", "sortedDeep", "exists"] as const
  for (const kind of lists.filter((each) => kinds.includes(each))) {
    const answers: string[] = []
    for (const { dialect, state } of running) {
      const request = dialect.request(kind, state, 0)
      if (request !== null) answers.push(idsOf((await once(state.port, request)).body))
    }
    if (new Set(answers).size !== 1 || answers[0] === "") {
      throw new Error(`The systems disagree about "${cases[kind]}".`)
    }
  }
}

/** Slow cases are measured for longer: a garbage collection among twenty requests is all that one would see. */
const enough = { fewest: 100, longestMs: 10_000 }

/** Measures and gives the findings with their report. */
export const comparison = async (options: Options, done: (findings: Findings, text: string) => void): Promise<void> =>
  onStage(options, true, async (stage) => {
    const { connections, kinds, rounds, say, seconds, size, warmUp } = options
    const { database, keys } = stage
    const recipes = [
      serviceOf(options, keys),
      referenceRecipe(keys),
      ...options.reference === undefined ? [] : [foreignRecipe(keys, resolve(options.reference), database)]
    ]
    await prepareData(database, size, recipes.map((recipe) => recipe.database), say)
    const world = await worldOf(stage, size)
    const running: Running[] = []
    for (const recipe of recipes) running.push(await stage.start(recipe, world))
    const memories = new Map<string, { idle: number; loaded: number }>()
    for (const one of running) {
      const idle = memoryOf(one)
      if (idle !== null) memories.set(one.name, { idle, loaded: idle })
    }
    for (const { dialect, state } of running) await dialect.walk(state, kinds)
    await compare(running, kinds)

    const remember = (name: string, { memory }: Sample): void => {
      const known = memories.get(name)
      if (known !== undefined && memory !== null) known.loaded = Math.max(known.loaded, memory)
    }
    for (const kind of kinds) {
      for (const one of running) {
        for (const sample of await warm(stage, one, kind, warmUp)) remember(one.name, sample)
      }
    }
    const samples: { [key: string]: Sample[] } = {}
    for (let round = 0; round < rounds; round++) {
      for (const kind of kinds) {
        for (const at of connections) {
          const line: string[] = []
          for (const one of round % 2 === 0 ? running : running.toReversed()) {
            const sample = await measure(stage, one, {
              kind,
              connections: at,
              warmMs: 300,
              ms: seconds * 1000,
              ...enough
            })
            if (sample === null) continue
            remember(one.name, sample)
            ;(samples[sampleKey(one.name, kind, at)] ??= []).push(sample)
            line.push(`${one.name} ${brief(sample)}`)
          }
          say(`round ${round + 1}/${rounds} ${kind} at ${at}: ${line.join("   ")}`)
        }
      }
    }
    const findings: Findings = {
      ...placeAndTime(),
      orders: world.orders,
      deepPage: world.deep.page,
      connections,
      systems: running.map(({ name }) => name),
      samples,
      memory: Object.fromEntries(memories),
      hostile: await hostileAnswers(running[0]!.state)
    }
    done(findings, report(findings))
  })

/** A sample as the lines that tell how far it is say it. */
export const brief = ({ databaseCpu, perSecond, serverCpu }: Sample): string =>
  `${perSecond.toFixed(0)}/s ${serverCpu?.toFixed(3) ?? "?"}+${databaseCpu?.toFixed(3) ?? "?"} ms`
