/**
 * The tables of the auth store, as SQL that may be applied again and again. Besides better-auth's tables it holds triggers for what must be
 * true whichever code writes: they keep one active admin, raise a user's token epoch and end sessions. It never runs anything.
 */

import { passkeysMax } from "../../core/domain/account/passkey.ts"
import { quote, tableIn } from "./database.ts"

/** SQLSTATE raised when a change would leave no active admin. */
export const lastAdminState = "RA001"

/** SQLSTATE raised when a session would begin for a banned or deleted user. */
export const bannedState = "RA002"

/** SQLSTATE raised when a passkey's counter would go back. */
const counterState = "RA003"

/** SQLSTATE raised when an account would have too many passkeys. */
const passkeysState = "RA004"

/** The epoch of a deleted user or key: above every epoch a token can carry. */
export const deletedEpoch = Number.MAX_SAFE_INTEGER

/** The key of the advisory lock that serialises changes to who is admin: the first account, demotions, bans, deletions. */
export const adminLock = 7_304_119_236_001

/** What the store's tables depend on: the `Auth` of createAuth, or the same settings. */
export interface AuthSchema {
  /** Undefined: the tables are where the search path puts them. */
  readonly schema: string | undefined
  /** Whether there are second factors, which need a table. Turning it off again leaves the table alone. */
  readonly twoFactor?: boolean | undefined
  /** Whether there are passkeys; the same holds for their table. */
  readonly passkeys?: boolean | undefined
}

/** Whether the user of a row may not sign in now. */
export const barred = (row: string): string =>
  `(coalesce(${row}."banned", false) and (${row}."banExpires" is null or ${row}."banExpires" > now()))`

/** Whether a row of the accounts is an admin who may sign in. */
export const activeAdmin = (row: string): string =>
  `('admin' = any (string_to_array(${row}."role", ',')) and not ${barred(row)})`

/** How the revocation list names a key. User ids never look like it. */
export const revokedKey = (id: string): string => `key:${id}`

/** How the revocation list names a session. */
export const endedSession = (id: string): string => `session:${id}`

/**
 * The SQL that makes or completes the auth store. It needs a role that may create in the database (its owner), nothing more; it is safe
 * to repeat and safe when two processes apply it at once. It ends with an error (SQLSTATE 42710) before it changes anything where tables of
 * somebody else have the names: send it as one query, or within a transaction.
 */
export const authMigrationSql = (store: AuthSchema): string => {
  const t = tableIn(store.schema)
  const table = (name: string): string => `to_regclass('${t(name).replaceAll("'", "''")}')`
  const others = ["session", "account", "verification", "jwks", "twoFactor", "passkey"].map(table)
  return `do $$ begin
  if ${table("user")} is null and num_nonnulls(${others.join(", ")}) > 0
    or ${table("user")} is not null and not exists (
      select from pg_attribute where attrelid = ${table("user")} and attname = 'tokenEpoch')
  then
    raise exception 'Tables of somebody else have the names of the auth store. Nothing was changed.'
      using errcode = 'duplicate_object', hint = 'Give createAuth another schema.';
  end if;
end $$;
${authStatements(store)}`
}

/** The same SQL without the check for tables of others, for a migration that checks by itself. */
export const authStatements = ({ passkeys, schema, twoFactor }: AuthSchema): string => {
  const t = tableIn(schema)
  return `-- Accounts, sessions and signing keys. Safe to apply again.
do $$ begin perform pg_advisory_xact_lock(${adminLock}); end $$;
${schema === undefined ? "" : `\ncreate schema if not exists ${quote(schema)};\n`}
create table if not exists ${t("user")} (
  "id" text primary key,
  "name" text not null,
  "email" text not null unique,
  "emailVerified" boolean not null,
  "image" text,
  "createdAt" timestamptz not null default current_timestamp,
  "updatedAt" timestamptz not null default current_timestamp,
  "role" text,
  "banned" boolean,
  "banReason" text,
  "banExpires" timestamptz,
  "tokenEpoch" bigint not null default 0
);

create table if not exists ${t("session")} (
  "id" text primary key,
  "expiresAt" timestamptz not null,
  "token" text not null unique,
  "createdAt" timestamptz not null default current_timestamp,
  "updatedAt" timestamptz not null,
  "ipAddress" text,
  "userAgent" text,
  "userId" text not null references ${t("user")} ("id") on delete cascade,
  "impersonatedBy" text
);
create index if not exists "session_userId_idx" on ${t("session")} ("userId");

create table if not exists ${t("account")} (
  "id" text primary key,
  "accountId" text not null,
  "providerId" text not null,
  "userId" text not null references ${t("user")} ("id") on delete cascade,
  "accessToken" text,
  "refreshToken" text,
  "idToken" text,
  "accessTokenExpiresAt" timestamptz,
  "refreshTokenExpiresAt" timestamptz,
  "scope" text,
  "password" text,
  "createdAt" timestamptz not null default current_timestamp,
  "updatedAt" timestamptz not null
);
create index if not exists "account_userId_idx" on ${t("account")} ("userId");
-- Nobody at a provider is two accounts here. Of several links that came at once the oldest stays.
delete from ${t("account")} a using ${t("account")} b
  where a."providerId" <> 'credential' and a."providerId" = b."providerId" and a."accountId" = b."accountId"
    and (a."createdAt", a."id") > (b."createdAt", b."id");
create unique index if not exists "account_provider_key" on ${t("account")} ("providerId", "accountId")
  where "providerId" <> 'credential';

create table if not exists ${t("verification")} (
  "id" text primary key,
  "identifier" text not null,
  "value" text not null,
  "expiresAt" timestamptz not null,
  "createdAt" timestamptz not null default current_timestamp,
  "updatedAt" timestamptz not null default current_timestamp
);
create index if not exists "verification_identifier_idx" on ${t("verification")} ("identifier");

create table if not exists ${t("jwks")} (
  "id" text primary key,
  "publicKey" text not null,
  "privateKey" text not null,
  "createdAt" timestamptz not null,
  "expiresAt" timestamptz,
  "alg" text,
  "crv" text
);

-- Sign-in attempts of the last minute, by client and by account (hashed).
create table if not exists ${t("attempt")} (
  "key" text primary key,
  "stamps" timestamptz[] not null,
  "allowed" boolean not null,
  "at" timestamptz not null
);
create index if not exists "attempt_at_idx" on ${t("attempt")} ("at");

-- API keys of users: the SHA-256 of their text, never the text.
create table if not exists ${t("apiKey")} (
  "id" text primary key,
  "name" text not null,
  "userId" text not null references ${t("user")} ("id") on delete cascade,
  "roles" text not null,
  "hash" text not null,
  "epoch" bigint not null default 0,
  "createdAt" timestamptz not null default current_timestamp,
  "expiresAt" timestamptz not null,
  "revokedAt" timestamptz,
  "firstUsedAt" timestamptz,
  "lastUsedAt" timestamptz
);
create index if not exists "apiKey_userId_idx" on ${t("apiKey")} ("userId");

-- Users, keys ("key:<id>") and sessions ("session:<id>") that were revoked or ended while their tokens may still live: what is below "epoch" is refused.
create table if not exists ${t("revocation")} (
  "userId" text primary key,
  "epoch" bigint not null,
  "changed" xid8 not null default pg_current_xact_id(),
  "at" timestamptz not null default now()
);
create index if not exists "revocation_changed_idx" on ${t("revocation")} ("changed");
create index if not exists "revocation_at_idx" on ${t("revocation")} ("at");

create or replace function ${t("forget_revocations")}(most bigint) returns void language plpgsql as $$
begin
  delete from ${t("revocation")} where "userId" in (
    select "userId" from ${t("revocation")} where "at" < now() - interval '25 hours' limit most for update skip locked
  );
end $$;

create or replace function ${t("revoke_tokens")}(user_id text, token_epoch bigint) returns void language plpgsql as $$
begin
  insert into ${t("revocation")} ("userId", "epoch") values (user_id, token_epoch)
  on conflict ("userId") do update
    set "epoch" = excluded."epoch", "changed" = excluded."changed", "at" = excluded."at";
  perform ${t("forget_revocations")}(100);
end $$;

create or replace function ${t("guard_user")}() returns trigger language plpgsql as $$
begin
  if ${activeAdmin("old")} and (tg_op = 'DELETE' or not ${activeAdmin("new")}) then
    perform pg_advisory_xact_lock(${adminLock});
    -- A transaction that keeps seeing what was when it began fails here if that is no longer so.
    if current_setting('transaction_isolation') = 'repeatable read' then
      perform from ${t("user")} u where u."id" <> old."id" and ${activeAdmin("u")} for share;
    end if;
    if not exists (select 1 from ${t("user")} u where u."id" <> old."id" and ${activeAdmin("u")}) then
      raise exception 'the last active admin cannot be deleted, demoted or banned' using errcode = '${lastAdminState}';
    end if;
  end if;
  if tg_op = 'DELETE' then
    perform ${t("revoke_tokens")}(old."id", ${deletedEpoch});
    delete from ${t("verification")} where "value" = old."id";
    return old;
  end if;
  -- A ban that ran out is none: the next one counts anew, and clearing its marks at a sign-in changes nothing.
  if new."role" is distinct from old."role" or ${barred("new")} <> ${barred("old")} then
    new."tokenEpoch" := old."tokenEpoch" + 1;
  end if;
  if new."tokenEpoch" <> old."tokenEpoch" then
    perform ${t("revoke_tokens")}(new."id", new."tokenEpoch");
    -- A sign-in that waits for its second factor, and devices that need none, end with everything else.
    delete from ${t("verification")}
      where "value" = new."id" and ("identifier" like '2fa-%' or "identifier" like 'trust-device-%');
  end if;
  -- A mailed link is for who had the address then and might sign in. A new password or a revocation ends it, another role does not.
  if new."email" <> old."email" or ${barred("new")}
    or (new."tokenEpoch" <> old."tokenEpoch" and new."role" is not distinct from old."role") then
    delete from ${t("verification")} where "value" = new."id" and "identifier" like 'link-%';
  end if;
  if ${barred("new")} and not ${barred("old")} then
    delete from ${t("session")} where "userId" = new."id";
  end if;
  return new;
end $$;

create or replace function ${t("guard_link")}() returns trigger language plpgsql as $$
begin
  -- First sign-ins of the same person that come at once: the later ones find the link made, and take its place.
  perform pg_advisory_xact_lock(hashtextextended(new."providerId" || ' ' || new."accountId", 0));
  delete from ${t("account")}
    where "providerId" = new."providerId" and "accountId" = new."accountId" and "userId" = new."userId";
  return new;
end $$;

create or replace function ${t("guard_password")}() returns trigger language plpgsql as $$
begin
  update ${t("user")} set "tokenEpoch" = "tokenEpoch" + 1 where "id" = new."userId";
  delete from ${t("session")} where "userId" = new."userId";
  return null;
end $$;

create or replace function ${t("guard_session")}() returns trigger language plpgsql as $$
declare
  barred boolean;
begin
  -- Waits for a ban or deletion that is under way: the session then either does not begin or is ended by it.
  select ${barred("u")} into barred
    from ${t("user")} u where u."id" = new."userId" for share;
  if barred is distinct from false then
    raise exception 'the user is banned or gone' using errcode = '${bannedState}';
  end if;
  return new;
end $$;

create or replace function ${t("end_session")}() returns trigger language plpgsql as $$
declare
  listed bigint;
begin
  -- The tokens of a session that expired long ago ended before: a cleanup of many lists none.
  insert into ${t("revocation")} ("userId", "epoch")
    select '${endedSession("")}' || "id", ${deletedEpoch} from ended where "expiresAt" > now() - interval '1 hour'
    on conflict ("userId") do update
      set "epoch" = excluded."epoch", "changed" = excluded."changed", "at" = excluded."at";
  get diagnostics listed = row_count;
  if listed > 0 then
    perform ${t("forget_revocations")}(listed + 100);
  end if;
  return null;
end $$;

create or replace function ${t("guard_key")}() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform ${t("revoke_tokens")}('${revokedKey("")}' || old."id", ${deletedEpoch});
    return old;
  end if;
  if (new."userId", new."roles", new."hash", new."expiresAt", new."revokedAt")
    is distinct from (old."userId", old."roles", old."hash", old."expiresAt", old."revokedAt") then
    new."epoch" := old."epoch" + 1;
    perform ${t("revoke_tokens")}('${revokedKey("")}' || new."id", new."epoch");
  end if;
  return new;
end $$;

create or replace trigger "guard_session" before insert on ${t("session")}
  for each row execute function ${t("guard_session")}();

-- Once a statement, because many sessions may end at once. It replaces a trigger of rows.
create or replace trigger "end_session" after delete on ${t("session")} referencing old table as ended
  for each statement execute function ${t("end_session")}();

create or replace trigger "guard_key" before update or delete on ${t("apiKey")}
  for each row execute function ${t("guard_key")}();

create or replace trigger "guard_user" before update or delete on ${t("user")}
  for each row execute function ${t("guard_user")}();

create or replace trigger "guard_link" before insert on ${t("account")}
  for each row when (new."providerId" <> 'credential') execute function ${t("guard_link")}();

create or replace trigger "guard_password" after update of "password" on ${t("account")}
  for each row when (old."password" is distinct from new."password") execute function ${t("guard_password")}();
${twoFactor === true ? `\n${secondFactorSql(schema)}` : ""}${passkeys === true ? `\n${passkeySql(schema)}` : ""}`
}

/** The part of it that second factors need, for a store that has the rest; safe to repeat too. */
export const secondFactorSql = (schema: string | undefined): string => {
  const t = tableIn(schema)
  return `-- Second factors: secrets and recovery codes are encrypted with AUTH_SECRET.
alter table ${t("user")} add column if not exists "twoFactorEnabled" boolean default false;

create table if not exists ${t("twoFactor")} (
  "id" text primary key,
  "secret" text not null,
  "backupCodes" text not null,
  "userId" text not null references ${t("user")} ("id") on delete cascade,
  "verified" boolean default true,
  "failedVerificationCount" integer default 0,
  "lockedUntil" timestamptz
);
-- One of each user: which of two would count is nobody's to say. What was set up wins over what was only begun.
delete from ${t("twoFactor")} a using ${t("twoFactor")} b
  where a."userId" = b."userId" and (coalesce(a."verified", true), a."id") < (coalesce(b."verified", true), b."id");
create unique index if not exists "twoFactor_userId_key" on ${t("twoFactor")} ("userId");
drop index if exists ${t("twoFactor_userId_idx")};
`
}

/** The part of it that passkeys need, for a store that has the rest; safe to repeat too. */
export const passkeySql = (schema: string | undefined): string => {
  const t = tableIn(schema)
  return `-- Passkeys: public keys, useless to whoever reads them. Counters are unsigned numbers of 32 bits, which integer cannot hold.
create table if not exists ${t("passkey")} (
  "id" text primary key,
  "name" text,
  "publicKey" text not null,
  "userId" text not null references ${t("user")} ("id") on delete cascade,
  "credentialID" text not null unique,
  "counter" double precision not null,
  "deviceType" text not null,
  "backedUp" boolean not null,
  "transports" text,
  "createdAt" timestamptz,
  "aaguid" text
);
create index if not exists "passkey_userId_idx" on ${t("passkey")} ("userId");

create or replace function ${t("guard_passkey")}() returns trigger language plpgsql as $$
begin
  -- Of two uses at once with the same counter one is a copy.
  if (old."counter" > 0 or new."counter" > 0) and new."counter" <= old."counter" then
    raise exception 'the counter of a passkey cannot go back' using errcode = '${counterState}';
  end if;
  return new;
end $$;

create or replace function ${t("guard_passkeys")}() returns trigger language plpgsql as $$
begin
  -- Those that are added at once count one after the other.
  perform 1 from ${t("user")} where "id" = new."userId" for no key update;
  if (select count(*) from ${t("passkey")} where "userId" = new."userId") >= ${passkeysMax} then
    raise exception 'an account has at most ${passkeysMax} passkeys' using errcode = '${passkeysState}';
  end if;
  return new;
end $$;

create or replace trigger "guard_passkeys" before insert on ${t("passkey")}
  for each row execute function ${t("guard_passkeys")}();

create or replace trigger "guard_passkey" before update of "counter" on ${t("passkey")}
  for each row execute function ${t("guard_passkey")}();
`
}
