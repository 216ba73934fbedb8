/** The failure of a start: everything that is wrong, at once. A file of its own, so that commands can tell it without loading a service. */

import { printRefusals } from "../core/domain/model/refusal.ts"
import type { Refusal } from "../core/domain/model/refusal.ts"

/** Why a service did not start: every refusal, with resource, field and fix. */
export class StartupError extends Error {
  readonly refusals: readonly Refusal[]
  constructor(refusals: readonly Refusal[]) {
    super(printRefusals(refusals))
    this.name = "StartupError"
    this.refusals = refusals
  }
}
