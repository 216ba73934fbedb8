/**
 * Measures the service: `node bench/run.ts` against a hand-written reference on the same data, in the same run; `--flat` on a small and on a big
 * table; `--processes` in several processes. What is compared takes turns in every round, so that what else the machine does meets all of it.
 * Processor time per request is the figure to trust on a machine that is shared; rates and latencies are not. It starts its own PostgreSQL, with
 * its own data folder, and stops what it started.
 */

import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { isKeyOf } from "../core/domain/value/table.ts"
import { cases } from "./cases.ts"
import { comparison } from "./comparison.ts"
import { sizes } from "./data.ts"
import { flat } from "./flat.ts"
import { processes } from "./processes.ts"
import type { Options } from "./stage.ts"

const usage = `node bench/run.ts [options]             the service against references
node bench/run.ts --flat [options]       get, list, deep page and seek on 10,000 and on 1,000,000 orders
node bench/run.ts --processes 1,2,3      get, list and PATCH with the service in so many processes, none bound to a processor
  --db big|small          1,000,000 orders or 10,000 (big); --flat takes both
  --cases get,list        only these of: ${Object.keys(cases).join(", ")}
  --connections 1,32      connections at once, each measured by itself; --processes takes the last
  --rounds 3              rounds; the medians count
  --seconds 1             length of one measurement; the comparison goes on to 100 requests, 10 seconds at most
  --prewarm 3             seconds of each case before the first measurement, and longer until 20,000 requests were answered …
  --prewarm-limit 30      … or so many seconds are over
  --reference FOLDER      measures a foreign reference server as well
  --source                runs the sources; else the package is built and dist/ is run
  --node-flags="..."      flags for the service's Node, such as --cpu-prof
  --data FOLDER           where the database lives (data/bench); one run at a time
  --out FILE              all samples as JSON`

const { values: given } = parseArgs({
  options: {
    flat: { type: "boolean", default: false },
    processes: { type: "string" },
    db: { type: "string", default: "big" },
    cases: { type: "string" },
    connections: { type: "string", default: "1,32" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "1" },
    prewarm: { type: "string", default: "3" },
    "prewarm-limit": { type: "string", default: "30" },
    reference: { type: "string" },
    source: { type: "boolean", default: false },
    "node-flags": { type: "string", default: "" },
    data: { type: "string", default: "data/bench" },
    out: { type: "string" },
    help: { type: "boolean", default: false }
  }
})

const say = (line: string): void => void process.stderr.write(`${line}\n`)

const fail = (message: string): never => {
  say(`${message}\n\n${usage}`)
  return process.exit(2)
}

const numbers = (text: string): readonly [number, ...number[]] => {
  const [first = fail("A number is missing."), ...more] = text.split(",").map((part) =>
    Number(part) > 0 ? Number(part) : fail(`${part} is not a number above 0.`)
  )
  return [first, ...more]
}

const optionsOf = (): Options => ({
  size: given.db === "big" || given.db === "small"
    ? given.db
    : fail(`--db is one of ${Object.keys(sizes).join(", ")}.`),
  kinds: (given.cases ?? Object.keys(cases).join(",")).split(",").map((name) =>
    isKeyOf(cases, name) ? name : fail(`There is no case called ${name}.`)
  ),
  connections: numbers(given.connections),
  rounds: numbers(given.rounds)[0],
  seconds: numbers(given.seconds)[0],
  warmUp: { seconds: numbers(given.prewarm)[0], limit: numbers(given["prewarm-limit"])[0] },
  reference: given.reference,
  source: given.source,
  flags: given["node-flags"].split(" ").filter((flag) => flag !== ""),
  folder: given.data,
  say
})

const done = (findings: object, text: string): void => {
  process.stdout.write(text)
  if (given.out !== undefined) writeFileSync(given.out, JSON.stringify(findings, null, 1))
}

const main = (): Promise<void> => {
  if (given.flat && given.processes !== undefined) fail("--flat and --processes are measured one after the other.")
  const alone = given.flat || given.processes !== undefined
  if (alone && (given.cases !== undefined || given.reference !== undefined)) {
    fail("--cases and --reference are for the comparison with references.")
  }
  const options = optionsOf()
  if (given.flat) return flat(options, done)
  if (given.processes === undefined) return comparison(options, done)
  const counts = numbers(given.processes)
  if (!counts.every(Number.isInteger)) fail("--processes takes whole numbers.")
  return processes(options, counts, done)
}

// So that what was started is ended with it.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))

if (given.help) say(usage)
else await main()
