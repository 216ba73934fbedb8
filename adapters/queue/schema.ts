/**
 * The schema of the queue: the tables of the queue library, and our additions (definitions, ordered groups, completed jobs, functions, triggers). It is
 * SQL as text, safe to run again at any level. TypeScript decides nothing here.
 *
 * The library's own rows mean: a job waits or has failed while `locked_at` is null, is done when its row is deleted, and a lock ends at `locked_at` plus four
 * hours. Workers shift `locked_at` so that this is the end of a lease, which they renew (lease.ts). The trigger `service_lock` ends it with the try's timeout
 * at the latest; `updated_at` has its start, later its end. Priorities are negated.
 */

import { readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { defaultSchemas } from "../../core/domain/declare/schemas.ts"
import { hookPrefix, largestMessage, takeUpMs } from "../../core/domain/job/definition.ts"
import { unstorableText } from "../../core/domain/job/enqueue.ts"
import { errorMark, mostErrors } from "../../core/domain/job/failure.ts"
import { identifier, lockMargin, ownSchema, quoted } from "./sql.ts"

/**
 * Raised with every change of `ownStatements`. A program of one level less goes on working with it, while versions are deployed one after the other: what
 * it calls keeps its name, its parameters and its meaning, and goes one level later (test/golden/queue.test.ts).
 */
export const ownLevel = 5

/** The library's own level: its last migration. */
export const libraryLevel = 20

/** The library's own texts, in order, by number. */
export const libraryMigrations = (): ReadonlyMap<number, string> => {
  const folder = join(dirname(createRequire(import.meta.url).resolve("graphile-worker")), "..", "sql")
  const names = readdirSync(folder).filter((name) => /^\d{6}\.sql$/.test(name)).toSorted()
  return new Map(names.map((name) => [Number(name.slice(0, 6)), readFileSync(join(folder, name), "utf8")]))
}

/**
 * Migrates the library's tables from any level to ours. A step that changes locked jobs refuses, because workers have to be stopped for it. Views
 * on the library's tables, such as those of webhook deliveries, would block a change of a column. So they are dropped before and created again
 * unchanged.
 */
const libraryStatements = (library: ReadonlyMap<number, string>, schema: string): string => {
  const s = ownSchema(schema)
  const steps = [...library].map(([id, text]) =>
    `  if not exists (select from ${s}.migrations where id = ${id}) then
    insert into ${s}.migrations (id, breaking) values (${id}, ${text.startsWith("--! breaking")});
    execute $library$${text.replaceAll(":GRAPHILE_WORKER_SCHEMA", identifier(schema))}$library$;
  end if;`
  )
  return `do $steps$
declare
  v record;
  g record;
  found jsonb := '[]';
begin
  create schema if not exists ${s};
  create table if not exists ${s}.migrations (id int primary key, ts timestamptz default now() not null, breaking boolean not null default false);
  if exists (select from ${s}.migrations) and (select count(*) from ${s}.migrations) < ${library.size} then
    for v in
      select distinct c.oid, c.oid::regclass::text as name, c.relacl as rights from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class c on c.oid = r.ev_class
      join pg_class t on t.oid = d.refobjid join pg_namespace n on n.oid = t.relnamespace
      where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and n.nspname = ${
    quoted(schema)
  } and t.relkind in ('r', 'p')
        and c.relkind = 'v' and c.relnamespace <> n.oid
    loop
      found := found || jsonb_build_object('name', v.name, 'owner', (select relowner::regrole::text from pg_class where oid = v.oid),
        'text', pg_get_viewdef(v.oid), 'grants', (select coalesce(jsonb_agg(format('grant %s on %s to %s', a.privilege_type, v.name,
          case when a.grantee = 0 then 'public' else a.grantee::regrole::text end)), '[]') from aclexplode(v.rights) a));
      execute format('drop view %s', v.name);
    end loop;
    drop view if exists ${s}.failed;
  end if;
${steps.join("\n")}
  for v in select each from jsonb_array_elements(found) each loop
    execute format('create view %s as %s', v.each->>'name', v.each->>'text');
    execute format('alter view %s owner to %s', v.each->>'name', v.each->>'owner');
    for g in select jsonb_array_elements_text(v.each->'grants') as text loop execute g.text; end loop;
  end loop;
end $steps$`
}

/** What stands between a message and its stack on the way to the trigger, as SQL. Neither of them has it. */
const stackMark = `e'\\x${errorMark.charCodeAt(0).toString(16)}'`

/** The error of a job whose lease has ended. */
const deadText = "The try ran past its timeout, or its worker died."

const secure = "security definer set search_path = pg_catalog, pg_temp"

const ownStatements = (s: string): readonly string[] => [
  // The settings of a job, as workers report them. They are null until the first worker has started. Until then the library's defaults hold.
  `create table if not exists ${s}.definitions (
  task_id integer primary key,
  ordered boolean not null,
  max_attempts smallint,
  retry_delay interval,
  max_retry_delay interval,
  retry_steps interval[],
  timeout interval,
  schedule text,
  seen_at timestamptz
)`,
  // Level 3. Starts of a limited rate are `rate_every` apart, of which `rate_burst` may come at once; `next_start` is the time of the next one.
  `alter table ${s}.definitions
  add column if not exists paused_at timestamptz,
  add column if not exists resumed_at timestamptz,
  add column if not exists max_running integer,
  add column if not exists rate_every interval,
  add column if not exists rate_burst integer,
  add column if not exists next_start timestamptz`,
  // An ordered job's group has one row in _private_jobs, its head; the others wait here.
  `create table if not exists ${s}.groups (
  task_id integer not null,
  group_key text not null,
  head bigint not null unique,
  primary key (task_id, group_key)
)`,
  `create table if not exists ${s}.group_waiting (
  id bigint primary key,
  task_id integer not null,
  group_key text not null,
  payload json not null,
  run_at timestamptz not null,
  priority smallint not null,
  max_attempts smallint not null,
  created_at timestamptz not null default now()
)`,
  `create index if not exists group_waiting_next on ${s}.group_waiting (task_id, group_key, id)`,
  // Without payloads: those of finished jobs need not stay readable.
  `create table if not exists ${s}.completed (
  id bigint not null,
  task_id integer not null,
  attempts smallint not null,
  run_at timestamptz not null,
  started_at timestamptz not null,
  completed_at timestamptz not null default now()
)`,
  `create index if not exists completed_at on ${s}.completed using brin (completed_at)`,
  `create index if not exists completed_runs on ${s}.completed (id) where id < 0`,
  `create table if not exists ${s}.chores (
  name text primary key,
  done_at timestamptz not null default '-infinity',
  result jsonb
)`,
  // How far a try says that it is.
  `create table if not exists ${s}.progress (
  id bigint primary key,
  attempt smallint not null,
  done double precision not null,
  total double precision,
  note text,
  at timestamptz not null default now()
)`,
  // Level 5. The last errors of each job, numbered from 1. They go with the job.
  `create table if not exists ${s}.errors (
  id bigint not null,
  number integer not null,
  attempt smallint not null,
  at timestamptz not null default clock_timestamp(),
  message text not null,
  stack text,
  primary key (id, number)
)`,
  `insert into ${s}.chores (name) values ('minute'), ('day') on conflict do nothing`,
  // Workers ask for due jobs of one name. The library has no index for that.
  `create index if not exists service_due on ${s}._private_jobs (task_id, priority, run_at, id) where is_available`,
  `create index if not exists service_locked on ${s}._private_jobs (locked_at) where locked_at is not null`,
  `create index if not exists service_failed on ${s}._private_jobs (updated_at, id) where attempts >= max_attempts and locked_at is null`,

  // A try begins: its key is free again unless it is kept until the job has ended ("!" after the name), and the lock ends with the timeout at the latest. Workers lock for a lease only; who locks with the present time, as
  // workers of earlier versions do, has until the timeout. Nothing of a paused name begins: its row stays as it was. A try ends without success: the time of
  // the next one is set, soon where the lease has ended.
  `create or replace function ${s}.service_lock() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $f$
declare d ${s}.definitions; n integer; wait interval; paused timestamptz; ended boolean; stack text;
begin
  if new.locked_at is not null then
    select timeout, paused_at into wait, paused from ${s}.definitions where task_id = new.task_id;
    if paused is not null then return null; end if;
    new.updated_at := now();
    if strpos(split_part(new.key, ' ', 1), '!') = 0 then new.key := null; end if;
    new.locked_at := least(new.locked_at, new.updated_at - interval '4 hours' + wait + ${lockMargin});
    return new;
  end if;
  if new.attempts >= old.attempts then
    select * into d from ${s}.definitions where task_id = new.task_id;
    ended := old.locked_at < now() - interval '4 hours' and new.last_error is not distinct from old.last_error;
    if ended then new.last_error := '${deadText}'; end if;
    -- A worker puts the stack behind its message. The library's table has no column for it.
    stack := nullif(split_part(new.last_error, ${stackMark}, 2), '');
    new.last_error := split_part(new.last_error, ${stackMark}, 1);
    if new.last_error is not null then
      select coalesce(max(e.number), 0) + 1 into n from ${s}.errors e where e.id = new.id;
      insert into ${s}.errors (id, number, attempt, message, stack) values (new.id, n, new.attempts, new.last_error, stack);
      if n > ${mostErrors} then delete from ${s}.errors e where e.id = new.id and e.number <= n - ${mostErrors}; end if;
    end if;
    if new.attempts >= new.max_attempts then
      new.run_at := old.run_at;
      new.key := null;
    elsif old.run_at > now() then new.run_at := old.run_at;
    elsif d.timeout is not null then
      n := greatest(new.attempts, 1);
      wait := case when d.retry_steps is not null
        then d.retry_steps[least(n, array_length(d.retry_steps, 1))] * (1 + 0.1 * random())
        else least(d.max_retry_delay, d.retry_delay * power(2, least(n - 1, 30))) * (0.75 + 0.25 * random()) end;
      new.run_at := now() + case when ended then least(wait, interval '${takeUpMs} milliseconds') else wait end;
    end if;
    new.updated_at := now();
  end if;
  return new;
end $f$`,
  `drop trigger if exists service_lock on ${s}._private_jobs`,
  `create trigger service_lock before update of locked_at on ${s}._private_jobs for each row
  when ((old.locked_at is null) <> (new.locked_at is null)) execute function ${s}.service_lock()`,

  // A worker deletes the row of a completed job. Then the next job of an ordered group becomes its head.
  `create or replace function ${s}.service_gone() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $f$
declare g record; n ${s}.group_waiting;
begin
  insert into ${s}.completed (id, task_id, attempts, run_at, started_at)
    select id, task_id, attempts, run_at, updated_at from gone where locked_by is not null;
  delete from ${s}.progress p using gone where p.id = gone.id;
  -- Most jobs are completed by their first try, have no error, and cost nothing more. One that goes otherwise may have one, also without a trace of it in its row.
  if exists (select from gone where attempts > 1 or last_error is not null or locked_by is null) then
    delete from ${s}.errors e using gone where e.id = gone.id;
  end if;
  for g in select s.task_id, s.group_key from ${s}.groups s join gone on s.head = gone.id order by 1, 2 loop
    -- Waits for transactions that have enqueued into the group and not committed yet.
    perform 1 from ${s}.groups s where s.task_id = g.task_id and s.group_key = g.group_key for update;
    select * into n from ${s}.group_waiting w where w.task_id = g.task_id and w.group_key = g.group_key order by w.id limit 1;
    if found then
      delete from ${s}.group_waiting where id = n.id;
      insert into ${s}._private_jobs (id, task_id, payload, run_at, priority, max_attempts, created_at)
        overriding system value values (n.id, n.task_id, n.payload, n.run_at, n.priority, n.max_attempts, n.created_at);
      update ${s}.groups set head = n.id where task_id = g.task_id and group_key = g.group_key;
    else
      delete from ${s}.groups where task_id = g.task_id and group_key = g.group_key;
    end if;
  end loop;
  return null;
end $f$`,
  `drop trigger if exists service_gone on ${s}._private_jobs`,
  `create trigger service_gone after delete on ${s}._private_jobs referencing old table as gone
  for each statement execute function ${s}.service_gone()`,

  // The queue of a name, made with its first job.
  `create or replace function ${s}._queue(job_name text, is_ordered boolean) returns ${s}.definitions language plpgsql ${secure} as $f$
declare task integer; d ${s}.definitions;
begin
  if job_name is null or job_name !~ '^[A-Za-z0-9_./-]{1,128}$' then
    raise exception 'A job''s name has 1 to 128 letters, digits, "_", "-", "." and "/".' using errcode = '22023';
  end if;
  insert into ${s}._private_tasks (identifier) select job_name
    where not exists (select from ${s}._private_tasks where identifier = job_name) on conflict do nothing;
  select id into task from ${s}._private_tasks where identifier = job_name;
  insert into ${s}.definitions (task_id, ordered) select task, is_ordered
    where task is not null and not exists (select from ${s}.definitions where task_id = task) on conflict do nothing;
  select * into d from ${s}.definitions where task_id = task;
  if not found then
    raise exception 'Another transaction made the queue of this job; try again.' using errcode = '40001';
  end if;
  return d;
end $f$`,

  `create or replace function ${s}._enqueue(
  job_name text, payload json, start_at timestamptz, start_in interval, job_key text, how text, group_name text, urgency integer,
  is_ordered boolean, tries integer
) returns bigint language plpgsql ${secure} as $f$
declare d ${s}.definitions; due timestamptz; own_key text; job bigint; most smallint;
begin
  select s.* into d from ${s}._private_tasks t join ${s}.definitions s on s.task_id = t.id where t.identifier = job_name;
  if not found then d := ${s}._queue(job_name, coalesce(is_ordered, group_name is not null)); end if;
  if octet_length(payload::text) > (case when starts_with(job_name, '${hookPrefix}') then ${largestMessage} else 262144 end) then
    raise exception 'The payload of a job has at most 262144 bytes of JSON.' using errcode = '22023';
  end if;
  -- Neither character can be shown: jsonb, on which views of payloads stand, has none of them. Both are there as escapes only.
  if strpos(payload::text, '\\u') > 0 and payload::text ~* '\\\\u(0000|d[89a-f])' then
    begin
      perform payload::jsonb;
    exception when untranslatable_character or invalid_text_representation then
      raise exception '${unstorableText}' using errcode = '22023';
    end;
  end if;
  if urgency not between -32767 and 32767 then
    raise exception 'The priority of a job is from -32767 to 32767.' using errcode = '22023';
  end if;
  if d.ordered and job_key is not null then
    raise exception 'The job "%" is ordered: it takes no key.', job_name using errcode = '22023';
  end if;
  if d.ordered and group_name is null then
    raise exception 'The job "%" is ordered: it needs a group.', job_name using errcode = '22023';
  end if;
  if not d.ordered and group_name is not null then
    raise exception 'The job "%" is not ordered: it takes no group.', job_name using errcode = '22023';
  end if;
  due := greatest(now(), coalesce(start_at, now() + start_in));
  if not isfinite(due) then
    raise exception 'The start of a job is a time, not infinity.' using errcode = '22023';
  end if;
  most := coalesce(tries, d.max_attempts, 25);
  if d.ordered then
    job := nextval('${s}.jobs_id_seq1');
    loop
      insert into ${s}.groups (task_id, group_key, head) values (d.task_id, group_name, job) on conflict (task_id, group_key) do nothing;
      if found then
        insert into ${s}._private_jobs (id, task_id, payload, run_at, priority, max_attempts)
          overriding system value values (job, d.task_id, payload, due, -urgency, most);
        return job;
      end if;
      -- The group stays as long as this transaction is open; whoever finishes its head waits for it.
      perform 1 from ${s}.groups g where g.task_id = d.task_id and g.group_key = group_name for key share;
      if found then
        insert into ${s}.group_waiting (id, task_id, group_key, payload, run_at, priority, max_attempts)
          values (job, d.task_id, group_name, payload, due, -urgency, most);
        return job;
      end if;
    end loop;
  end if;
  if job_key is null then
    insert into ${s}._private_jobs (task_id, payload, run_at, priority, max_attempts)
      values (d.task_id, payload, due, -urgency, most) returning id into job;
    return job;
  end if;
  -- A key that a job keeps until it has ended is another one than that of a waiting job. Names have neither character.
  own_key := job_name || case when how = 'running' then '!' else ' ' end || job_key;
  if length(own_key) > 512 then
    own_key := left(own_key, 440) || ' ' || encode(sha256(convert_to(own_key, 'UTF8')), 'hex');
  end if;
  loop
    if how = 'replace' then
      update ${s}._private_jobs j set payload = _enqueue.payload, run_at = due, priority = -urgency, max_attempts = most,
        revision = j.revision + 1, updated_at = now()
        where j.key = own_key and j.locked_at is null returning id into job;
    else
      -- The lock keeps the job from starting before this transaction's changes can be seen.
      select id into job from ${s}._private_jobs j where j.key = own_key and j.locked_at is null for share;
    end if;
    if found then return job; end if;
    if how = 'running' then
      -- Not locked: its worker would wait for this transaction to complete it.
      select id into job from ${s}._private_jobs j where j.key = own_key;
      if found then return job; end if;
    end if;
    insert into ${s}._private_jobs (task_id, payload, run_at, priority, max_attempts, key)
      values (d.task_id, payload, due, -urgency, most, own_key) on conflict (key) do nothing returning id into job;
    if found then return job; end if;
  end loop;
end $f$`,

  // Up to level 2, it had one parameter less. Both would be there for the same call.
  `drop function if exists ${s}.enqueue(text, jsonb, timestamptz, text, text, integer)`,
  `create or replace function ${s}.enqueue(
  job_name text, payload jsonb default null, run_at timestamptz default null, key text default null, group_key text default null,
  priority integer default 0, unique_while text default 'waiting'
) returns bigint language plpgsql ${secure} as $f$
begin
  if unique_while not in ('waiting', 'running') then
    raise exception 'unique_while is neither "waiting" nor "running".' using errcode = '22023';
  end if;
  if unique_while = 'running' and key is null then
    raise exception 'unique_while needs a key.' using errcode = '22023';
  end if;
  return ${s}._enqueue(job_name, coalesce(payload, 'null')::json, run_at, null, key,
    case when unique_while = 'running' then 'running' else 'dedupe' end, group_key, coalesce(priority, 0), null, null);
end $f$`,

  // A run of a recurring job. Its id identifies the run, so each run is created once, even after it is done.
  `create or replace function ${s}._enqueue_run(job_name text, run bigint, due timestamptz, tries integer) returns boolean
language plpgsql ${secure} as $f$
declare d ${s}.definitions;
begin
  d := ${s}._queue(job_name, false);
  if exists (select from ${s}.completed where id = run) then return false; end if;
  -- While the name is paused, the run that is due waits, and times after it are left out.
  if d.paused_at is not null and exists (
    select from ${s}._private_jobs where task_id = d.task_id and is_available and id < 0 and attempts = 0 and run_at <= now()) then
    return false;
  end if;
  insert into ${s}._private_jobs (id, task_id, payload, run_at, max_attempts)
    overriding system value values (run, d.task_id, 'null', due, tries) on conflict do nothing;
  if not found then return false; end if;
  -- Somebody removed the run, or ended it, since it was looked for above: the insert has waited for them.
  delete from ${s}._private_jobs where id = run and exists (select from ${s}.completed where id = run);
  return not found;
end $f$`,

  `drop function if exists ${s}._define(text, boolean, integer, interval, interval, interval[], interval, text)`,
  `create or replace function ${s}._define(
  job_name text, is_ordered boolean, tries integer, delay interval, longest interval, steps interval[], lasts interval, cron text,
  at_once integer, spread interval, burst integer
) returns void language plpgsql ${secure} as $f$
declare d ${s}.definitions;
begin
  d := ${s}._queue(job_name, is_ordered);
  update ${s}.definitions set max_attempts = tries, retry_delay = delay, max_retry_delay = longest, retry_steps = steps, timeout = lasts,
    schedule = cron, max_running = at_once, rate_every = spread, rate_burst = burst, seen_at = now() where task_id = d.task_id;
end $f$`,

  // Pauses a name that has a queue, or lets it go on. A name that is declared only (is_ordered is not null) gets its queue. Again, it stays paused since then.
  `create or replace function ${s}._pause(job_name text, is_ordered boolean, pauses boolean) returns table (since timestamptz) language plpgsql ${secure} as $f$
begin
  if is_ordered is not null then perform ${s}._queue(job_name, is_ordered); end if;
  return query update ${s}.definitions d set paused_at = case when pauses then coalesce(d.paused_at, now()) end,
    resumed_at = case when d.paused_at is not null and not pauses then now() else d.resumed_at end
    from ${s}._private_tasks t where t.identifier = job_name and d.task_id = t.id returning d.paused_at;
end $f$`,

  // Fetches jobs of a name that has a limit, as the statement in lane.ts does for others. Locking the definition first lets one fetch of the name happen at
  // a time, and each statement after that sees what the one before has fetched. The last row has no job: in so many seconds the next may start.
  `create or replace function ${s}._fetch(owner text, task integer, most integer, ends double precision, lease interval)
returns table (job ${s}._private_jobs, held_key text, lease_ends text, again double precision) language plpgsql ${secure} as $f$
declare d ${s}.definitions; room integer := most; allowed integer; taken integer := 0; present timestamptz;
begin
  select * into d from ${s}.definitions where task_id = task for no key update;
  if not found or d.paused_at is not null then return; end if;
  if d.max_running is not null then
    select least(room, d.max_running - count(*)) into room from ${s}._private_jobs j where j.task_id = task and j.locked_at is not null;
  end if;
  present := clock_timestamp();
  if d.rate_every is not null then
    -- Never further away than a whole burst: the clock may have gone back since.
    d.next_start := least(greatest(d.next_start, present), present + d.rate_every * d.rate_burst);
    allowed := floor(d.rate_burst - extract(epoch from d.next_start - present) / extract(epoch from d.rate_every));
    room := least(room, allowed);
  end if;
  if room > 0 then
    return query with j as (
      select id, key from ${s}._private_jobs p where p.is_available and p.run_at <= now() and p.task_id = task
      order by p.priority, p.run_at, p.id limit room for update skip locked)
    update ${s}._private_jobs jobs set attempts = jobs.attempts + 1, locked_by = owner,
      locked_at = greatest(to_timestamp(ends), now() + lease) - interval '4 hours'
    from j where jobs.id = j.id returning jobs, j.key, extract(epoch from now() + lease)::text, null::double precision;
    get diagnostics taken = row_count;
  end if;
  if d.rate_every is null then return; end if;
  if taken > 0 then
    d.next_start := d.next_start + d.rate_every * taken;
    update ${s}.definitions set next_start = d.next_start where task_id = task;
  end if;
  if taken < most and taken = allowed then
    return query select null::${s}._private_jobs, null::text, null::text,
      extract(epoch from d.next_start - d.rate_every * (d.rate_burst - 1) - present)::double precision;
  end if;
end $f$`,

  `create or replace view ${s}.failed as
  select j.id, t.identifier as name, j.payload, j.attempts, j.max_attempts, coalesce(j.last_error, '') as error, g.group_key,
    j.created_at as enqueued_at, j.updated_at as failed_at
  from ${s}._private_jobs j join ${s}._private_tasks t on t.id = j.task_id left join ${s}.groups g on g.head = j.id
  where j.attempts >= j.max_attempts and j.locked_at is null`,

  `create or replace function ${s}.next_due() returns timestamptz language sql stable ${secure} as $f$
  -- From one pair of name and priority to the next by the index: a step for each pair, however many jobs wait.
  with recursive first as (
    (select task_id, priority, run_at from ${s}._private_jobs where is_available order by task_id, priority, run_at limit 1)
    union all
    select n.task_id, n.priority, n.run_at from first f cross join lateral (
      select task_id, priority, run_at from ${s}._private_jobs j
      where j.is_available and (j.task_id, j.priority) > (f.task_id, f.priority) order by task_id, priority, run_at limit 1
    ) n
  )
  -- A name that no worker has ever known is due for nobody, and nor is a paused one. What a rate holds back is due when the next of its name may begin.
  select least((select min(greatest(f.run_at, d.next_start - d.rate_every * (d.rate_burst - 1))) from first f join ${s}.definitions d on d.task_id = f.task_id where d.seen_at is not null and d.paused_at is null),
    (select min(locked_at) + interval '4 hours' from ${s}._private_jobs where locked_at is not null))
$f$`,

  `create or replace function ${s}._retry(job bigint, job_name text) returns bigint language sql ${secure} as $f$
  with retried as (
    update ${s}._private_jobs j set max_attempts = least(j.attempts, 32766) + 1, attempts = least(j.attempts, 32766), run_at = now(),
      last_error = null, updated_at = now()
    where j.attempts >= j.max_attempts and j.locked_at is null
      and (job is null or j.id = job)
      and (job_name is null or j.task_id = (select id from ${s}._private_tasks where identifier = job_name))
      and (job is not null or job_name is not null)
    returning 1)
  select count(*) from retried
$f$`,

  `create or replace function ${s}._remove(job bigint, job_name text) returns bigint language sql ${secure} as $f$
  with removed as (
    delete from ${s}._private_jobs j where j.attempts >= j.max_attempts and j.locked_at is null
      and (job is null or j.id = job)
      and (job_name is null or j.task_id = (select id from ${s}._private_tasks where identifier = job_name))
      and (job is not null or job_name is not null)
    returning 1)
  select count(*) from removed
$f$`,

  `create or replace function ${s}.delete_queue(job_name text) returns void language plpgsql ${secure} as $f$
declare task integer;
begin
  select id into task from ${s}._private_tasks where identifier = job_name;
  if exists (select from ${s}._private_jobs where task_id = task and (id > 0 or locked_at is not null))
    or exists (select from ${s}.group_waiting where task_id = task) then
    raise exception 'The queue of "%" has jobs: finish or delete them first.', job_name using errcode = '55006';
  end if;
  delete from ${s}._private_jobs where task_id = task;
  delete from ${s}.groups where task_id = task;
  delete from ${s}.definitions where task_id = task;
end $f$`,

  `create or replace function ${s}._counts() returns table (
  name text, waiting bigint, running bigint, retrying bigint, failed bigint, completed bigint, next_due timestamptz, oldest_due timestamptz
) language sql stable ${secure} as $f$
  select t.identifier, coalesce(j.waiting, 0) + coalesce(w.waiting, 0), coalesce(j.running, 0), coalesce(j.retrying, 0), coalesce(j.failed, 0),
    coalesce(c.completed, 0), least(j.next_due, w.next_due),
    case when least(j.next_due, w.next_due) <= now() then least(j.next_due, w.next_due) end
  from ${s}.definitions d join ${s}._private_tasks t on t.id = d.task_id
  left join (
    select task_id, count(*) filter (where is_available and last_error is null) as waiting, count(*) filter (where locked_at is not null) as running,
      count(*) filter (where is_available and last_error is not null) as retrying,
      count(*) filter (where locked_at is null and attempts >= max_attempts) as failed, min(run_at) filter (where is_available) as next_due
    from ${s}._private_jobs group by task_id) j on j.task_id = d.task_id
  left join (select task_id, count(*) as waiting, min(run_at) as next_due from ${s}.group_waiting group by task_id) w on w.task_id = d.task_id
  left join (select task_id, count(*) as completed from ${s}.completed group by task_id) c on c.task_id = d.task_id
  order by t.identifier collate "C"
$f$`,

  // The worker that moves the time of a chore is the worker that does it. A time in the future comes from a clock that was set back; such a chore is
  // due.
  `create or replace function ${s}._claim(chore text, since interval) returns boolean language sql ${secure} as $f$
  -- Its row may have been deleted.
  insert into ${s}.chores (name) select chore where not exists (select from ${s}.chores where name = chore) on conflict do nothing;
  with claimed as (update ${s}.chores set done_at = now() where name = chore and (done_at < now() - since or done_at > clock_timestamp()) returning 1)
  select exists (select from claimed)
$f$`,

  // For operators by hand. Workers use a statement that knows how many jobs of each name run at once (engine.ts).
  `create or replace function ${s}._free_dead() returns bigint language sql ${secure} as $f$
  with freed as (
    update ${s}._private_jobs set locked_at = null, locked_by = null where locked_at < now() - interval '4 hours' returning 1)
  select count(*) from freed
$f$`,

  `create or replace function ${s}._clean() returns void language plpgsql ${secure} as $f$
declare held integer[];
begin
  delete from ${s}.completed where completed_at < now() - interval '7 days';
  delete from ${s}._private_jobs where attempts >= max_attempts and locked_at is null and updated_at < now() - interval '7 days';
  -- What a pause holds back is kept, and has as long as any other to begin after it.
  held := array(select task_id from ${s}.definitions where paused_at is not null or resumed_at > now() - interval '14 days');
  delete from ${s}.group_waiting where run_at < now() - interval '14 days' and task_id <> all (held);
  delete from ${s}._private_jobs where is_available and attempts = 0 and run_at < now() - interval '14 days' and task_id <> all (held);
end $f$`,

  // Read from the catalogue, which every role may read.
  `create or replace function ${s}._level() returns text language sql immutable as $f$ select '${libraryLevel}.${ownLevel}' $f$`,

  `revoke all on all functions in schema ${s} from public`,
  `grant execute on function ${s}.enqueue(text, jsonb, timestamptz, text, text, integer, text), ${s}.next_due(), ${s}._level() to public`,
  // A role that may use what earlier levels had may use what is new: whoever counts runs every function, and whoever cleans up has every table.
  `do $grants$
declare r record;
begin
  for r in select a.grantee::regrole::text as name from pg_proc p, aclexplode(p.proacl) a where p.oid = to_regprocedure('${s}._counts()')
    and a.grantee not in (0, p.proowner)
  loop
    execute format('grant execute on all functions in schema ${s} to %s', r.name);
  end loop;
  for r in select a.grantee::regrole::text as name from pg_class c, aclexplode(c.relacl) a where c.oid = to_regclass('${s}.completed')
    and a.privilege_type = 'DELETE' and a.grantee not in (0, c.relowner)
  loop
    execute format('grant select, insert, update, delete on ${s}.progress, ${s}.errors to %s', r.name);
  end loop;
end $grants$`
]

const texts = new Map<string, string>()

/**
 * Everything, as statements in order, for a schema of that name. `library`: the library's own migrations, where they are not those that are installed.
 */
export const queueStatements = (
  library?: ReadonlyMap<number, string>,
  schema: string = defaultSchemas.jobs
): string => {
  const made = library === undefined ? texts.get(schema) : undefined
  if (made !== undefined) return made
  const statements = `${
    [libraryStatements(library ?? libraryMigrations(), schema), ...ownStatements(ownSchema(schema))].join(";\n\n")
  };\n`
  if (library === undefined) texts.set(schema, statements)
  return statements
}

/** A text of SQL as one form, however it was laid out. */
const plain = (column: string): string => `regexp_replace(lower(${column}), '[\\s()"]', '', 'g')`

/**
 * Asks the catalogue which of our functions and triggers are not what the statements would make of them: rows with `what` each is called and whether it is
 * `missing`. It needs no right to the schema.
 */
export const driftSql = (schema: string = defaultSchemas.jobs): string => {
  const statements = ownStatements(ownSchema(schema))
  const functions = statements.flatMap((statement) => {
    const name = /^create or replace function [^(]+\.(\w+)\(/.exec(statement)?.[1]
    return name === undefined
      ? []
      : [`(${quoted(name)}, ${quoted(statement.split("$f$")[1]!)}, ${statement.includes(secure)})`]
  })
  const triggers = statements.flatMap((statement) => {
    const name = /^create trigger (\w+)/.exec(statement)?.[1]
    return name === undefined ? [] : [`(${quoted(name)}, ${quoted(statement)})`]
  })
  return `select 'function ' || e.name as what,
  not exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = ${
    quoted(schema)
  } and p.proname = e.name) as missing
from (values ${functions.join(", ")}) e(name, source, definer)
where not exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = ${quoted(schema)} and p.proname = e.name and p.prosrc = e.source and p.prosecdef = e.definer)
union all
select 'trigger ' || e.name, not exists (select from pg_trigger t where t.tgrelid = r.id and t.tgname = e.name)
from (values ${triggers.join(", ")}) e(name, source), (select to_regclass(${
    quoted(`${identifier(schema)}._private_jobs`)
  }) as id) r
where not exists (select from pg_trigger t where t.tgrelid = r.id and t.tgname = e.name and t.tgenabled <> 'D'
  and ${plain("pg_get_triggerdef(t.oid)")} = ${plain("e.source")})`
}

/** Asks the catalogue whether a database has them at this level and unchanged, or at the next one, as `present`. */
export const queueQuestion = (schema: string = defaultSchemas.jobs): string =>
  `select coalesce((select p.prosrc = ' select ''${libraryLevel}.${ownLevel + 1}'' '
    or p.prosrc = ' select ''${libraryLevel}.${ownLevel}'' ' and not exists (${driftSql(schema)}) from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace where n.nspname = ${
    quoted(schema)
  } and p.proname = '_level'), false) as present`
