/** The foundation of the use cases: models, access, records and files, made of ports by the service and by commands. */

import { codeBehind, ruleLine } from "../adapters/http/access-log.ts"
import { makeSeal } from "../adapters/seal/seal.ts"
import type { Auditing } from "../core/app/ground/audit.ts"
import type { Core, NamesOf, RecordCheck } from "../core/app/ground/core.ts"
import { RowEstimates } from "../core/app/ground/estimate.ts"
import type { Files } from "../core/app/ground/files.ts"
import { makeJudgements } from "../core/app/ground/guard.ts"
import { RecentVersions } from "../core/app/ground/versions.ts"
import { type AccessResolver, makeAccessResolver, type RuleFailed } from "../core/domain/access/resolve.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import type { Secrets } from "../core/domain/secret.ts"
import { classOf } from "../core/domain/thrown.ts"
import type { AuditService } from "../core/ports/audit.ts"
import type { RecordsService } from "../core/ports/records.ts"
import type { ReplicasService } from "../core/ports/replicas.ts"
import type { SealService } from "../core/ports/seal.ts"
import { type FileParts, type FileSettings, makeFiles, usualFileSettings } from "./files.ts"
import { eventLine } from "./log.ts"

/** A line of the log about files: what kind of failure it was, never its text. */
const fileLine = (event: string, details: { readonly [name: string]: unknown }, cause: unknown): string =>
  JSON.stringify({
    level: cause === undefined && event === "file-cleanup" ? "info" : "warn",
    time: new Date().toISOString(),
    event,
    ...details,
    ...(cause === undefined
      ? {}
      : { error: classOf(cause), code: codeBehind(cause) })
  })

/** Writes a line of the log about files. */
export const fileReport =
  (log: ((line: string) => void) | undefined): Files["report"] => (event, { cause, ...details }) =>
    log?.(fileLine(event, details, cause))

/** Writes what could not be noted: who did what to what, so that it is known from the log. Details may hold a filter, so they are left out. */
const auditLost = (log: ((line: string) => void) | undefined): Auditing["lost"] => (entries, error) => {
  for (const { act, actor, request, subject } of entries) {
    log?.(eventLine("error", "audit-lost", {
      act,
      user: actor?.id ?? null,
      kind: subject?.kind ?? null,
      subject: subject?.id ?? null,
      id: request,
      error: classOf(error),
      code: codeBehind(error)
    }))
  }
}

/** The foundation of the use cases. */
export interface Foundation {
  readonly core: Core
  readonly resolver: AccessResolver
}

/** What a foundation is made of. */
export interface FoundationParts {
  readonly compiled: Compiled
  readonly records: RecordsService
  /** Where reads may go besides. */
  readonly replicas?: ReplicasService | undefined
  readonly seal: SealService
  /** Null: no resource has a file field. */
  readonly files: Files | null
  readonly namesOf?: NamesOf | undefined
  /** Where acts are noted; left out: nowhere. */
  readonly audit?: AuditService | undefined
  readonly log?: ((line: string) => void) | undefined
  /** Told after a commit that left changes to dispatch. */
  readonly changed?: () => void
}

/** A foundation over ports. */
export const foundationOn = (
  { audit, changed = () => {}, compiled, files, log, namesOf, records, replicas, seal }: FoundationParts
): Foundation => {
  const { options } = compiled
  const core: Core = {
    ...(namesOf === undefined ? {} : { namesOf }),
    ...(audit === undefined ? {} : { audit: { store: audit, lost: auditLost(log) } }),
    ...(replicas === undefined ? {} : { replicas }),
    changed,
    models: compiled.models,
    records,
    seal,
    options: {
      basePath: options.basePath,
      scanGuard: options.scanGuard,
      rowPermissions: (resource) => options.rowPermissions !== null && !options.rowPermissions.except.has(resource),
      writeHooks: options.writeHooks,
      statementTimeoutMs: options.statementTimeoutMs,
      maxAnswerBytes: options.maxAnswerBytes,
      maxBatchBytes: options.maxBatchBytes,
      queueSchema: compiled.schemas.jobs
    },
    estimates: new RowEstimates(),
    judgements: makeJudgements(),
    versions: new RecentVersions(),
    items: { digest: seal.digest, hash: seal.hash, files: files?.links ?? null },
    files
  }
  return { core, resolver: makeAccessResolver(compiled.models, compiled.rules, compiled.defaults, ruleLog(log)) }
}

/** The same foundation with checks of records, which stand on it themselves. */
export const withChecks = (
  { core, resolver }: Foundation,
  checks: ReadonlyMap<string, RecordCheck>
): Foundation => ({ core: { ...core, checks }, resolver })

/** The foundation over records, with keys and files of its own: for commands, and for tests. */
export const makeFoundation = (
  parts: Pick<FoundationParts, "audit" | "compiled" | "records" | "replicas" | "namesOf" | "log" | "changed"> & {
    readonly secret: Secrets
    readonly fileSettings?: FileSettings
    readonly filesSecret?: Secrets
    readonly files?: FileParts
  }
): Foundation => {
  const { compiled, files, fileSettings = usualFileSettings(), filesSecret, log, secret } = parts
  const key = filesSecret ?? compiled.files.secret ?? secret
  return foundationOn({
    ...parts,
    seal: makeSeal(secret),
    files: makeFiles(compiled, fileSettings, key, fileReport(log), files)
  })
}

/** Milliseconds in which a rule that throws is logged once. */
const ruleLogMs = 60_000

/** Writes which rule threw, what kind of error and where, never its text, which may quote values. A rule that always throws has one line a minute. */
const ruleLog = (log: FoundationParts["log"]): RuleFailed => {
  const last = new Map<string, number>()
  return (resource, place, error) => {
    const rule = `access.${place}`
    const name = `${resource} ${rule}`
    if (performance.now() - (last.get(name) ?? -Infinity) < ruleLogMs) return
    last.set(name, performance.now())
    log?.(ruleLine(resource, rule, error))
  }
}
