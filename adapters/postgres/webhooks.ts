/** The tables of the extension `webhooks` as statements, safe to run again, and the port to their data. */

import * as Effect from "effect/Effect"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import type { Webhooks } from "../../core/domain/declare/webhooks.ts"
import { ownJson } from "../../core/domain/own-json.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import type { DisabledNow, KeptRequest, KeptSubscription, WebhooksService } from "../../core/ports/webhooks.ts"
import type { Postgres } from "./connection.ts"
import { refuse } from "./errors.ts"
import { arrayLiteral, identifier, ownSchema } from "./sql.ts"

/** Days without a success after which a subscription is disabled, days that attempts are kept, hours that an old secret is valid. */
const failingDays = 3
const loggedDays = 30
const overlapHours = 24

/** Subscriptions that people made have names of this form in jobs. Names of the configuration have no colon. */
export const madePrefix = "made:"

/** Whether nothing has succeeded for too long. After the statement that notes the first failure, it is not so. */
const overdue = `coalesce(failing_since <= now() - interval '${failingDays} days', false)`

/**
 * A text of a subscription that is another one after every change: the transaction that wrote the row, and its place. A previous secret ends without a write.
 */
const stampOf = "xmin::text || ctid::text || coalesce(previous_until > now(), false)::text"

/** The time of the next version. */
const later = "greatest(clock_timestamp(), updated_at + interval '1 microsecond')"

const deliverNames = "('webhooks.deliver', 'webhooks.deliver-ordered')"

/** Statements that make the schema. The schema of the queue has to be there: deliveries are a view over it. */
export const webhooksStatements = (
  { schema }: Pick<Webhooks, "schema">,
  queue: string = defaultSchemas.jobs
): readonly string[] => {
  const jobs = ownSchema(queue)
  const s = identifier(schema)
  // Payloads of other jobs may have any text in such a member.
  const of = `case when payload->>'subscription' ~ '^${madePrefix}[0-9]{1,18}$'
    then substr(payload->>'subscription', ${madePrefix.length + 1})::bigint end`
  return [
    `create schema if not exists ${s}`,
    `create table if not exists ${s}.subscriptions (
  id bigint generated always as identity primary key,
  tenant_id text not null default '',
  owner_id text not null default '',
  name text not null,
  events text not null,
  url text not null,
  filter text,
  headers jsonb,
  payload text not null default 'full' check (payload in ('full', 'thin')),
  ordered boolean not null default false,
  enabled boolean not null default true,
  disabled_reason text,
  secret text,
  previous_secret text,
  previous_until timestamptz,
  failing_since timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
)`,
    `create index if not exists subscriptions_tenant on ${s}.subscriptions (tenant_id, id)`,
    `create or replace function ${s}.tg_enabled() returns trigger language plpgsql as $webhooks$
begin
  if new.enabled and not old.enabled then
    new.disabled_reason := null;
    new.failing_since := null;
  end if;
  return new;
end
$webhooks$`,
    `create or replace trigger service_enabled before update of enabled on ${s}.subscriptions
  for each row execute function ${s}.tg_enabled()`,
    // Events that wait behind the first one of their record are deliveries, too. The time of their attempt is unknown. The subscription of a job is found by its
    // key: without the offset the planner may compare each job with each subscription.
    `create or replace view ${s}.deliveries as
select d.id, d.subscription_id, s.tenant_id, s.owner_id,
  coalesce(d.payload->>'id', d.payload#>>'{events,0,id}') as event_id,
  (d.payload->>'resource') || '.' || coalesce(d.payload->>'event', d.payload#>>'{events,0,event}') as event_type,
  d.payload->>'resource' as resource,
  d.payload->>'key' as key,
  case when d.locked_at is not null then 'running' when d.attempts >= d.max_attempts then 'failed'
    when d.attempts = 0 and coalesce((d.payload->>'tried')::integer, 0) = 0 then 'waiting' else 'retrying' end as state,
  d.attempts + coalesce((d.payload->>'tried')::integer, 0) as tries,
  case when d.attempts < d.max_attempts then d.run_at end as next_try_at,
  coalesce(substring(d.last_error from 'answered ([0-9]{3})'), d.payload->>'status')::integer as last_status,
  coalesce(d.last_error, d.payload->>'error') as last_error,
  d.created_at
from (
  select id, task_id, payload, locked_at, attempts::integer, max_attempts, run_at, last_error, created_at, ${of} as subscription_id
  from ${jobs}._private_jobs
  union all
  select id, task_id, payload, null::timestamptz, 0, max_attempts, null::timestamptz, null::text, created_at, ${of}
  from ${jobs}.group_waiting
) d
cross join lateral (select tenant_id, owner_id from ${s}.subscriptions where id = d.subscription_id offset 0) s
where d.subscription_id is not null
  and d.task_id in (select id from ${jobs}._private_tasks where identifier in ${deliverNames})`,
    `create table if not exists ${s}.attempts (
  id bigint generated always as identity primary key,
  tenant_id text not null default '',
  owner_id text not null,
  subscription_id bigint not null references ${s}.subscriptions on delete cascade,
  delivery_id text not null,
  at timestamptz not null default now(),
  try integer not null,
  outcome text not null,
  status integer,
  answer text,
  error text,
  duration_ms integer not null
)`,
    `create index if not exists attempts_subscription on ${s}.attempts (subscription_id, id)`,
    `create index if not exists attempts_at on ${s}.attempts (at)`
  ]
}

/**
 * What came later: the roles of the credential that made a subscription, and the end of what waits for a subscription that is deleted. A migration of its own,
 * because the tables may be there already.
 */
export const webhookRolesStatements = (
  { schema }: Pick<Webhooks, "schema">,
  queue: string = defaultSchemas.jobs
): readonly string[] => {
  const jobs = ownSchema(queue)
  const s = identifier(schema)
  const its = `payload->>'subscription' = '${madePrefix}' || old.id and task_id in (
    select id from ${jobs}._private_tasks where identifier in ${deliverNames})`
  return [
    `alter table ${s}.subscriptions add column if not exists roles jsonb`,
    // As its owner: the role of the service may have no right to the tables of the queue. Deliveries that wait behind another of their record come first.
    `create or replace function ${s}.tg_deleted() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $webhooks$
begin
  delete from ${jobs}.group_waiting where ${its};
  delete from ${jobs}._private_jobs where locked_at is null and ${its};
  return null;
end
$webhooks$`,
    `revoke all on function ${s}.tg_deleted() from public`,
    `create or replace trigger service_deleted after delete on ${s}.subscriptions
  for each row execute function ${s}.tg_deleted()`
  ]
}

/** What came after that: limits and retries of a subscription's own. */
export const webhookLimitsStatements = ({ schema }: Pick<Webhooks, "schema">): readonly string[] => {
  const s = identifier(schema)
  return [
    `alter table ${s}.subscriptions add column if not exists max_per_minute integer`,
    `alter table ${s}.subscriptions add column if not exists retry_steps jsonb`
  ]
}

/** What the log of tries holds since it names the event and its record. The indexes serve tries of a delivery, of a resource, of an event, and the failed ones. */
export const webhookLogStatements = ({ schema }: Pick<Webhooks, "schema">): readonly string[] => {
  const s = identifier(schema)
  return [
    `alter table ${s}.attempts
  add column if not exists event_type text,
  add column if not exists resource text,
  add column if not exists key text,
  add column if not exists url text,
  add column if not exists answer_headers jsonb,
  add column if not exists body text,
  add column if not exists body_whole boolean,
  add column if not exists roles jsonb`,
    `create index if not exists attempts_delivery on ${s}.attempts (delivery_id, id)`,
    `create index if not exists attempts_resource on ${s}.attempts (resource, id)`,
    `create index if not exists attempts_event on ${s}.attempts (event_type, id)`,
    `create index if not exists attempts_failed on ${s}.attempts (id) where outcome <> 'delivered'`
  ]
}

/** Characters of a payload that the log keeps. */
const mostBody = 8_192

/** The beginning of a payload. No character is cut in two. */
const beginningOf = (body: string): string =>
  body.length <= mostBody ? body : body.slice(0, mostBody).replace(/[\ud800-\udbff]$/, "")

/** The port on given connections. */
export const makeWebhooks = (postgres: Postgres, { schema }: Pick<Webhooks, "schema">): WebhooksService => {
  const jobs = ownSchema(postgres.schemas.jobs)
  const s = identifier(schema)
  const read = (sql: string, params: readonly unknown[] = []) => postgres.read(sql, params, { prepare: true })
  const write = (
    sql: string,
    params: readonly unknown[]
  ): Effect.Effect<ReadonlyArray<ReadonlyArray<string | null>>, RecordsError> =>
    postgres.transaction((session) => Effect.catch(session.run(sql, params, true), refuse), true)
  const columns =
    `id::text, name, events, url, filter, headers::text, payload, ordered::text, enabled::text, tenant_id, owner_id, roles::text,
  max_per_minute::text, retry_steps::text, secret, case when previous_until > now() then previous_secret end, (failing_since is not null)::text, ${stampOf}`
  const readRoles = (text: string | null | undefined): readonly string[] | null => text == null ? null : ownJson(text)
  const subscriptionOf = (row: ReadonlyArray<string | null>): KeptSubscription => {
    const [
      id,
      name,
      events,
      url,
      filter,
      headers,
      payload,
      ordered,
      enabled,
      tenant,
      owner,
      roles,
      perMinute,
      waits,
      secret,
      previous,
      failing,
      stamp
    ] = row
    return {
      id: id!,
      name: name!,
      events: events!,
      url: url!,
      filter: filter ?? null,
      headers: headers ?? null,
      payload: payload === "thin" ? "thin" : "full",
      ordered: ordered === "true",
      enabled: enabled === "true",
      // Empty where the application has no tenants.
      tenant: tenant === "" ? null : tenant ?? null,
      owner: owner!,
      roles: readRoles(roles),
      perMinute: perMinute == null ? null : Number(perMinute),
      waits: waits ?? null,
      secret: secret ?? null,
      previous: previous ?? null,
      failing: failing === "true",
      stamp: stamp!
    }
  }
  const disabledNow = ([row]: ReadonlyArray<ReadonlyArray<string | null>>): DisabledNow | null => {
    const [id, name, owner, tenant] = row ?? []
    return id == null ? null : { id, name: name!, owner: owner!, tenant: tenant === "" ? null : tenant ?? null }
  }
  return {
    all: Effect.map(
      read(`select ${columns} from ${s}.subscriptions order by id limit 10000`),
      (rows) => rows.map(subscriptionOf)
    ),
    stamp: Effect.map(
      read(
        `select count(*)::text || ' ' || coalesce(sum(hashtextextended(${stampOf}, id)), 0)::text from ${s}.subscriptions`
      ),
      ([row]) => row![0]!
    ),
    stamps: (ids) =>
      Effect.map(
        read(`select id::text, ${stampOf} from ${s}.subscriptions where id = any($1::bigint[])`, [arrayLiteral(ids)]),
        (rows) => new Map(rows.map(([id, stamp]) => [id!, stamp!]))
      ),
    find: (id) =>
      Effect.map(
        read(`select ${columns} from ${s}.subscriptions where id = $1::bigint`, [id]),
        ([row]) => row === undefined ? null : subscriptionOf(row)
      ),
    firstRoles: (id, roles) =>
      Effect.map(
        write(
          `update ${s}.subscriptions set roles = coalesce(roles, $2::jsonb) where id = $1::bigint returning roles::text`,
          [id, JSON.stringify(roles)]
        ),
        ([row]) => readRoles(row?.[0])
      ),
    firstSecret: (id, sealed) =>
      Effect.map(
        write(`update ${s}.subscriptions set secret = coalesce(secret, $2) where id = $1::bigint returning secret`, [
          id,
          sealed
        ]),
        ([row]) => row?.[0] ?? null
      ),
    rotate: (id, sealed) =>
      Effect.asVoid(write(
        `update ${s}.subscriptions set previous_secret = secret, previous_until = now() + interval '${overlapHours} hours', secret = $2
        where id = $1::bigint returning 1`,
        [id, sealed]
      )),
    disable: (id, reason) =>
      Effect.map(
        write(
          `update ${s}.subscriptions set enabled = false, disabled_reason = $2, updated_at = ${later}
        where id = $1::bigint and enabled returning id::text, name, owner_id, tenant_id`,
          [id, reason]
        ),
        disabledNow
      ),
    enable: (id) =>
      Effect.asVoid(write(
        `update ${s}.subscriptions set enabled = true, updated_at = ${later}
        where id = $1::bigint and not enabled returning 1`,
        [id]
      )),
    succeeded: (id) =>
      Effect.asVoid(write(
        `update ${s}.subscriptions set failing_since = null where id = $1::bigint and failing_since is not null returning 1`,
        [id]
      )),
    failed: (id) =>
      Effect.map(
        write(
          `update ${s}.subscriptions set failing_since = coalesce(failing_since, now()), enabled = enabled and not ${overdue},
          disabled_reason = case when enabled and ${overdue} then 'No delivery has succeeded for three days.' else disabled_reason end,
          updated_at = case when enabled and ${overdue} then ${later} else updated_at end
        where id = $1::bigint and (failing_since is null or (enabled and ${overdue}))
        returning case when ${overdue} then id::text end, name, owner_id, tenant_id`,
          [id]
        ),
        disabledNow
      ),
    resend: (chosen) =>
      Effect.map(
        write(
          // The view shows no times of events. An ordered job is of the time of its first one.
          `select coalesce(sum(${jobs}._retry(d.id, null)), 0)::text from ${s}.deliveries d where d.state = 'failed' and ${
            "subscription" in chosen ? "d.subscription_id" : "d.id"
          } = $1::bigint and ($2::timestamptz is null or exists (
            select from ${jobs}._private_jobs j where j.id = d.id
              and coalesce(j.payload#>>'{change,at}', j.payload#>>'{events,0,change,at}')::timestamptz >= $2::timestamptz
              and coalesce(j.payload#>>'{change,at}', j.payload#>>'{events,0,change,at}')::timestamptz < $3::timestamptz
          ))`,
          "subscription" in chosen
            ? [chosen.subscription, chosen.range?.since ?? null, chosen.range?.until ?? null]
            : [chosen.delivery, null, null]
        ),
        ([row]) => Number(row?.[0] ?? 0)
      ),
    replaying: (id) =>
      Effect.map(
        read(
          `select exists (select from ${jobs}._private_jobs j join ${jobs}._private_tasks t on t.id = j.task_id
          where t.identifier = 'webhooks.replay' and (j.locked_at is not null or j.attempts < j.max_attempts) and j.payload->>'subscription' = '${madePrefix}' || $1)::text`,
          [id]
        ),
        ([row]) => row?.[0] === "true"
      ),
    log: (id, result) =>
      Effect.asVoid(write(
        `with old as (
          delete from ${s}.attempts where id in (select id from ${s}.attempts where at < now() - interval '${loggedDays} days' order by at limit 20 for update skip locked)
        )
        insert into ${s}.attempts (tenant_id, owner_id, subscription_id, delivery_id, try, outcome, status, answer, error, duration_ms,
          event_type, resource, key, url, answer_headers, body, body_whole, roles)
        select tenant_id, owner_id, id, $2, $3::integer, $4, $5::integer, $6, $7, $8::integer,
          $9, $10, $11, $12, $13::jsonb, $14, $15::boolean, $16::jsonb from ${s}.subscriptions where id = $1::bigint returning 1`,
        [
          id,
          result.eventId,
          String(result.attempt),
          result.outcome,
          result.status === null ? null : String(result.status),
          result.answer === null ? null : result.answer.replaceAll("\0", ""),
          result.error,
          String(Math.max(0, Math.round(result.milliseconds))),
          result.event,
          result.resource,
          result.key,
          result.request?.url ?? null,
          result.headers === null ? null : JSON.stringify(result.headers),
          result.request === null ? null : beginningOf(result.request.body),
          result.request === null ? null : String(result.request.body.length <= mostBody),
          result.roles === null ? null : JSON.stringify(result.roles)
        ]
      )),
    sent: (attempt) =>
      Effect.map(
        read(`select body, body_whole::text, roles::text from ${s}.attempts where id = $1::bigint`, [attempt]),
        ([row]): KeptRequest | null => {
          const [body, whole, roles] = row ?? []
          return body == null ? null : { body, whole: whole === "true", roles: readRoles(roles) }
        }
      )
  }
}
