/** The port to what the extension `webhooks` keeps, in memory: the same contract, in one process. */

import * as Effect from "effect/Effect"
import type { TryResult } from "../../core/domain/event/try.ts"
import type { DisabledNow, KeptSubscription, WebhooksService } from "../../core/ports/webhooks.ts"

interface Row extends Omit<KeptSubscription, "previous" | "failing" | "stamp"> {
  readonly reason: string | null
  readonly version: number
  readonly previous: { readonly sealed: string | null; readonly until: number } | null
  readonly failingSince: number | null
}

export interface FakeWebhooks extends WebhooksService {
  readonly add: (more: Partial<KeptSubscription>) => string
  /** What people see of it besides. */
  readonly shown: (
    id: string
  ) => { readonly enabled: boolean; readonly reason: string | null; readonly version: string }
  readonly attempts: (id: string) => readonly TryResult[]
  readonly attemptIds: (id: string) => readonly string[]
  readonly pass: (seconds: number) => void
  /** A delivery that has failed for good. */
  readonly fail: (id: string) => string
}

const day = 86_400

export const makeFakeWebhooks = (): FakeWebhooks => {
  const rows = new Map<string, Row>()
  const tries: Array<
    { readonly id: string; readonly attempt: string; readonly result: TryResult; readonly at: number }
  > = []
  const deliveries = new Map<string, { readonly subscription: string; failed: boolean }>()
  let clock = 0
  let last = 0
  const change = (id: string, make: (row: Row) => Row): Effect.Effect<void> =>
    Effect.sync(() => {
      const row = rows.get(id)
      if (row !== undefined) rows.set(id, make(row))
    })
  /** What it disables is told to the caller. */
  const disabling = (id: string, make: (row: Row) => Row): Effect.Effect<DisabledNow | null> =>
    Effect.suspend(() => {
      const before = rows.get(id)
      return Effect.map(change(id, make), () => {
        const after = rows.get(id)
        return before?.enabled === true && after?.enabled === false
          ? { id, name: after.name, owner: after.owner, tenant: after.tenant }
          : null
      })
    })
  const kept = ({ failingSince, previous, ...row }: Row): KeptSubscription => ({
    ...row,
    previous: previous !== null && previous.until > clock ? previous.sealed : null,
    failing: failingSince !== null,
    stamp: JSON.stringify([row, previous, failingSince, previous !== null && previous.until > clock])
  })
  return {
    add: (more) => {
      const id = String(++last)
      rows.set(id, {
        id,
        name: "name",
        events: "*",
        url: "https://example.com/",
        filter: null,
        headers: null,
        payload: "full",
        ordered: false,
        enabled: true,
        tenant: null,
        owner: "ann",
        roles: null,
        perMinute: null,
        waits: null,
        secret: null,
        ...more,
        reason: null,
        version: 1,
        previous: null,
        failingSince: null
      })
      return id
    },
    shown: (id) => {
      const { enabled, reason, version } = rows.get(id)!
      return { enabled, reason, version: String(version) }
    },
    attempts: (id) => tries.filter((each) => each.id === id).map(({ result }) => result),
    attemptIds: (id) => tries.filter((each) => each.id === id).map(({ attempt }) => attempt),
    pass: (seconds) => void (clock += seconds),
    fail: (subscription) => {
      const id = `d${deliveries.size}`
      deliveries.set(id, { subscription, failed: true })
      return id
    },
    all: Effect.sync(() => [...rows.values()].map(kept)),
    stamp: Effect.sync(() => JSON.stringify([...rows.values()].map((row) => kept(row).stamp))),
    stamps: (ids) =>
      Effect.sync(() => {
        const found = ids.flatMap((id) => rows.get(id) ?? [])
        return new Map(found.map((row) => [row.id, kept(row).stamp]))
      }),
    find: (id) =>
      Effect.sync(() => {
        const row = rows.get(id)
        return row === undefined ? null : kept(row)
      }),
    firstRoles: (id, roles) =>
      Effect.map(change(id, (row) => ({ ...row, roles: row.roles ?? roles })), () => rows.get(id)?.roles ?? null),
    firstSecret: (id, sealed) =>
      Effect.map(change(id, (row) => ({ ...row, secret: row.secret ?? sealed })), () => rows.get(id)?.secret ?? null),
    rotate: (id, sealed) =>
      change(id, (row) => ({ ...row, previous: { sealed: row.secret, until: clock + day }, secret: sealed })),
    disable: (id, reason) =>
      disabling(id, (row) => row.enabled ? { ...row, enabled: false, reason, version: row.version + 1 } : row),
    enable: (id) =>
      change(id, (row) =>
        row.enabled
          ? row
          : { ...row, enabled: true, reason: null, failingSince: null, version: row.version + 1 }),
    succeeded: (id) => change(id, (row) => ({ ...row, failingSince: null })),
    failed: (id) =>
      disabling(id, (row) => {
        const failingSince = row.failingSince ?? clock
        const over = row.enabled && failingSince <= clock - 3 * day
        return {
          ...row,
          failingSince,
          ...(over
            ? { enabled: false, reason: "No delivery has succeeded for three days.", version: row.version + 1 }
            : {})
        }
      }),
    resend: (chosen) =>
      Effect.sync(() => {
        const found = [...deliveries].filter(([id, { failed, subscription }]) =>
          failed && ("subscription" in chosen ? subscription === chosen.subscription : id === chosen.delivery)
        )
        for (const [, each] of found) each.failed = false
        return found.length
      }),
    replaying: () => Effect.succeed(false),
    sent: (attempt) =>
      Effect.sync(() => {
        const { request = null, roles = null } = tries.find((each) => each.attempt === attempt)?.result ?? {}
        return request === null
          ? null
          : { body: request.body.slice(0, 8_192), whole: request.body.length <= 8_192, roles }
      }),
    log: (id, result) =>
      Effect.sync(() => {
        const old = tries.filter(({ at }) => at < clock - 30 * day)
        for (const each of old) tries.splice(tries.indexOf(each), 1)
        if (rows.has(id)) {
          const kept = { ...result, answer: result.answer?.replaceAll("\0", "") ?? null }
          tries.push({ id, attempt: `a${++last}`, result: kept, at: clock })
        }
      })
  }
}
