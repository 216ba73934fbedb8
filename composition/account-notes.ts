/**
 * Notes in the audit what happens to accounts and keys, as the auth server of this process tells it. Accounts have a database of their own, so an entry is a
 * second statement after the act. An entry that cannot be kept stands in the log.
 */

import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AccountWatch, AuthEventName } from "../adapters/auth/auth-log.ts"
import { keepNotes, type Notes } from "../core/app/ground/audit.ts"
import { type AuditAct, boundedEntry } from "../core/domain/audit/entry.ts"
import { Deployment } from "./deployment.ts"
import { Ground } from "./layers/core.ts"

/** What is noted. Sign-ins, tokens and refusals stand in the log only: they come far too often. */
const acts: { readonly [event in AuthEventName]?: AuditAct } = {
  "account-created": "account.created",
  "account-invited": "account.invited",
  "account-changed": "account.changed",
  "role-changed": "account.role-changed",
  "account-banned": "account.banned",
  "account-unbanned": "account.unbanned",
  "account-deleted": "account.deleted",
  "link-asked": "account.link-sent",
  "password-set": "account.password-set",
  "password-changed": "account.password-changed",
  "tokens-revoked": "account.sessions-ended",
  "sessions-ended": "account.sessions-ended",
  "second-factor-on": "account.second-factor-on",
  "second-factor-off": "account.second-factor-off",
  "recovery-codes-made": "account.recovery-codes-made",
  "passkey-added": "account.passkey-added",
  "passkey-removed": "account.passkey-removed",
  "key-created": "key.created",
  "key-revoked": "key.revoked"
}

type Names = ReadonlyMap<string, string>

const unnamed: Names = new Map()

/** Watches an auth server. `whenIdle` resolves once every entry is kept or lost. */
export const noteAccounts = (
  { audit, namesOf }: Notes,
  tenant: string | null
): { readonly watch: AccountWatch; readonly whenIdle: () => Promise<void> } => {
  // One after the other, so that entries stand in the order in which things happened.
  let last: Promise<void> = Promise.resolve()
  const watch: AccountWatch = (entry, changed, request) => {
    const act = acts[entry.event]
    if (act === undefined || audit === undefined) return
    const { by, key, method, user } = entry
    // Whoever used a link is not known, and a program is nobody.
    const actor = request === undefined ? null : by ?? (changed.own === true ? user ?? null : null)
    const ids = [actor, user].filter((id) => id !== null && id !== undefined)
    const { after, before, fields, name } = changed
    const details = {
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
      ...(fields === undefined ? {} : { fields }),
      ...(method === undefined ? {} : { method })
    }
    const names = namesOf === undefined || ids.length === 0
      ? Effect.succeed(unnamed)
      : Effect.catch(namesOf(ids, tenant), () => Effect.succeed(unnamed))
    const kept = Effect.flatMap(names, (known) =>
      keepNotes(audit, [
        boundedEntry({
          act,
          actor: actor === null ? null : { id: actor, name: known.get(actor) ?? null },
          tenant,
          key: null,
          subject: key !== undefined
            ? { kind: "key", id: key, name: name ?? null }
            : user === undefined
            ? null
            : { kind: "account", id: user, name: name ?? known.get(user) ?? null },
          details,
          request: request ?? null
        })
      ]))
    const keep = () => Effect.runPromise(kept)
    last = last.then(keep, keep)
  }
  return { watch, whenIdle: () => last }
}

/** Watches the accounts of this process until the scope ends, which waits for entries under way. */
export const accountNotes = Layer.effectDiscard(
  Effect.gen(function*() {
    const { accounts, tenantAuths } = yield* Deployment
    const { core } = yield* Ground
    for (const auth of [...(accounts === null ? [] : [accounts]), ...tenantAuths?.values() ?? []]) {
      const tenant = auth.tenant === undefined ? null : String(auth.tenant)
      const { watch, whenIdle } = noteAccounts(core, tenant)
      const end = auth.watch(watch)
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => {
          end()
          return whenIdle()
        })
      )
    }
  })
)
