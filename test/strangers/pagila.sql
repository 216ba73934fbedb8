-- As Pagila: a domain, an enum, a text vector kept by a trigger, an array, a partitioned table, triggers that keep a time, views and functions.
create type mpaa_rating as enum ('G', 'PG', 'PG-13', 'R', 'NC-17');
create domain year as integer constraint year_check check (value >= 1901 and value <= 2155);
create function last_updated() returns trigger language plpgsql as $$ begin new.last_update = current_timestamp; return new; end $$;
create function _group_concat(text, text) returns text language sql immutable as $$ select case when $2 is null then $1 when $1 is null then $2 else $1 || ', ' || $2 end $$;
create aggregate group_concat(text) (sfunc = _group_concat, stype = text);
create table actor (actor_id serial primary key, first_name text not null, last_name text not null, last_update timestamptz not null default now());
create table category (category_id serial primary key, name text not null, last_update timestamptz not null default now());
create table country (country_id serial primary key, country text not null, last_update timestamptz not null default now());
create table city (city_id serial primary key, city text not null, country_id integer not null references country on update cascade on delete restrict, last_update timestamptz not null default now());
create table address (address_id serial primary key, address text not null, address2 text, district text not null, city_id integer not null references city on update cascade on delete restrict,
  postal_code text, phone text not null, last_update timestamptz not null default now());
create table language (language_id serial primary key, name character(20) not null, last_update timestamptz not null default now());
create table film (film_id serial primary key, title text not null, description text, release_year year, language_id integer not null references language,
  original_language_id integer references language, rental_duration smallint not null default 3, rental_rate numeric(4, 2) not null default 4.99, length smallint,
  replacement_cost numeric(5, 2) not null default 19.99, rating mpaa_rating default 'G', last_update timestamptz not null default now(), special_features text[],
  fulltext tsvector not null);
create table film_actor (actor_id integer not null references actor on delete restrict, film_id integer not null references film on delete restrict, last_update timestamptz not null default now(), primary key (actor_id, film_id));
create table film_category (film_id integer not null references film, category_id integer not null references category, last_update timestamptz not null default now(), primary key (film_id, category_id));
create table store (store_id serial primary key, manager_staff_id integer not null, address_id integer not null references address, last_update timestamptz not null default now());
create table staff (staff_id serial primary key, first_name text not null, last_name text not null, address_id integer not null references address, email text,
  store_id integer not null references store, active boolean not null default true, username text not null, password text, last_update timestamptz not null default now(), picture bytea);
create table customer (customer_id serial primary key, store_id integer not null references store, first_name text not null, last_name text not null, email text,
  address_id integer not null references address, activebool boolean not null default true, create_date date not null default current_date, last_update timestamptz default now(), active integer);
create table inventory (inventory_id serial primary key, film_id integer not null references film, store_id integer not null references store, last_update timestamptz not null default now());
create table rental (rental_id serial primary key, rental_date timestamptz not null, inventory_id integer not null references inventory, customer_id integer not null references customer,
  return_date timestamptz, staff_id integer not null references staff, last_update timestamptz not null default now());
create unique index idx_unq_rental on rental (rental_date, inventory_id, customer_id);
create sequence payment_payment_id_seq;
create table payment (payment_id integer not null default nextval('payment_payment_id_seq'), customer_id integer not null, staff_id integer not null, rental_id integer not null,
  amount numeric(5, 2) not null, payment_date timestamptz not null, primary key (payment_date, payment_id)) partition by range (payment_date);
create table payment_p2022_01 partition of payment for values from ('2022-01-01 00:00+00') to ('2022-02-01 00:00+00');
create table payment_p2022_02 partition of payment for values from ('2022-02-01 00:00+00') to ('2022-03-01 00:00+00');
create table payment_rest partition of payment default;
alter table payment_p2022_01 add foreign key (customer_id) references customer, add foreign key (rental_id) references rental, add foreign key (staff_id) references staff;
alter table payment_p2022_02 add foreign key (customer_id) references customer, add foreign key (staff_id) references staff;
alter table payment_rest add foreign key (customer_id) references customer, add foreign key (staff_id) references staff;
create index film_fulltext_idx on film using gist (fulltext);
create trigger film_fulltext_trigger before insert or update on film for each row execute function tsvector_update_trigger('fulltext', 'pg_catalog.english', 'title', 'description');
do $$ declare t text; begin
  foreach t in array array['actor', 'category', 'country', 'city', 'address', 'language', 'film', 'film_actor', 'film_category', 'store', 'staff', 'customer', 'inventory', 'rental'] loop
    execute format('create trigger last_updated before update on %I for each row execute function last_updated()', t);
  end loop;
end $$;
create function film_in_stock(p_film_id integer, p_store_id integer) returns setof integer language sql as $$ select inventory_id from inventory where film_id = $1 and store_id = $2 $$;
create view customer_list as select cu.customer_id as id, cu.first_name || ' ' || cu.last_name as name, a.address, city.city, country.country
  from customer cu join address a using (address_id) join city using (city_id) join country using (country_id);
create view actor_info as select a.actor_id, a.first_name, a.last_name, group_concat(f.title) as film_info from actor a
  left join film_actor using (actor_id) left join film f using (film_id) group by a.actor_id, a.first_name, a.last_name;
create materialized view rental_by_category as select c.name as category, count(*) as rentals from category c left join film_category using (category_id) group by 1;

insert into actor (first_name, last_name) values ('PENELOPE', 'GUINESS'), ('SUSAN', 'DAVIS'), ('SUSAN', 'DAVIS');
insert into category (name) values ('Action'), ('Ação');
insert into country (country) values ('Réunion'), ('日本');
insert into city (city, country_id) values ('Saint-Denis', 1), ('Tōkyō', 2);
insert into address (address, address2, district, city_id, postal_code, phone) values ('47 MySakila Drive', null, 'Alberta', 1, '', ''), ('28 MySQL Boulevard', '', 'QLD', 2, null, '14033335568');
insert into language (name) values ('English'), ('Français');
insert into film (title, description, release_year, language_id, special_features, length) values
  ('ACADEMY DINOSAUR', repeat('A Epic Drama of a Feminist And a Mad Scientist. ', 60), 2006, 1, '{Trailers,"Deleted Scenes"}', 86), ('ACE GOLDFINGER', null, null, 1, null, null), ('ACE GOLDFINGER', 'Again', 2007, 2, '{}', 48);
insert into film_actor values (1, 1), (2, 1), (3, 2);
insert into film_category values (1, 1), (2, 2);
insert into store (manager_staff_id, address_id) values (1, 1), (2, 2);
insert into staff (first_name, last_name, address_id, email, store_id, username, password, picture) values ('Mike', 'Hillyer', 1, 'mike@example.org', 1, 'Mike', '8cb2237d', '\x89'), ('Jon', 'Stephens', 2, null, 2, 'Jon', null, null);
alter table store add constraint store_manager_staff_id_fkey foreign key (manager_staff_id) references staff;
insert into customer (store_id, first_name, last_name, email, address_id, active) values (1, 'MARY', 'SMITH', 'mary@example.org', 1, 1), (2, 'PATRICIA', 'JOHNSON', null, 2, null);
insert into inventory (film_id, store_id) values (1, 1), (2, 2);
insert into rental (rental_date, inventory_id, customer_id, staff_id) values ('2022-01-05 10:00+00', 1, 1, 1), ('2022-02-05 10:00+00', 2, 2, 2);
insert into payment (customer_id, staff_id, rental_id, amount, payment_date) values (1, 1, 1, 2.99, '2022-01-05 10:00+00'), (2, 2, 2, 0.99, '2022-02-05 10:00:00.123456+00');
