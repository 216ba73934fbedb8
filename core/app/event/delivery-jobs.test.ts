// The jobs of deliveries, as the queue knows them.
import { expect, it } from "vitest"
import { isOwnJob } from "../../domain/compile/jobs.ts"
import { deliveryJobs } from "./delivery-jobs.ts"

it("have names that no configuration declares, and that are no strangers to the lists of jobs", () => {
  expect([...deliveryJobs({} as never).keys()].filter((name) => !isOwnJob(name))).toEqual([])
})
