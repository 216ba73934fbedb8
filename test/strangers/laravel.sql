-- As Laravel leaves it: times that may be null, checks in place of enums, tables of its own for sessions, caches and jobs, polymorphic tables.
create table migrations (id serial primary key, migration varchar(255) not null, batch integer not null);
create table users (id bigserial primary key, name varchar(255) not null, email varchar(255) not null, email_verified_at timestamp(0), password varchar(255) not null, remember_token varchar(100), created_at timestamp(0), updated_at timestamp(0),
  constraint users_email_unique unique (email));
create table password_reset_tokens (email varchar(255) primary key, token varchar(255) not null, created_at timestamp(0));
create table sessions (id varchar(255) primary key, user_id bigint, ip_address varchar(45), user_agent text, payload text not null, last_activity integer not null);
create table cache (key varchar(255) primary key, value text not null, expiration integer not null);
create table cache_locks (key varchar(255) primary key, owner varchar(255) not null, expiration integer not null);
create table jobs (id bigserial primary key, queue varchar(255) not null, payload text not null, attempts smallint not null, reserved_at integer, available_at integer not null, created_at integer not null);
create table job_batches (id varchar(255) primary key, name varchar(255) not null, total_jobs integer not null, pending_jobs integer not null, failed_jobs integer not null, failed_job_ids text not null, options text, cancelled_at integer, created_at integer not null, finished_at integer);
create table failed_jobs (id bigserial primary key, uuid varchar(255) not null unique, connection text not null, queue text not null, payload text not null, exception text not null, failed_at timestamp(0) not null default current_timestamp);
create table personal_access_tokens (id bigserial primary key, tokenable_type varchar(255) not null, tokenable_id bigint not null, name varchar(255) not null, token varchar(64) not null unique, abilities text, last_used_at timestamp(0), expires_at timestamp(0), created_at timestamp(0), updated_at timestamp(0));
create table posts (id bigserial primary key, user_id bigint not null references users on delete cascade, title varchar(255) not null, status varchar(255) not null default 'draft' check (status in ('draft', 'published')), body text, meta json, price numeric(8, 2), deleted_at timestamp(0), created_at timestamp(0), updated_at timestamp(0));
create table images (id bigserial primary key, imageable_type varchar(255) not null, imageable_id bigint not null, url varchar(255) not null, created_at timestamp(0), updated_at timestamp(0));
create table role_user (role_id bigint not null, user_id bigint not null references users on delete cascade, primary key (role_id, user_id));
create table roles (id bigserial primary key, name varchar(255) not null unique, guard_name varchar(255) not null);
alter table role_user add foreign key (role_id) references roles on delete cascade;

insert into migrations (migration, batch) values ('0001_01_01_000000_create_users_table', 1);
insert into users (name, email, password, remember_token, created_at, updated_at) values ('Ann', 'ann@example.org', '$2y$12$x', 'tok', now(), now()), ('Ann', 'ann2@example.org', 'x', null, null, null), ('Зоя', 'z@example.org', 'x', null, null, null);
insert into sessions values ('s1', 1, '127.0.0.1', 'curl', 'x', 1700000000);
insert into cache values ('laravel_cache_x', 's:1:"x";', 1700000000);
insert into jobs (queue, payload, attempts, available_at, created_at) values ('default', '{}', 0, 1700000000, 1700000000);
insert into posts (user_id, title, body, meta, price, deleted_at, updated_at) values (1, 'Hello', repeat('Long. ', 500), '{"a":1}', 9.5, null, now()), (2, 'Hello', null, null, null, null, null), (1, 'Gone', null, null, null, now(), null);
insert into images (imageable_type, imageable_id, url) values ('App\Models\Post', 1, 'https://example.org/a.png');
insert into roles (name, guard_name) values ('admin', 'web'), ('editor', 'web');
insert into role_user values (1, 1), (2, 3);
