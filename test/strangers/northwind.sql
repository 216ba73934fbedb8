-- As the port of Northwind to PostgreSQL: small keys without defaults, padded texts, pictures as bytes, prices as floats.
create table categories (category_id smallint primary key, category_name varchar(15) not null, description text, picture bytea);
create table region (region_id smallint primary key, region_description bpchar not null);
create table territories (territory_id varchar(20) primary key, territory_description bpchar not null, region_id smallint not null references region);
create table customer_demographics (customer_type_id bpchar primary key, customer_desc text);
create table customers (customer_id bpchar primary key, company_name varchar(40) not null, contact_name varchar(30), contact_title varchar(30),
  address varchar(60), city varchar(15), region varchar(15), postal_code varchar(10), country varchar(15), phone varchar(24), fax varchar(24));
create table customer_customer_demo (customer_id bpchar not null references customers, customer_type_id bpchar not null references customer_demographics,
  primary key (customer_id, customer_type_id));
create table employees (employee_id smallint primary key, last_name varchar(20) not null, first_name varchar(10) not null, title varchar(30),
  title_of_courtesy varchar(25), birth_date date, hire_date date, address varchar(60), city varchar(15), region varchar(15), postal_code varchar(10),
  country varchar(15), home_phone varchar(24), extension varchar(4), photo bytea, notes text, reports_to smallint references employees, photo_path varchar(255));
create table employee_territories (employee_id smallint not null references employees, territory_id varchar(20) not null references territories,
  primary key (employee_id, territory_id));
create table suppliers (supplier_id smallint primary key, company_name varchar(40) not null, contact_name varchar(30), city varchar(15), country varchar(15), homepage text);
create table shippers (shipper_id smallint primary key, company_name varchar(40) not null, phone varchar(24));
create table products (product_id smallint primary key, product_name varchar(40) not null, supplier_id smallint references suppliers,
  category_id smallint references categories, quantity_per_unit varchar(20), unit_price real, units_in_stock smallint, units_on_order smallint,
  reorder_level smallint, discontinued integer not null);
create table orders (order_id smallint primary key, customer_id bpchar references customers, employee_id smallint references employees, order_date date,
  required_date date, shipped_date date, ship_via smallint references shippers, freight real, ship_name varchar(40), ship_address varchar(60),
  ship_city varchar(15), ship_region varchar(15), ship_postal_code varchar(10), ship_country varchar(15));
create table order_details (order_id smallint not null references orders, product_id smallint not null references products, unit_price real not null,
  quantity smallint not null, discount real not null, primary key (order_id, product_id));
create table us_states (state_id smallint primary key, state_name varchar(100), state_abbr varchar(2), state_region varchar(50));

insert into categories values (1, 'Beverages', 'Soft drinks, coffees, teas', '\x89504e47'), (2, 'Käse', repeat('Quark & crème fraîche. ', 200), null), (3, 'Seafood', null, null);
insert into region values (1, 'Eastern                                           '), (2, 'Western');
insert into territories values ('01581', 'Westboro            ', 1), ('98004', 'Bellevue', 2), ('98052', 'Bellevue', 2);
insert into customer_demographics values ('gold', 'Buys a lot'), ('new', null);
insert into customers (customer_id, company_name, contact_name, city, country) values ('ALFKI', 'Alfreds Futterkiste', 'Maria Anders', 'Berlin', 'Germany'),
  ('ANATR', 'Ana Trujillo Emparedados', 'Ana Trujillo', 'México D.F.', 'Mexico'), ('ANTON', 'Ana Trujillo Emparedados', null, null, null);
insert into customer_customer_demo values ('ALFKI', 'gold'), ('ANATR', 'new');
insert into employees (employee_id, last_name, first_name, title, birth_date, hire_date, notes, reports_to, photo) values
  (2, 'Fuller', 'Andrew', 'Vice President', '1952-02-19', '1992-08-14', repeat('Andrew speaks French. ', 100), null, '\x00'),
  (1, 'Davolio', 'Nancy', 'Sales Representative', '1948-12-08', '1992-05-01', null, 2, null), (3, 'Davolio', 'Nancy', null, null, null, null, 2, null);
insert into employee_territories values (1, '01581'), (2, '98004');
insert into suppliers values (1, 'Exotic Liquids', 'Charlotte Cooper', 'London', 'UK', null), (2, 'Tokyo Traders 東京', null, 'Tokyo', 'Japan', '#http://example.org#');
insert into shippers values (1, 'Speedy Express', '(503) 555-9831'), (2, 'United Package', null);
insert into products values (1, 'Chai', 1, 1, '10 boxes x 20 bags', 18, 39, 0, 10, 1), (2, 'Chang', 1, 1, null, 19.5, null, null, null, 0), (3, 'Chang', null, null, null, null, null, null, null, 0);
insert into orders (order_id, customer_id, employee_id, order_date, ship_via, freight, ship_name) values (10248, 'ALFKI', 1, '1996-07-04', 1, 32.38, 'Vins et alcools'),
  (10249, 'ANATR', 2, '1996-07-05', 2, 11.61, null), (10250, null, null, null, null, null, null);
insert into order_details values (10248, 1, 14, 12, 0), (10248, 2, 9.8, 10, 0.15), (10249, 1, 18.6, 9, 0);
insert into us_states values (1, 'Alabama', 'AL', 'south'), (2, 'Alaska', 'AK', 'north');
