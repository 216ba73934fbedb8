/**
 * The service of the big records as a process of its own, whose heap is small: serves on a free port of 127.0.0.1, says which on a line, and goes on
 * until it is ended. Argument: the database's URL.
 */

import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { listen } from "../../adapters/http/node.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { testAuthenticator, testSecret } from "../support/composed.ts"
import { config } from "./memory-stage.ts"

process.on("disconnect", () => process.exit(9))

// Who asks learns how much CPU time one turn of the event loop took at most since the last question, in milliseconds. Other processes do not count.
let most = 0
let before = process.cpuUsage()
let asked = false
const turn = (): void => {
  const { system, user } = process.cpuUsage(before)
  most = Math.max(most, (user + system) / 1_000)
  before = process.cpuUsage()
  setImmediate(turn)
}
/** CPU time of each turn that this process makes for nothing, in milliseconds. */
let idleTurn = 0
const spin = (): void => {
  const began = process.cpuUsage()
  for (let spent = 0; spent < idleTurn;) {
    const { system, user } = process.cpuUsage(began)
    spent = (user + system) / 1_000
  }
  if (idleTurn > 0) setImmediate(spin)
}

process.on("message", (message: "longest turn" | { readonly spin: number }) => {
  if (message !== "longest turn") {
    const spins = idleTurn > 0
    idleTurn = message.spin
    if (!spins) spin()
    return
  }
  process.send!(most)
  most = 0
  if (!asked) turn()
  asked = true
})

const [url = ""] = process.argv.slice(2)
const scope = Scope.makeUnsafe()
const compiled = compileOrThrow(config)
const { maxAnswerBytes, statementTimeoutMs } = compiled.options
const postgres = await Effect.runPromise(
  Effect.provideService(
    makePostgres({ url, statementTimeoutMs, waitMs: 30_000, answerBytes: maxAnswerBytes }),
    Scope.Scope,
    scope
  )
)
const edge = makeService({
  compiled,
  records: makeRecords(postgres),
  authenticator: testAuthenticator,
  secret: testSecret,
  publicUrl: "http://service.test"
})
const { port } = await listen(edge, { port: 0 })
console.log(String(port))
