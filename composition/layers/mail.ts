/** Where mails go, and the mails about accounts. */

import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EnqueueAccountJobs } from "../../adapters/auth/mails.ts"
import { enqueuesItself } from "../../adapters/queue/enqueue.ts"
import { Mail } from "../../core/ports/mail.ts"
import { Deployment } from "../deployment.ts"
import { ofTenant } from "../tenants.ts"
import { JobRunner } from "./queue.ts"

/** Only where the deployment has a mail server. */
export const mail: Layer.Layer<never, never, Deployment> = Layer.unwrap(
  Effect.map(Deployment, ({ mail: given }) => given === undefined ? Layer.empty : Layer.succeed(Mail, given))
)

/** The auth server is older than the service, as it is made by whoever starts both. So it is told here which queue its mails go into. */
export const accountMails = Layer.effectDiscard(Effect.gen(function*() {
  const { accounts, tenantAuths } = yield* Deployment
  const { db } = yield* JobRunner
  const enqueue: EnqueueAccountJobs = (plans) => db[enqueuesItself]!(plans)
  accounts?.mailer?.sendBy(enqueue)
  for (const [tenant, { mailer }] of tenantAuths ?? []) mailer?.sendBy((plans) => enqueue(ofTenant(tenant, plans)))
}))
