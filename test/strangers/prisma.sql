-- As Prisma leaves it: names in mixed case, texts as keys that the client makes, times without a default of the database, implicit join tables without a key.
create type "Role" as enum ('USER', 'ADMIN');
create type "Order Status" as enum ('OPEN', 'SHIPPED');
create table _prisma_migrations (id varchar(36) primary key not null, checksum varchar(64) not null, finished_at timestamptz, migration_name varchar(255) not null, logs text, rolled_back_at timestamptz,
  started_at timestamptz not null default now(), applied_steps_count integer not null default 0);
create table "User" ("id" text not null, "email" text not null, "name" text, "role" "Role" not null default 'USER', "createdAt" timestamp(3) not null default current_timestamp, "updatedAt" timestamp(3) not null,
  constraint "User_pkey" primary key ("id"));
create unique index "User_email_key" on "User" ("email");
create table "Profile" ("id" serial primary key, "bio" text, "userId" text not null);
create unique index "Profile_userId_key" on "Profile" ("userId");
create table "Post" ("id" serial not null, "title" text not null, "content" text, "published" boolean not null default false, "authorId" text not null, "views" bigint not null default 0, "rating" double precision,
  "price" decimal(65, 30), "keywords" text[] default array[]::text[], "extra" jsonb, "createdAt" timestamp(3) not null default current_timestamp, "updatedAt" timestamp(3) not null, "deletedAt" timestamp(3), constraint "Post_pkey" primary key ("id"));
create table "Category" ("id" serial primary key, "name" text not null);
create table "_CategoryToPost" ("A" integer not null, "B" integer not null);
create unique index "_CategoryToPost_AB_unique" on "_CategoryToPost" ("A", "B");
create table "_Favourites" ("A" integer not null, "B" text not null, constraint "_Favourites_AB_pkey" primary key ("A", "B"));
create table "Order" ("id" uuid primary key default gen_random_uuid(), "status" "Order Status" not null default 'OPEN', "userId" text, "total" decimal(10, 2) not null);
alter table "Profile" add constraint "Profile_userId_fkey" foreign key ("userId") references "User" ("id") on delete restrict on update cascade;
alter table "Post" add constraint "Post_authorId_fkey" foreign key ("authorId") references "User" ("id") on delete restrict on update cascade;
alter table "Order" add constraint "Order_userId_fkey" foreign key ("userId") references "User" ("id") on delete set null on update cascade;
alter table "_CategoryToPost" add foreign key ("A") references "Category" on delete cascade, add foreign key ("B") references "Post" on delete cascade;
alter table "_Favourites" add foreign key ("A") references "Post" on delete cascade, add foreign key ("B") references "User" on delete cascade;

insert into _prisma_migrations (id, checksum, migration_name) values ('m1', 'c', '20240101_init');
insert into "User" ("id", "email", "name", "updatedAt") values ('clq1', 'ann@example.org', 'Ann', now()), ('clq2', 'bo@example.org', null, now()), ('clq/3 ü', 'c@example.org', 'Ann', now());
insert into "Profile" ("bio", "userId") values (repeat('I am. ', 300), 'clq1'), (null, 'clq2');
insert into "Post" ("title", "content", "authorId", "rating", "price", "extra", "updatedAt") values ('Hello', null, 'clq1', 4.5, 1.000000000000000000000000000001, '{"a": [1]}', now()), ('Hello', 'x', 'clq2', null, null, null, now());
insert into "Category" ("name") values ('News'), ('Ñandú');
insert into "_CategoryToPost" values (1, 1), (2, 1);
insert into "_Favourites" values (1, 'clq1'), (2, 'clq/3 ü');
insert into "Order" ("userId", "total") values ('clq1', 12.5), (null, 0);
