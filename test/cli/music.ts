/** A shop for music as a database that was there before the service: natural names, composite keys, plain types, real foreign keys. */

export const musicSchema = `
create table artist (artist_id serial primary key, name varchar(120));
create table album (
  album_id serial primary key, title varchar(160) not null, artist_id int not null references artist
);
create index on album (artist_id);
create table genre (genre_id serial primary key, name varchar(120));
create table employee (
  employee_id serial primary key, last_name varchar(20) not null, reports_to int references employee, hire_date timestamp
);
create table customer (
  customer_id serial primary key, email varchar(60) not null, support_rep_id int references employee
);
create table track (
  track_id serial primary key, name varchar(200) not null, album_id int references album, genre_id int references genre,
  composer varchar(220), milliseconds int not null, bytes int, unit_price numeric(10, 2) not null
);
create index on track (album_id);
create index on track (genre_id);
create table playlist (playlist_id serial primary key, name varchar(120));
create table playlist_track (
  playlist_id int not null references playlist, track_id int not null references track, primary key (playlist_id, track_id)
);
create index on playlist_track (track_id);
create table invoice (
  invoice_id serial primary key, customer_id int not null references customer, invoice_date timestamp not null,
  billing_address varchar(70), total numeric(10, 2) not null
);
create index on invoice (customer_id);

insert into artist (name) values ('AC/DC'), ('Accept'), ('Antônio Carlos Jobim'), (null);
insert into album (title, artist_id) select 'Album ' || i, 1 + i % 4 from generate_series(1, 20) i;
insert into genre (name) values ('Rock'), ('Jazz'), ('Latin');
insert into employee (last_name, reports_to, hire_date) values ('Adams', null, '2002-08-14'), ('Edwards', 1, '2002-05-01');
insert into customer (email, support_rep_id) select 'c' || i || '@example.com', 2 from generate_series(1, 5) i;
insert into track (name, album_id, genre_id, composer, milliseconds, unit_price)
  select 'Track ' || i, 1 + i % 20, 1 + i % 3, case when i % 2 = 0 then 'Angus Young' else 'Jobim' end, 1000 * i,
    case when i % 10 = 0 then 1.99 else 0.99 end
  from generate_series(1, 300) i;
insert into playlist (name) values ('Music'), ('Movies');
insert into playlist_track select 1, i from generate_series(1, 50) i;
insert into invoice (customer_id, invoice_date, total)
  select 1 + i % 5, timestamp '2025-01-01' + i * interval '10 days', i from generate_series(1, 40) i;
`
