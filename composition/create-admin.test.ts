import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { makeFetch } from "../adapters/http/fetch.ts"
import type { OptionsDeclaration } from "../core/domain/model/config.ts"
import { f } from "../core/domain/model/field.ts"
import { defineResource } from "../core/domain/model/resource.ts"
import { makeFakeRecords } from "../test/fakes/records.ts"
import { compileOrThrow, makeService } from "./create-admin.ts"

const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault() }
})

const serve = (options: OptionsDeclaration) =>
  makeFetch(makeService({
    compiled: compileOrThrow({ resources: [notes], options }),
    records: makeFakeRecords().service,
    authenticator: () => ({ user: { id: "u1", roles: ["admin"] } }),
    secret: "a secret of the tests, long enough",
    publicUrl: "http://localhost",
    ready: Effect.succeed(true)
  }))

describe("options of the service", () => {
  const origin = "https://panel.example.org"
  it.each([[{ origins: [origin] }, "600"], [{ origins: [origin], maxAgeSeconds: 7 }, "7"]])(
    "%j: browsers keep the answer to a preflight for %s seconds",
    async (cors, seconds) => {
      const headers = { origin, "access-control-request-method": "GET" }
      const response = await serve({ cors })(
        new Request("http://localhost/api/v1/notes", { method: "OPTIONS", headers })
      )
      expect([response.status, response.headers.get("access-control-max-age")]).toEqual([204, seconds])
    }
  )
})
