-- As Drizzle leaves it: its record of migrations in a schema of its own, serial and identity keys, enums, defaults, arrays, composite keys.
create schema drizzle;
create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint);
create type "public"."status" as enum ('todo', 'in progress', 'done');
create table "users" ("id" serial primary key not null, "full_name" text, "phone" varchar(256), "settings" json default '{}'::json, "created_at" timestamp default now() not null, constraint "users_phone_unique" unique ("phone"));
create table "projects" ("id" integer primary key generated always as identity (sequence name "projects_id_seq"), "name" varchar(100) not null, "owner_id" integer, "labels" text[] default '{}', "starts" date, "rate" numeric(10, 4), "embedding" real[]);
create table "tasks" ("id" uuid primary key default gen_random_uuid() not null, "title" text not null, "status" "status" default 'todo' not null, "project_id" integer not null, "assignee_id" integer, "estimate" interval, "updated_at" timestamp (3) with time zone default now() not null, "done_at" timestamp with time zone);
create table "users_to_projects" ("user_id" integer not null, "project_id" integer not null, constraint "users_to_projects_pk" primary key ("user_id", "project_id"));
alter table "projects" add constraint "projects_owner_id_users_id_fk" foreign key ("owner_id") references "public"."users" ("id") on delete no action on update no action;
alter table "tasks" add constraint "tasks_project_id_projects_id_fk" foreign key ("project_id") references "public"."projects" ("id") on delete cascade;
alter table "tasks" add constraint "tasks_assignee_id_users_id_fk" foreign key ("assignee_id") references "public"."users" ("id");
alter table "users_to_projects" add foreign key ("user_id") references "users", add foreign key ("project_id") references "projects";
create index "tasks_title_idx" on "tasks" using btree (lower("title"));

insert into drizzle.__drizzle_migrations (hash, created_at) values ('abc', 1700000000000);
insert into "users" ("full_name", "phone") values ('Ann Ünal', '+49 1'), ('Ann Ünal', null), (null, '+49 2');
insert into "projects" ("name", "owner_id", "labels", "rate") values ('Website', 1, '{a,b}', 99.9999), ('Website', null, null, null);
insert into "tasks" ("title", "status", "project_id", "assignee_id", "estimate") values ('Draft', 'in progress', 1, 1, '2 hours'), (repeat('Long ', 200), 'todo', 2, null, null);
insert into "users_to_projects" values (1, 1), (2, 2);
