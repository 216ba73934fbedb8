/**
 * The service of the ledger as a process of its own, to be killed: serves on a free port of 127.0.0.1, says which on a line, and goes on until
 * it is ended. Argument: the database's URL.
 */

import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { listen } from "../../adapters/http/node.ts"
import { makePostgres } from "../../adapters/postgres/connection.ts"
import { makeRecords } from "../../adapters/postgres/records.ts"
import { compileOrThrow } from "../../composition/create-admin.ts"
import { makeService } from "../../composition/edge.ts"
import { testAuthenticator, testSecret } from "../support/composed.ts"
import { ledger } from "../support/ledger.ts"

const [url = ""] = process.argv.slice(2)
const scope = Scope.makeUnsafe()
const postgres = await Effect.runPromise(Effect.provideService(makePostgres({ url }), Scope.Scope, scope))
const edge = makeService({
  compiled: compileOrThrow(ledger().config),
  records: makeRecords(postgres),
  authenticator: testAuthenticator,
  secret: testSecret,
  publicUrl: "http://service.test"
})
const { port } = await listen(edge, { port: 0 })
console.log(String(port))
