-- As TypeORM leaves it: keys by uuid_generate_v4, names in camel case, a closure table, a table of inheritance, join tables, its record of migrations.
create table migrations (id serial primary key, timestamp bigint not null, name varchar not null);
create table typeorm_metadata (type varchar not null, database varchar, schema varchar, "table" varchar, name varchar, value text);
create type user_role_enum as enum ('admin', 'editor', 'ghost');
create table "user" (id uuid not null default gen_random_uuid(), "firstName" varchar not null, "lastName" varchar not null, "isActive" boolean not null default true, role user_role_enum not null default 'ghost', tags text, "createdAt" timestamp not null default now(), "updatedAt" timestamp not null default now(),
  "deletedAt" timestamp, version integer not null default 1, constraint "PK_cace4a159ff9f2512dd42373760" primary key (id));
create table category (id serial primary key, name varchar not null, mpath varchar default '', "parentId" integer references category);
create table category_closure (id_ancestor integer not null references category on delete cascade, id_descendant integer not null references category on delete cascade, primary key (id_ancestor, id_descendant));
create table content (id serial primary key, title character varying not null, description text, "viewCount" integer, type varchar not null, "authorId" uuid, location point, constraint "FK_author" foreign key ("authorId") references "user" on delete set null);
create table content_categories_category ("contentId" integer not null references content on delete cascade on update cascade, "categoryId" integer not null references category on delete cascade on update cascade, primary key ("contentId", "categoryId"));
create index "IDX_a" on content_categories_category ("contentId");

insert into migrations (timestamp, name) values (1700000000000, 'Init1700000000000');
insert into typeorm_metadata values ('GENERATED_COLUMN', 'x', 'public', 'user', 'n', null);
insert into "user" (id, "firstName", "lastName", tags) values ('11111111-1111-4111-8111-111111111111', 'Ann', 'Ünal', 'a,b'), ('22222222-2222-4222-8222-222222222222', 'Ann', 'Ünal', null);
insert into category (name, mpath, "parentId") values ('Root', '1.', null), ('Leaf 🌿', '1.2.', 1);
insert into category_closure values (1, 1), (1, 2), (2, 2);
insert into content (title, description, type, "authorId", location) values ('Photo', repeat('Nice. ', 200), 'Photo', '11111111-1111-4111-8111-111111111111', '(1,2)'), ('Photo', null, 'Question', null, null);
insert into content_categories_category values (1, 1), (2, 2);
