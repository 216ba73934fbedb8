/**
 * Bodies that are costly to read, several at once, against a process with a heap of 512 MB: health checks are answered beside them within 100 ms.
 * A busy machine delays answers, too. So one test judges the CPU time that one turn of the event loop takes. The other one, of deep runs, goes by the clock,
 * and compares with the same process when it does nothing but turns of 100 ms: the machine delays both alike.
 */

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import { compileCache } from "../support/compiled.ts"
import { tokenOf } from "../support/composed.ts"
import { deep } from "../support/depth.ts"
import { openDatabase } from "../support/postgres.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { tables } from "./memory-stage.ts"

const script = fileURLToPath(new URL("memory-server.ts", import.meta.url))
const watchScript = fileURLToPath(new URL("loop-watch.ts", import.meta.url))

let database: TestDatabase
let server: ChildProcess
/** Asks for health by the clock. */
let watcher: ChildProcess | undefined
let origin = ""

beforeAll(async () => {
  database = await openDatabase(tables)
  server = spawn(process.execPath, ["--conditions=source", "--max-old-space-size=512", script, database.url], {
    env: { ...process.env, ...compileCache },
    stdio: ["ignore", "pipe", "inherit", "ipc"]
  })
  const [port] = await once(server.stdout!, "data") as [Buffer]
  origin = `http://127.0.0.1:${port.toString().trim()}`
  if (!deep) return
  watcher = spawn(process.execPath, ["--conditions=source", watchScript, port.toString().trim()], {
    env: { ...process.env, ...compileCache },
    stdio: ["ignore", "inherit", "inherit", "ipc"]
  })
})
afterAll(async () => {
  for (const child of [watcher, server]) {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) continue
    child.kill("SIGKILL")
    await once(child, "exit")
  }
  await database.drop()
})

/** CPU time of the longest turn of the loop since the last time that this was asked, in milliseconds. */
const longestTurn = async (): Promise<number> => {
  const answer = once(server, "message") as Promise<[number]>
  server.send("longest turn")
  return (await answer)[0]
}

const names = (count: number, value: string) =>
  `{${Array.from({ length: count }, (_, n) => `"k${n}":${value}`).join(",")}}`
/** 160,000 names in 1.8 MB. */
const manyNames = names(160_000, "1")
/** No object has too many names: those of all together are too many. */
const manyObjects = `{"text":[${Array.from({ length: 60 }, () => names(2_600, "1")).join(",")}]}`
const manyValues = `{"text":[${"0,".repeat(900_000)}0]}`

const headers = {
  authorization: `Bearer ${tokenOf({ id: "ann", roles: ["admin"] })}`,
  "content-type": "application/json"
}

/** Sends the body so many times at once. It is refused. */
const send = (body: string, times: number): Promise<unknown> =>
  Promise.all(Array.from({ length: times }, async () => {
    const answer = await fetch(`${origin}/api/v1/papers`, { method: "POST", headers, body })
    await answer.text()
    expect(answer.status).toBe(400)
  }))

/** Sends the body so many times at once, with health checks beside it. Gives the CPU time of the longest turn. */
const attack = async (body: string, times: number): Promise<number> => {
  await longestTurn()
  let busy = true
  const checks = (async () => {
    while (busy) expect((await fetch(`${origin}/livez`)).status).toBe(200)
  })()
  await send(body, times)
  busy = false
  await checks
  return longestTurn()
}

const bodies: ReadonlyArray<readonly [what: string, body: string]> = [
  ["160,000 names in one object", manyNames],
  ["many names in many objects", manyObjects],
  ["900,000 values in a list", manyValues]
]

it.each(bodies)("eight bodies of %s take no turn of the event loop together", async (_, body) => {
  // The first ones are read by code that is not compiled yet.
  for (let i = 0; i < 3; i++) await attack(body, 2)
  const tries: string[] = []
  for (let i = 0; i < 5; i++) {
    const one = await attack(body, 1)
    const eight = await attack(body, 8)
    if (eight < Math.max(100, 3 * one)) return
    tries.push(`${eight.toFixed()} ms, for one body ${one.toFixed()} ms`)
  }
  expect.fail(tries.join("; "))
})

/** Milliseconds by the clock until the latest answer of `/livez`, asked every 20 ms while the work is under way. */
const latestAnswer = async (work: () => Promise<unknown>): Promise<number> => {
  const ask = async (message: "watch" | "stop") => {
    const answer = once(watcher!, "message") as Promise<[ReadonlyArray<number | null>]>
    watcher!.send(message)
    return (await answer)[0]
  }
  await ask("watch")
  await work()
  const answers = await ask("stop")
  expect(answers.length).toBeGreaterThan(0)
  expect(answers).not.toContain(null)
  return Math.max(...answers as number[])
}

/** The middle of an odd number of values. */
const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[(values.length - 1) / 2]!

/** Lets the process do nothing but turns of 100 ms, each of CPU time. */
const turnsOfHundred = async (milliseconds: number): Promise<void> => {
  server.send({ spin: 100 })
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
  server.send({ spin: 0 })
}

it.each(deep ? bodies : [])("eight bodies of %s delay health checks less than turns of 100 ms do", async (_, body) => {
  await send(body, 2)
  const attacked: number[] = []
  const spinning: number[] = []
  for (let i = 0; i < 5; i++) {
    const began = performance.now()
    attacked.push(await latestAnswer(() => send(body, 8)))
    const took = performance.now() - began
    spinning.push(await latestAnswer(() => turnsOfHundred(Math.max(500, took))))
  }
  const figures = `attacked ${attacked.map(Math.round).join(", ")} ms; turns of 100 ms ${
    spinning.map(Math.round).join(", ")
  } ms`
  expect(medianOf(attacked), figures).toBeLessThan(medianOf(spinning))
})

it("goes on afterwards", async () => {
  expect([server.exitCode, server.signalCode]).toEqual([null, null])
  expect((await fetch(`${origin}/livez`)).status).toBe(200)
})
