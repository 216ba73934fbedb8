/**
 * What a form's proof of work costs: `node --conditions=source bench/forms.ts [--bits 21] [--times 61]`. Visitors solve it in Chromium, in a worker as
 * forms do; the service checks it. It prints the load of the machine beside the figures and judges nothing. On a machine that is busy read the processor
 * time: it is what a solution takes where nothing else runs.
 */

import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { cpus, loadavg } from "node:os"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { makeSeal, sha256 } from "../adapters/seal/seal.ts"
import {
  challengeContext,
  challengeMs,
  hasZeroBits,
  printChallenge,
  provenText,
  readChallenge,
  readProof
} from "../core/domain/form/challenge.ts"
import { chromiumPath, startChromium } from "../test/browser/chromium.ts"
import { bundlePage } from "../test/browser/page.ts"
import type * as Library from "../web/client/index.ts"

const { values } = parseArgs({
  options: { bits: { type: "string", default: "21" }, times: { type: "string", default: "61" } }
})
const difficulty = Number(values.bits)
const times = Number(values.times)

const seal = makeSeal("a secret of the bench, long enough")
const context = challengeContext("contact")
const newChallenge = (): string => {
  const expires = Date.now() + challengeMs + Math.floor(Math.random() * 10_000)
  return seal.seal(context, printChallenge({ expires, difficulty }))
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

const load = (): string => loadavg().map((each) => each.toFixed(2)).join(" ")

declare const library: typeof Library

interface Solved {
  /** Milliseconds by the clock, and of the processor, each in order. */
  readonly clock: readonly number[]
  readonly processor: readonly number[]
}

const solving = async (): Promise<Solved> => {
  const files = await bundlePage(fileURLToPath(new URL("../test/browser/client-page.ts", import.meta.url)))
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? "/", "http://localhost").pathname.slice(1)
    const body = files.get(name)
    const type = name.endsWith(".html") ? "text/html" : "text/javascript"
    response.writeHead(body === undefined ? 404 : 200, { "content-type": type }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const browser = await startChromium()
  try {
    const page = await browser.newPage()
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/index.html`)
    await page.waitForFunction(() => "library" in globalThis)
    const system = await browser.newBrowserCDPSession()
    /** Milliseconds of the processor that the page and its workers have had. */
    const spent = async (): Promise<number> => {
      const { processInfo } = await system.send("SystemInfo.getProcessInfo")
      return processInfo.filter(({ type }) => type === "renderer").reduce((sum, { cpuTime }) => sum + cpuTime, 0) *
        1_000
    }
    const clock: number[] = []
    const processor: number[] = []
    // The first one warms the browser up.
    for (let n = 0; n <= times; n++) {
      const challenge = { challenge: newChallenge(), difficulty, expires: "" }
      const before = await spent()
      const [ms, solution] = await page.evaluate(async (challenge) => {
        const begun = performance.now()
        const proof = await library.solveChallenge(challenge)
        return [performance.now() - begun, proof.solution] as const
      }, challenge)
      if (!hasZeroBits(sha256(provenText({ challenge: challenge.challenge, solution })), difficulty)) {
        throw new Error("The solution is none.")
      }
      if (n === 0) continue
      clock.push(ms)
      processor.push(await spent() - before)
    }
    const sorted = (numbers: readonly number[]): readonly number[] => numbers.toSorted((a, b) => a - b)
    return { clock: sorted(clock), processor: sorted(processor) }
  } finally {
    await browser.close()
    server.close()
  }
}

/** Microseconds of what the service does to judge one proof: reads it, opens the challenge, hashes once. */
const checking = (): readonly number[] => {
  const proofs = Array.from({ length: 20_000 }, (_, n) => ({ challenge: newChallenge(), solution: String(n) }))
  const taken = proofs.map((sent) => {
    const begun = performance.now()
    const proof = readProof(sent)
    const opened = proof === null ? null : seal.open(context, proof.challenge)
    const challenge = opened === null ? null : readChallenge(opened, Date.now())
    if (proof === null || challenge === null) throw new Error("The challenge does not open.")
    hasZeroBits(sha256(provenText(proof)), challenge.difficulty)
    return (performance.now() - begun) * 1_000
  })
  return taken.slice(1_000).toSorted((a, b) => a - b)
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

if (chromiumPath === null) throw new Error("There is no Chromium here; set CHROMIUM_PATH.")
print(`${cpus().length} cores, ${cpus()[0]?.model ?? "unknown"}; load before: ${load()}`)
const solved = await solving()
const shown = (sorted: readonly number[]): string => {
  const ms = (share: number): string => `${Math.round(at(sorted, share))} ms`
  return `median ${ms(0.5)}, quartiles ${ms(0.25)} and ${ms(0.75)}, p95 ${ms(0.95)} (n=${times})`
}
print(`solving ${difficulty} bits in Chromium by the clock: ${shown(solved.clock)}`)
print(`processor time of the page:                  ${shown(solved.processor)}`)
print(`load after: ${load()}`)
const checked = checking()
print(`checking at the service: median ${at(checked, 0.5).toFixed(1)} µs, p99 ${at(checked, 0.99).toFixed(1)} µs`)
