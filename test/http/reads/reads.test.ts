// The reading half of the service over HTTP: the same scenarios on the records fake and on PostgreSQL.
import { afterAll, beforeAll, describe, expect } from "vitest"
import { startService } from "../../support/composed.ts"
import type { TestService } from "../../support/composed.ts"
import { shop } from "../../support/shop.ts"
import { aggregateScenarios } from "./aggregates.ts"
import { expandScenarios } from "./expands.ts"
import { getScenarios } from "./gets.ts"
import { listScenarios } from "./lists.ts"
import { orderPathScenarios } from "./order-paths.ts"
import { refusalScenarios } from "./refusals.ts"
import { relationScenarios } from "./relations.ts"
import { tokenScenarios } from "./tokens.ts"

describe.each(["fake", "postgres"] as const)("reads on %s", (backend) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(backend, shop())
  })
  afterAll(async () => {
    expect(service.unhandled).toEqual([])
    await service.close()
  })
  listScenarios(() => service)
  tokenScenarios(() => service)
  getScenarios(() => service)
  aggregateScenarios(() => service)
  expandScenarios(() => service)
  refusalScenarios(() => service)
  relationScenarios(() => service)
  orderPathScenarios(() => service)
})
