/** The layers of a service put together: the ports on their adapters, the service over whatever ports there are, and how both are built and closed. */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { accountNotes } from "../account-notes.ts"
import { type Bell, bell } from "../bell.ts"
import { Deployment, type DeploymentSettings } from "../deployment.ts"
import { auth } from "./auth.ts"
import { ground } from "./core.ts"
import { events, outbound } from "./events.ts"
import { http } from "./http.ts"
import { accountMails, mail } from "./mail.ts"
import { postgres } from "./postgres.ts"
import { queue } from "./queue.ts"
import { storage } from "./storage.ts"
import { stopping, work } from "./work.ts"

/** Every port on its adapter. Each layer asks for what it is told, and closes what it has opened when its scope ends. */
export const Live = Layer.mergeAll(postgres, storage, queue, outbound, auth, mail)

/** The service over its ports. It ends from the outside in: requests and work at the same time, then what both stand on. */
const Service = Layer.mergeAll(http, stopping, accountMails, accountNotes).pipe(
  Layer.provideMerge(work),
  Layer.provideMerge(events),
  Layer.provideMerge(ground)
)

/** The ports that every service needs. `Images`, `Mail` and `Webhooks` may be missing. */
export type Ports = Exclude<Layer.Services<typeof Service>, Bell | Deployment>

/** What is built: values to take out once, and what closes everything. */
export interface Built<Given> {
  readonly made: Context.Context<Given>
  /** May be called again. */
  readonly close: () => Promise<void>
}

/** Builds a service over ports. What was opened is closed again when that fails. */
export const build = async <Given>(
  ports: Layer.Layer<Given | Ports, never, Bell | Deployment>,
  told: DeploymentSettings
): Promise<Built<Given | Ports | Layer.Success<typeof Service>>> => {
  const scope = Scope.makeUnsafe()
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => closing ??= Effect.runPromise(Scope.close(scope, Exit.void))
  const whole = Service.pipe(
    Layer.provideMerge(ports),
    Layer.provide(Layer.merge(bell, Layer.succeed(Deployment, told)))
  )
  try {
    return { made: await Effect.runPromise(Layer.buildWithScope(whole, scope)), close }
  } catch (error) {
    await close()
    throw error
  }
}
