-- As Rails leaves it: times without default and without zone, polymorphic and join tables, single-table inheritance, attachments, its records of migrations.
create table schema_migrations (version varchar not null primary key);
create table ar_internal_metadata (key varchar not null primary key, value varchar, created_at timestamp(6) not null, updated_at timestamp(6) not null);
create table users (id bigserial primary key, email varchar not null default '', encrypted_password varchar not null default '', reset_password_token varchar, reset_password_sent_at timestamp(6),
  name varchar, role integer not null default 0, sign_in_count integer not null default 0, current_sign_in_ip inet, created_at timestamp(6) not null, updated_at timestamp(6) not null);
create unique index index_users_on_email on users (email);
create unique index index_users_on_reset_password_token on users (reset_password_token);
create table posts (id bigserial primary key, type varchar, title varchar, body text, user_id bigint not null, published boolean not null default false, comments_count integer not null default 0,
  lock_version integer not null default 0, metadata jsonb not null default '{}', discarded_at timestamp(6), created_at timestamp(6) not null, updated_at timestamp(6) not null,
  constraint fk_rails_5b5ddfd518 foreign key (user_id) references users);
create index index_posts_on_user_id on posts (user_id);
create table tags (id bigserial primary key, name varchar not null, created_at timestamp(6) not null, updated_at timestamp(6) not null);
create table posts_tags (post_id bigint not null, tag_id bigint not null);
create table taggings (id bigserial primary key, post_id bigint not null references posts, tag_id bigint not null references tags, created_at timestamp(6) not null, updated_at timestamp(6) not null);
create table comments (id bigserial primary key, commentable_type varchar not null, commentable_id bigint not null, body text, created_at timestamp(6) not null, updated_at timestamp(6) not null);
create index index_comments_on_commentable on comments (commentable_type, commentable_id);
create table active_storage_blobs (id bigserial primary key, key varchar not null unique, filename varchar not null, content_type varchar, metadata text, service_name varchar not null, byte_size bigint not null, checksum varchar, created_at timestamp(6) not null);
create table active_storage_attachments (id bigserial primary key, name varchar not null, record_type varchar not null, record_id bigint not null, blob_id bigint not null references active_storage_blobs, created_at timestamp(6) not null);

insert into schema_migrations values ('20240101000000'), ('20240102000000');
insert into ar_internal_metadata values ('environment', 'production', '2024-01-01', '2024-01-01');
insert into users (email, encrypted_password, name, created_at, updated_at) values ('ann@example.org', '$2a$12$x', 'Ann Ünal', '2024-01-01 10:00:00.123456', '2024-01-01 10:00:00.123456'), ('bo@example.org', 'x', null, '2024-01-02', '2024-01-02');
insert into posts (type, title, body, user_id, created_at, updated_at) values (null, 'Hello', repeat('Lorem ipsum. ', 500), 1, now(), now()), ('Article', 'Hello', null, 2, now(), now()), (null, null, '', 1, now(), now());
insert into tags (name, created_at, updated_at) values ('ruby', now(), now()), ('データ', now(), now());
insert into posts_tags values (1, 1), (1, 2);
insert into taggings (post_id, tag_id, created_at, updated_at) values (1, 1, now(), now()), (2, 2, now(), now());
insert into comments (commentable_type, commentable_id, body, created_at, updated_at) values ('Post', 1, 'First!', now(), now()), ('User', 1, null, now(), now());
insert into active_storage_blobs (key, filename, content_type, service_name, byte_size, created_at) values ('abc', 'cat.png', 'image/png', 'local', 9007199254740993, now());
insert into active_storage_attachments (name, record_type, record_id, blob_id, created_at) values ('avatar', 'User', 1, 1, now());
