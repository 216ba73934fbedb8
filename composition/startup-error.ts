/**
 * The failure of a start: everything that is wrong at once, and files that cannot be used. It is a file of its own, so that commands
 * recognise it without loading a service.
 */

import { printRefusals } from "../core/domain/declare/refusal.ts"
import type { Refusal } from "../core/domain/declare/refusal.ts"

/** Why a service did not start: every refusal, with resource, field and fix. */
export class StartupError extends Error {
  readonly refusals: readonly Refusal[]
  constructor(refusals: readonly Refusal[]) {
    super(printRefusals(refusals))
    this.name = "StartupError"
    this.refusals = refusals
  }
}

/** What the file system refused, for people; null for any other error. */
export const fileProblem = (error: unknown): string | null =>
  error instanceof Error && "code" in error && "path" in error && "syscall" in error && error.syscall !== "connect"
    // It names the path.
    ? `${error.message}\nCheck that the folder exists, is a folder, and may be written by this user; SERVICE_DATA names another one for data.`
    : null
