/**
 * Measures the service against a hand-written reference on the same data, in the same run: `node bench/run.ts`. Systems take turns in every
 * round, so that what else the machine does meets both. Processor time per request is the figure to trust on a machine that is shared; rates and
 * latencies are not. It starts its own PostgreSQL, with its own data folder, and stops what it started.
 */

import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { openEmbedded } from "../composition/embedded/embedded.ts"
import { type Case, cases, readEtags, State, type World } from "./cases.ts"
import { type Database, prepareData, type Size, sizes, sql } from "./data.ts"
import { hostileAnswers } from "./hostile.ts"
import { makeKeys } from "./keys.ts"
import { load, once } from "./load.ts"
import { canPin, cpuTime, memory, pin, spent } from "./machine.ts"
import { type Findings, report, type Sample } from "./report.ts"
import { foreignRecipe, referenceRecipe, serviceRecipe, start, type System } from "./systems.ts"

const usage = `node bench/run.ts [options]
  --db big|small          1,000,000 orders or 10,000 (big)
  --cases get,list        only these of: ${Object.keys(cases).join(", ")}
  --connections 1,32      connections at once, each measured by itself
  --rounds 3              rounds; the medians count
  --seconds 1             length of one measurement
  --prewarm 3             seconds of each case before the first measurement
  --reference FOLDER      measures a foreign reference server as well
  --source                runs the sources; else the package is built and dist/ is run
  --node-flags="..."      flags for the service's Node, such as --cpu-prof
  --data FOLDER           where the database lives (data/bench)
  --out FILE              all samples as JSON`

const { values: given } = parseArgs({
  options: {
    db: { type: "string", default: "big" },
    cases: { type: "string", default: Object.keys(cases).join(",") },
    connections: { type: "string", default: "1,32" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "1" },
    prewarm: { type: "string", default: "3" },
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

const root = join(import.meta.dirname, "..")
const size: Size = given.db in sizes ? given.db as Size : fail(`There is no data called ${given.db}.`)
const kinds = given.cases.split(",").map((name) =>
  name in cases ? name as Case : fail(`There is no case called ${name}.`)
)
const numbers = (text: string): readonly number[] =>
  text.split(",").map((part) => Number(part) > 0 ? Number(part) : fail(`${part} is not a number above 0.`))
const connections = numbers(given.connections)
const [rounds, seconds, prewarm] = [given.rounds, given.seconds, given.prewarm].map((text) => numbers(text)[0]!) as [
  number,
  number,
  number
]

/** Writes begin behind the last order; they are taken back after each measurement that makes some. */
const writes = (kind: Case): boolean => kind === "create" || kind === "batch"

const worldOf = async (database: Database, keys: World["keys"]): Promise<World> => {
  const orders = sizes[size]
  const page = Math.max(2, 2_000 * orders / 1_000_000)
  const template = `bench_${size}`
  const ids = await sql(
    database,
    template,
    "select id::text from orders where deleted_at is null order by hashint8(id) limit 20000"
  )
  const [deep] = await sql(
    database,
    template,
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), id::text from orders
      where deleted_at is null and status = 'paid' and total > 100 order by created_at desc, id desc limit 1 offset ${
      (page - 1) * 50 - 1
    }`
  )
  if (deep === undefined) throw new Error(`The filtered list has no page ${page}.`)
  return {
    keys,
    orders,
    ids: ids.map(([id]) => String(id)),
    deep: { page, createdAt: String(deep[0]), id: String(deep[1]) }
  }
}

interface Running {
  readonly system: System
  readonly state: State
}

/** The ids on a page, to see that the systems answer the same question. */
const idsOf = (body: Buffer): string =>
  (JSON.parse(body.toString()) as { readonly items: ReadonlyArray<{ readonly id: string }> }).items.map(({ id }) => id)
    .join()

const compare = async (running: readonly Running[]): Promise<void> => {
  for (const kind of ["list", "deep", "own"] as const) {
    const answers: string[] = []
    for (const { state, system } of running) {
      const request = system.dialect.request(kind, state, 0)
      if (request !== null) answers.push(idsOf((await once(system.port, request)).body))
    }
    if (new Set(answers).size !== 1 || answers[0] === "") {
      throw new Error(`The systems disagree about "${cases[kind]}".`)
    }
  }
}

const undo = async (database: Database, { system }: Running): Promise<void> => {
  await sql(database, system.database, `delete from orders where id > ${sizes[size]}`, "vacuum orders")
}

const main = async (): Promise<void> => {
  if (!given.source) {
    say("building the package …")
    const built = spawnSync(process.execPath, [join(root, "scripts", "build.mjs")], { stdio: "inherit" })
    if (built.status !== 0) throw new Error("The package does not build; --source runs the sources.")
  }
  const folder = resolve(root, given.data)
  mkdirSync(folder, { recursive: true })
  const embedded = await openEmbedded(folder, { tcp: true })
  const running: Running[] = []
  try {
    const database: Database = {
      host: embedded.host,
      port: embedded.port,
      user: embedded.user,
      password: embedded.password ?? ""
    }
    const postmaster = Number(readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0])
    const keys = makeKeys()
    const recipes = [
      serviceRecipe(keys, given.source, given["node-flags"].split(" ").filter((flag) => flag !== "")),
      referenceRecipe(keys),
      ...given.reference === undefined ? [] : [foreignRecipe(keys, resolve(given.reference), database)]
    ]
    await prepareData(database, size, recipes.map((recipe) => recipe.database), say)
    const world = await worldOf(database, keys)
    const processors = availableParallelism()
    const pinned = canPin(processors)
    for (const recipe of recipes) {
      const system = await start(recipe, database)
      running.push({ system, state: new State(world, system.port) })
      if (pinned) pin(system.pid, 0)
    }
    if (pinned) {
      pin(postmaster, 1)
      pin(process.pid, 1)
    }
    const hasProc = process.platform === "linux"
    const memories = new Map(
      running.map(({ system }) => [system, { idle: hasProc ? memory(system.pid) : 0, loaded: 0 }])
    )
    for (const { state, system } of running) await system.dialect.walk(state)
    await compare(running)

    const measure = async (
      one: Running,
      kind: Case,
      at: number,
      warmMs: number,
      ms: number
    ): Promise<Sample | null> => {
      const { state, system } = one
      if (system.dialect.request(kind, state, 0) === null) return null
      // Read anew: the answers that the end of the last measurement cut off took their ETags with them.
      if (kind === "patch") await readEtags(system.dialect, state, at)
      let before: readonly [ReturnType<typeof cpuTime>, ReturnType<typeof cpuTime>] | undefined
      let after: typeof before
      const times = () => hasProc ? [cpuTime(system.pid), cpuTime(postmaster)] as const : undefined
      const measured = await load({
        port: system.port,
        connections: at,
        warmMs,
        ms,
        next: (slot) => system.dialect.request(kind, state, slot)!,
        after: kind === "patch" ? (_, request, answer) => state.remember(request, answer) : undefined,
        begin: () => before = times(),
        end: () => after = times()
      })
      if (hasProc) {
        const known = memories.get(system)!
        known.loaded = Math.max(known.loaded, memory(system.pid))
      }
      if (writes(kind)) await undo(database, one)
      const each = (which: 0 | 1) =>
        before === undefined || after === undefined
          ? null
          : spent(before[which], after[which]) / Math.max(1, measured.requests)
      return { ...measured, serverCpu: each(0), databaseCpu: each(1) }
    }

    for (const kind of kinds) {
      for (const one of running) await measure(one, kind, connections.at(-1)!, 0, prewarm * 1000)
    }
    const samples: { [key: string]: Sample[] } = {}
    for (let round = 0; round < rounds; round++) {
      for (const kind of kinds) {
        for (const at of connections) {
          const line: string[] = []
          for (const one of round % 2 === 0 ? running : running.toReversed()) {
            const sample = await measure(one, kind, at, 300, seconds * 1000)
            if (sample === null) continue
            const { name } = one.system.dialect
            ;(samples[`${name}/${kind}/${at}`] ??= []).push(sample)
            line.push(
              `${name} ${sample.perSecond.toFixed(0)}/s ${sample.serverCpu?.toFixed(3) ?? "?"}+${
                sample.databaseCpu?.toFixed(3) ?? "?"
              } ms`
            )
            if (sample.failed > 0) say(`! ${name} ${kind}: ${sample.failed} failed, the first: ${sample.firstFailure}`)
          }
          say(`round ${round + 1}/${rounds} ${kind} at ${at}: ${line.join("   ")}`)
        }
      }
    }
    const findings: Findings = {
      at: new Date().toISOString(),
      machine: `${processors} × ${cpus()[0]?.model.trim() ?? "unknown processor"}, Node ${process.versions.node}`,
      orders: world.orders,
      deepPage: world.deep.page,
      connections,
      systems: running.map(({ system }) => system.dialect.name),
      samples,
      memory: Object.fromEntries(running.map(({ system }) => [system.dialect.name, memories.get(system)!])),
      hostile: await hostileAnswers(running[0]!.state)
    }
    process.stdout.write(report(findings))
    if (given.out !== undefined) writeFileSync(given.out, JSON.stringify(findings, null, 1))
  } finally {
    for (const { system } of running) await system.stop()
    await embedded.release()
  }
}

if (given.help) say(usage)
else await main()
