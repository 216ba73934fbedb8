-- As better-auth leaves it in a schema "auth" of the same owner, with tables of the application that point there.
create schema auth;
create table auth."user" ("id" text not null primary key, "name" text not null, "email" text not null unique, "emailVerified" boolean not null, "image" text, "createdAt" timestamptz default current_timestamp not null, "updatedAt" timestamptz default current_timestamp not null);
create table auth."session" ("id" text not null primary key, "expiresAt" timestamptz not null, "token" text not null unique, "createdAt" timestamptz default current_timestamp not null, "updatedAt" timestamptz not null, "ipAddress" text, "userAgent" text,
  "userId" text not null references auth."user" ("id") on delete cascade);
create table auth."account" ("id" text not null primary key, "accountId" text not null, "providerId" text not null, "userId" text not null references auth."user" ("id") on delete cascade, "accessToken" text, "refreshToken" text, "idToken" text,
  "accessTokenExpiresAt" timestamptz, "refreshTokenExpiresAt" timestamptz, "scope" text, "password" text, "createdAt" timestamptz default current_timestamp not null, "updatedAt" timestamptz not null);
create table auth."verification" ("id" text not null primary key, "identifier" text not null, "value" text not null, "expiresAt" timestamptz not null, "createdAt" timestamptz default current_timestamp not null, "updatedAt" timestamptz default current_timestamp not null);
create table public.workspaces (id uuid primary key default gen_random_uuid(), name text not null, slug text not null unique, created_at timestamptz not null default now());
create table public.documents (id uuid primary key default gen_random_uuid(), workspace_id uuid not null references public.workspaces on delete cascade, author_id text references auth."user" ("id") on delete set null, title text not null, body text, created_at timestamptz not null default now(), updated_at timestamptz not null default now());
create table public.members (workspace_id uuid not null references public.workspaces on delete cascade, user_id text not null references auth."user" ("id") on delete cascade, role text not null default 'member' check (role in ('owner', 'member')), primary key (workspace_id, user_id));

insert into auth."user" ("id", "name", "email", "emailVerified") values ('u1', 'Ann', 'ann@example.org', true), ('u2', 'Bo', 'bo@example.org', false);
insert into auth."session" ("id", "expiresAt", "token", "updatedAt", "userId") values ('s1', now() + interval '1 day', 't1', now(), 'u1');
insert into auth."account" ("id", "accountId", "providerId", "userId", "password", "updatedAt") values ('a1', 'u1', 'credential', 'u1', 'x', now());
insert into auth."verification" ("id", "identifier", "value", "expiresAt") values ('v1', 'ann@example.org', 'v', now());
insert into public.workspaces (id, name, slug) values ('11111111-1111-4111-8111-111111111111', 'Acme', 'acme'), ('22222222-2222-4222-8222-222222222222', 'Acme', 'acme-2');
insert into public.documents (workspace_id, author_id, title, body) values ('11111111-1111-4111-8111-111111111111', 'u1', 'Plan', repeat('Plan. ', 500)), ('11111111-1111-4111-8111-111111111111', null, 'Plan', null);
insert into public.members (workspace_id, user_id, role) values ('11111111-1111-4111-8111-111111111111', 'u1', 'owner'), ('22222222-2222-4222-8222-222222222222', 'u2', 'member');
