-- A cinema as the documentation of PostgREST and of Hasura would draw one, with columns of most types that people ask about.
create type film_status as enum ('planned', 'shooting', 'released');
create table directors (id serial primary key, first_name text not null, last_name text not null, born date);
create table films (
  id serial primary key, title text not null, year smallint not null, director_id integer references directors, rating numeric(3, 1),
  status film_status not null default 'planned', budget numeric(14, 2), takings numeric(14, 2), planned_on date, released_on date,
  runtime interval, tags text[] not null default '{}', scores integer[], meta jsonb not null default '{}', poster bytea,
  words tsvector generated always as (to_tsvector('english', title)) stored
);
create index on films (director_id);
create index on films using gin (tags);
create index on films using gin (words);
create table actors (id serial primary key, name text not null, films_made integer not null default 0);
create table roles (film_id integer not null references films on delete cascade, actor_id integer not null references actors, character text, primary key (film_id, actor_id));
create index on roles (actor_id);
create table rooms (code text primary key, name text not null, seats integer not null);
create table screenings (
  id bigserial primary key, film_id integer not null references films, room_code text not null references rooms, during tstzrange not null,
  opens time not null default '18:00', price money not null default '9.5', sold integer not null default 0, booked_from inet
);
create index on screenings (film_id);
create index on screenings (room_code);
create table employees (id serial primary key, name text not null, email text not null unique, manager_id integer references employees, salary numeric(10, 2) not null, hired_on date not null);
create index on employees (manager_id);
create view film_sums as select d.id, d.last_name, count(f.id) as films, sum(f.takings) as takings from directors d left join films f on f.director_id = d.id group by d.id;
create materialized view films_by_year as select year, count(*) as films from films group by year;
create unique index on films_by_year (year);
create function films_of(director integer, since integer default 0) returns setof films language sql stable as $$ select * from films where director_id = $1 and year >= $2 $$;

insert into directors (first_name, last_name, born) values ('Agnès', 'Varda', '1928-05-30'), ('Akira', 'Kurosawa', '1910-03-23'), ('Jane', 'Campion', '1954-04-30'), ('Greta', 'Nobody', null);
insert into films (title, year, director_id, rating, status, budget, takings, planned_on, released_on, runtime, tags, scores, meta, poster) values
  ('Cleo from 5 to 7', 1962, 1, 7.8, 'released', 64000.00, 90000.10, '1962-04-01', '1962-04-11', '1:30', '{drama,paris}', '{8,9}', '{"color": "black", "sound": {"channels": 1}}', '\x0102'),
  ('Vagabond', 1985, 1, 7.7, 'released', null, null, '1985-12-04', '1985-12-04', '1:45', '{drama}', '{7}', '{"color": "colour", "sound": {"channels": 2}}', null),
  ('Seven Samurai', 1954, 2, 8.6, 'released', 500000.00, 346258.00, '1954-05-01', '1954-04-26', '3:27', '{war,classic}', '{9,10,10}', '{"color": "black"}', null),
  ('Ran', 1985, 2, 8.2, 'released', 11500000.00, 19000000.00, '1985-05-31', '1985-06-01', '2:42', '{war}', null, '{"color": "colour", "sound": {"channels": 2}}', null),
  ('The Piano', 1993, 3, 7.5, 'released', 7000000.00, 140000000.00, '1993-05-15', '1993-05-15', '1:57', '{drama,music}', '{7,8}', '{"color": "colour"}', null),
  ('Running Late', 2027, null, null, 'shooting', 1000.50, null, '2027-01-01', null, null, '{}', '{}', '{}', null),
  ('A Quiet Plan', 2028, 3, null, 'planned', null, null, null, null, null, '{music}', null, '{"color": null}', null);
insert into actors (name, films_made) values ('Corinne Marchand', 10), ('Toshiro Mifune', 150), ('Takashi Shimura', 200), ('Holly Hunter', 60), ('Sandrine Bonnaire', 50);
insert into roles values (1, 1, 'Cleo'), (3, 2, 'Kikuchiyo'), (3, 3, 'Kambei'), (5, 4, 'Ada'), (2, 5, 'Mona'), (4, 3, null);
insert into rooms values ('A', 'Grand', 300), ('B', 'Studio', 40);
insert into screenings (film_id, room_code, during, opens, price, sold, booked_from) values
  (1, 'B', '[2026-03-01 18:00+00,2026-03-01 19:30+00)', '17:30', '9.5', 40, '10.0.0.7'), (3, 'A', '[2026-03-01 19:00+00,2026-03-01 22:30+00)', '18:00', '12', 120, null),
  (3, 'A', '[2026-03-02 19:00+00,2026-03-02 22:30+00)', '18:00', '12', 299, '192.168.1.5'), (5, 'B', '[2026-03-02 18:00+00,2026-03-02 20:00+00)', '17:45:30.5', '7', 12, '10.0.0.9');
insert into employees (name, email, manager_id, salary, hired_on) values ('Ada', 'ada@example.org', null, 9000, '2010-01-01'), ('Ben', 'ben@example.org', 1, 5000, '2015-06-01'), ('Cy', 'cy@example.org', 2, 4000, '2020-02-29'), ('Di', 'Di@example.org', 1, 5000, '2021-09-01');
refresh materialized view films_by_year;
