/**
 * The use case of the audit: its entries in pages, for admins. What an entry says of a resource or a field that its reader does not see is left out. Nothing here
 * changes an entry.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import type { Caller } from "../../domain/access/caller.ts"
import {
  actsOf,
  type AuditAct,
  auditActs,
  type AuditEntry,
  auditGroups,
  type AuditPosition
} from "../../domain/audit/entry.ts"
import { isTextList } from "../../domain/bag.ts"
import { ownJson } from "../../domain/own-json.ts"
import { accessDenied, invalidParameter, type Problem } from "../../domain/problem.ts"
import { checkFilter } from "../../domain/read/list.ts"
import { timestampCell } from "../../domain/value/instant.ts"
import { adminRole } from "../../domain/value/role.ts"
import type { AuditService } from "../../ports/audit.ts"
import type { SealService } from "../../ports/seal.ts"
import { type Accesses, json, readParameters, type Reply } from "../ground/call.ts"
import { recordsProblem } from "../ground/refusal.ts"

type Query = ReadonlyArray<readonly [name: string, value: string]>

export interface AuditApp {
  readonly list: (caller: Caller, query: Query) => Effect.Effect<Reply, Problem>
}

const usualPage = 50
const largestPage = 500
const longestSearch = 200

/** Characters that a search may have. The database keeps no other, so none would be found. */
const isPlain = (text: string): boolean => text.isWellFormed() && !text.includes("\0")

const readSize = (text: string | undefined): Result.Result<number, Problem> =>
  text === undefined || /^[0-9]{1,9}$/.test(text)
    ? Result.succeed(Math.min(Number(text ?? 0) || usualPage, largestPage))
    : Result.fail(invalidParameter("page_size", "Expected a whole number, 0 or more."))

const readText = (name: string, text: string | undefined): Result.Result<string | null, Problem> =>
  text === undefined || text === ""
    ? Result.succeed(null)
    : text.length <= longestSearch && isPlain(text)
    ? Result.succeed(text)
    : Result.fail(invalidParameter(name, `Expected at most ${longestSearch} characters of plain text.`))

const readTime = (name: string, text: string | undefined): Result.Result<string | null, Problem> => {
  if (text === undefined || text === "") return Result.succeed(null)
  const cell = timestampCell(text)
  return cell === null
    ? Result.fail(invalidParameter(name, "Expected a time such as 2026-03-01T00:00:00Z."))
    : Result.succeed(cell)
}

const readActs = (text: string | undefined): Result.Result<readonly AuditAct[] | null, Problem> => {
  if (text === undefined || text === "") return Result.succeed(null)
  const acts = actsOf(text)
  return acts === null
    ? Result.fail(
      invalidParameter("what", `Expected one of ${auditGroups.join(", ")}, or an act such as ${auditActs[0]}.`)
    )
    : Result.succeed(acts)
}

/** The access of a reader to a resource of which they may read something; null: to them it does not exist. */
const readable = (accesses: Accesses, resource: string): Access | null => {
  const access = accesses(resource)
  return access === null || access.tenantMissing || access.decisions.read.of === "deny" ? null : access
}

/** What an entry about records says to a reader: its resource, and only names and conditions that the reader may use. */
const shownRecords = (entry: AuditEntry, accesses: Accesses): Pick<AuditEntry, "subject" | "details"> => {
  const { details, subject } = entry
  const access = subject === null ? null : readable(accesses, subject.id)
  const { fields, filter, ...rest } = details
  if (access === null) {
    return { subject: null, details: { ...rest, ...(filter === undefined ? {} : { filter: null }) } }
  }
  const shown = typeof filter === "string" && Result.isSuccess(checkFilter(accesses, access, filter)) ? filter : null
  return {
    subject,
    details: {
      ...rest,
      ...(filter === undefined ? {} : { filter: shown }),
      // A path ends at a field of another resource. Whether it is seen is not asked here, so it is left out.
      ...(isTextList(fields) ? { fields: fields.filter((name) => access.restricted.byName.has(name)) } : {})
    }
  }
}

const shownEntry = (entry: AuditEntry, accesses: Accesses) => {
  const { act, actor, at, id, key, request } = entry
  const { details, subject } = entry.subject?.kind === "resource" ? shownRecords(entry, accesses) : entry
  return { id, at, act, who: actor, key, subject, details, request }
}

/** Makes the use case. */
export const makeAuditApp = (
  { accessesOf, resources, seal, store }: {
    readonly store: AuditService
    /** The names of all resources. */
    readonly resources: readonly string[]
    readonly seal: SealService
    readonly accessesOf: (caller: Caller) => Accesses
  }
): AuditApp => {
  const readPosition = (text: string | undefined, context: string): Result.Result<AuditPosition | null, Problem> => {
    if (text === undefined || text === "") return Result.succeed(null)
    const opened = seal.open(context, text)
    return opened === null
      ? Result.fail(invalidParameter("page_token", "The token is not one of this list."))
      : Result.succeed(ownJson<AuditPosition>(opened))
  }
  return {
    list: Effect.fnUntraced(function*(caller, query): Effect.fn.Return<Reply, Problem> {
      if (!caller.roles.includes(adminRole)) return yield* Effect.fail(accessDenied())
      const given = yield* Effect.fromResult(
        readParameters(query, ["who", "what", "since", "until", "search", "page_size", "page_token"])
      )
      const asked = yield* Effect.fromResult(Result.gen(function*() {
        return {
          tenant: caller.tenant,
          actor: yield* readText("who", given.who),
          acts: yield* readActs(given.what),
          since: yield* readTime("since", given.since),
          until: yield* readTime("until", given.until),
          search: yield* readText("search", given.search)
        }
      }))
      const size = yield* Effect.fromResult(readSize(given.page_size))
      const context = JSON.stringify(["audit", caller.id, asked])
      const after = yield* Effect.fromResult(readPosition(given.page_token, context))
      const accesses = accessesOf(caller)
      const searched = asked.search === null ? [] : resources.filter((name) => readable(accesses, name) !== null)
      const found = yield* Effect.catch(store.page({ ...asked, searched, after, limit: size + 1 }), recordsProblem)
      const page = found.slice(0, size)
      const last = found.length > size ? page.at(-1) : undefined
      return json(
        200,
        JSON.stringify({
          entries: page.map((entry) => shownEntry(entry, accesses)),
          next_page_token: last === undefined ? null : seal.seal(context, JSON.stringify({ at: last.at, id: last.id }))
        })
      )
    })
  }
}
