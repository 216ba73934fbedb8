/**
 * What the event loop and the guard of its leases share: the statements that renew, the parts of a lease, and the memory in which the loop says that it lives.
 * It imports as little as can be, because each process that runs jobs loads it twice.
 */

import { lockMargin } from "./sql.ts"

/** When the loop last held its jobs safely, by the clock of `process.hrtime`, and how many jobs it holds. */
export const viewsOf = (memory: SharedArrayBuffer) => ({
  beat: new BigInt64Array(memory, 0, 1),
  held: new Int32Array(memory, 8, 1)
})

/** For a guard: milliseconds since the loop was last heard of; null while it holds no job. */
export const silenceOf = (memory: SharedArrayBuffer): number | null => {
  const { beat, held } = viewsOf(memory)
  return Atomics.load(held, 0) === 0 ? null : Number(process.hrtime.bigint() - Atomics.load(beat, 0)) / 1e6
}

/** Parts of a lease: how often it is renewed, how soon again after a failure, and after how much silence a guard does it. */
export const partsOf = (leaseMs: number) => ({
  renewMs: leaseMs / 3,
  againMs: leaseMs / 15,
  silentMs: leaseMs / 2,
  lookMs: leaseMs / 20
})

/** The later end of a lease: so long from now ($1), and with the try's timeout at the latest. */
const laterIn = (s: string): string =>
  `least(now() + $1::text::interval, j.updated_at + coalesce((select timeout from ${s}.definitions d where d.task_id = j.task_id), interval '4 hours')
  + ${lockMargin}) - interval '4 hours'`

/**
 * Renews the leases of given jobs, and gives those that are still held. It skips a row that another statement has locked, such as its completion, so that
 * neither waits for the other.
 */
export const renewSql = (s: string): string =>
  `with held as (select * from unnest($2::bigint[], $3::text[], $4::integer[]) as h(id, owner, try)),
free as (
  select j.id from ${s}._private_jobs j join held h on j.id = h.id and j.locked_by = h.owner and j.attempts = h.try
  for update of j skip locked),
renewed as (
  update ${s}._private_jobs j set locked_at = ${laterIn(s)} where id in (select id from free) and locked_at <> ${
    laterIn(s)
  })
select j.id::text, j.attempts, extract(epoch from now() + $1::text::interval)::text as ends
from ${s}._private_jobs j join held h on j.id = h.id and j.locked_by = h.owner and j.attempts = h.try`

/**
 * The same by owners alone, for a guard, which does not know single jobs. What was fetched and lost on its way is renewed with the rest, as long as the
 * loop is silent.
 */
export const renewAllSql = (s: string): string =>
  `with free as (
  select id from ${s}._private_jobs where locked_at is not null and locked_by = any($2::text[]) for update skip locked)
update ${s}._private_jobs j set locked_at = ${laterIn(s)} where id in (select id from free) and locked_at <> ${
    laterIn(s)
  }`
