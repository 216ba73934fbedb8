-- As Sequelize leaves it: "createdAt" and "updatedAt" without a default, "deletedAt" of paranoid models, enums of its own names.
create table "SequelizeMeta" (name varchar(255) not null primary key);
create type "enum_Users_status" as enum ('active', 'blocked');
create table "Users" (id serial primary key, "firstName" varchar(255) not null, "lastName" varchar(255), email varchar(255) unique, status "enum_Users_status" default 'active', "managerId" integer references "Users" on update cascade on delete set null,
  "createdAt" timestamptz not null, "updatedAt" timestamptz not null, "deletedAt" timestamptz);
create table "Projects" (id uuid primary key, title varchar(255) not null, budget double precision, meta json, "ownerId" integer references "Users" on update cascade on delete set null, "createdAt" timestamptz not null, "updatedAt" timestamptz not null);
create table "UserProjects" ("createdAt" timestamptz not null, "updatedAt" timestamptz not null, "UserId" integer not null references "Users" on update cascade on delete cascade,
  "ProjectId" uuid not null references "Projects" on update cascade on delete cascade, primary key ("UserId", "ProjectId"));
create table "Tasks" (id serial primary key, title text, done boolean default false, "dueAt" timestamptz, "ProjectId" uuid references "Projects", version integer not null default 0, "createdAt" timestamptz not null, "updatedAt" timestamptz not null);

insert into "SequelizeMeta" values ('20240101-create-users.js');
insert into "Users" ("firstName", "lastName", email, "managerId", "createdAt", "updatedAt", "deletedAt") values ('Ann', 'Ünal', 'ann@example.org', null, now(), now(), null), ('Ann', 'Ünal', null, 1, now(), now(), null), ('Gone', null, 'gone@example.org', null, now(), now(), now());
insert into "Projects" values ('11111111-1111-4111-8111-111111111111', 'Alpha', 1.5, '{"a":1}', 1, now(), now()), ('22222222-2222-4222-8222-222222222222', 'Alpha', null, null, null, now(), now());
insert into "UserProjects" values (now(), now(), 1, '11111111-1111-4111-8111-111111111111'), (now(), now(), 2, '22222222-2222-4222-8222-222222222222');
insert into "Tasks" (title, "ProjectId", "createdAt", "updatedAt") values (repeat('Do it. ', 100), '11111111-1111-4111-8111-111111111111', now(), now()), (null, null, now(), now());
