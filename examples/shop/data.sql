-- Data for the example shop: the same for everybody, but for its dates, which end today. The number of orders is the setting
-- `shop.orders` (10,000 when it is not set); a fifth as many customers. Expects empty tables and runs in one transaction.
--
-- Every "random" choice is a digit of h, a hash of the row's number (Knuth's multiplicative one), divided before the remainder is taken,
-- because only its upper bits are mixed well.

create temporary table size on commit drop as
select 1 as tenant, coalesce(nullif(current_setting('shop.orders', true), '')::int, 10000) as orders, 240 as products, 0 as o, 0 as c, 0 as p
union all
select 2, 200, 24, coalesce(nullif(current_setting('shop.orders', true), '')::int, 10000),
  greatest(coalesce(nullif(current_setting('shop.orders', true), '')::int, 10000) / 5, 20), 240;

insert into shop.staff (id, tenant_id, name, email, team, commission, joined_on)
values
  ('seller-1', 1, 'Ada Brandt', 'ada@nordlicht.example', 'phone', 2.50, current_date - 1400),
  ('seller-2', 1, 'Jonas Weber', 'jonas@nordlicht.example', 'phone', 2.00, current_date - 900),
  ('seller-3', 1, 'Mira Okafor', 'mira@nordlicht.example', 'field', 3.00, current_date - 800),
  ('seller-4', 1, 'Pavel Dvorak', 'pavel@nordlicht.example', 'field', 3.00, current_date - 780),
  ('seller-5', 2, 'Ingrid Solberg', 'ingrid@harbour.example', 'office', 0.00, current_date - 1000);

insert into shop.customers
  (id, tenant_id, kind, name, email, vat_number, country, city, credit_limit, customer_since, updated_at, deleted_at)
select
  c.id, s.tenant, case when company then 'company' else 'person' end,
  case when company then family || ' ' || (array['GmbH', 'Ltd', 'AG', 'AS', 'SARL'])[1 + h / 4099 % 5] else given || ' ' || family end,
  lower(given) || '.' || lower(family) || c.id || '@' || (array['mail', 'post', 'inbox'])[1 + h / 8219 % 3] || '.example',
  case when company then p.country || lpad((h / 16 % 1000000000)::text, 9, '0') end,
  p.country, p.city,
  case when company then (1 + h / 65537 % 20) * 500 else 0 end,
  born::date, born + interval '9 hours', case when h / 32771 % 97 = 0 then born + interval '20 days' end
from size s
cross join lateral generate_series(1, greatest(s.orders / 5, 20)) as i
cross join lateral (select s.c + i as id, (s.c + i)::bigint * 2654435761 % 4294967296 as h) c
cross join lateral (
  select
    h / 1021 % 6 = 0 as company,
    (array['Anna', 'Ben', 'Clara', 'David', 'Elif', 'Finn', 'Greta', 'Hugo', 'Ines', 'Jakub', 'Karin', 'Liam', 'Maja', 'Noah', 'Olga',
      'Paul', 'Rosa', 'Sven', 'Tara', 'Yusuf'])[1 + h / 131 % 20] as given,
    (array['Albrecht', 'Bauer', 'Costa', 'Dahl', 'Engel', 'Fischer', 'Garcia', 'Hansen', 'Ivanov', 'Jensen', 'Keller', 'Larsen', 'Moreau',
      'Novak', 'Olsen', 'Peters', 'Rossi', 'Schmidt', 'Tanaka', 'Vogel', 'Wagner', 'Young', 'Zimmer'])[1 + h / 65539 % 23] as family,
    date_trunc('day', now()) - (1 + h / 257 % 1500) * interval '1 day' as born,
    -- Half of all customers are at home.
    case when h / 524309 % 2 = 0 then 0 else h / 4801 % 8 end as place
) x
cross join lateral (
  select
    (array['DE', 'AT', 'CH', 'FR', 'NL', 'PL', 'GB', 'NO'])[1 + x.place] as country,
    (array['Berlin', 'Vienna', 'Zurich', 'Lyon', 'Utrecht', 'Krakow', 'Leeds', 'Bergen', 'Hamburg', 'Graz', 'Basel', 'Paris', 'Rotterdam',
      'Gdansk', 'London', 'Oslo'])[1 + x.place + 8 * (h / 9551 % 2)] as city
) p;

insert into shop.products
  (id, tenant_id, sku, name, description, category, price, cost, stock, active, materials, measures, updated_at, deleted_at)
select
  s.p + i, s.tenant, upper(left(k.category, 3)) || '-' || lpad(i::text, 4, '0'), k.material || ' ' || k.thing,
  case when h / 4099 % 3 > 0 then k.material || ' ' || k.thing || ', made to last and easy to repair.' end,
  k.category, k.price, round(k.price * (45 + h / 8219 % 25) / 100, 2), h / 1021 % 7 * (h / 16411 % 40), h / 32771 % 20 > 0,
  array_remove(array[lower(k.material), nullif(k.second, lower(k.material))], null),
  jsonb_build_object('width', 20 + h / 131 % 180, 'height', 10 + h / 257 % 200, 'weight', 1 + h / 521 % 40),
  now() - (h / 2053 % 400) * interval '1 day', case when h / 262147 % 41 = 0 then now() - interval '30 days' end
from size s
cross join lateral generate_series(1, s.products) as i
cross join lateral (select (s.p + i)::bigint * 2654435761 % 4294967296 as h) x
cross join lateral (
  select
    (array['lighting', 'seating', 'storage', 'tables', 'textiles'])[1 + i % 5] as category,
    case i % 5
      when 0 then (array['Steel', 'Brass', 'Paper', 'Glass'])[1 + h / 65539 % 4]
      when 4 then (array['Linen', 'Wool', 'Cotton', 'Felt'])[1 + h / 65539 % 4]
      else (array['Oak', 'Ash', 'Walnut', 'Steel'])[1 + h / 65539 % 4]
    end as material,
    (array['brass', 'leather', 'glass', 'steel', 'cotton'])[case when h / 16411 % 2 = 0 then 1 + i % 5 end] as second,
    (array['desk lamp', 'armchair', 'shelf', 'side table', 'blanket', 'floor lamp', 'stool', 'chest', 'desk', 'cushion', 'pendant',
      'bench', 'cabinet', 'dining table', 'rug'])[1 + i % 15] as thing,
    (1500 + h / 769 % 60000)::numeric / 100 as price
) k;

insert into shop.product_tags (product_id, tag, tenant_id)
select p.id, t.tag, p.tenant_id
from shop.products p
cross join lateral (
  select distinct (array['new', 'sale', 'handmade', 'recycled', 'outdoor', 'classic'])[1 + (p.id * 7 + n * 5) % 6] as tag
  from generate_series(1, (1 + p.id % 3)::int) as n
) t;

create temporary table line on commit drop as
select s.tenant, s.o + i as order_id, n as position, p.id as product_id, q.quantity, p.price,
  case when q.quantity >= 10 then 5 else 0 end as discount,
  case s.tenant when 1 then 'seller-' || (array[1, 1, 1, 2, 2, 3, 3, 3, 4, 4])[1 + h / 524309 % 10] else 'seller-5' end as owner_id
from size s
cross join lateral generate_series(1, s.orders) as i
cross join lateral (select (s.o + i)::bigint * 2654435761 % 4294967296 as h) x
cross join lateral generate_series(1, (1 + h / 8219 % 4)::int) as n
cross join lateral (select case when h / (61 * n + 7) % 12 = 0 then 10 + h / 769 % 15 else 1 + h / (31 * n) % 3 end as quantity) q
join shop.products p on p.id = s.p + 1 + h / (97 + n * 1009) % s.products;

insert into shop.orders
  (id, tenant_id, customer_id, owner_id, status, channel, total, currency, ship_country, due_on, note, internal_note, created_at,
    updated_at, deleted_at)
select
  o.id, o.tenant, c.id, o.owner_id, y.status, (array['web', 'web', 'web', 'phone', 'store'])[1 + o.h / 521 % 5], o.total,
  case c.country when 'CH' then 'CHF' when 'PL' then 'PLN' when 'GB' then 'GBP' when 'NO' then 'NOK' else 'EUR' end, c.country,
  case when y.status in ('pending', 'paid') then (x.created + interval '14 days')::date end,
  case when o.h / 65539 % 5 = 0 then (array['Please leave the parcel with the neighbour.', 'A gift: no invoice in the box, please.',
    'Call before delivery.', 'Third floor, no lift.', 'Deliver on a Saturday if you can.', 'Second attempt, the first parcel was damaged.'
    ])[1 + o.h / 131 % 6] end,
  case when o.h / 4099 % 25 = 0 then 'Asked for a discount.' end,
  x.created, least(now(), x.created + (o.h / 2053 % 5) * interval '7 hours'),
  case when o.h / 262147 % 101 = 0 then least(now(), x.created + interval '2 days') end
from (
  select tenant, order_id as id, owner_id, sum(round(quantity * price * (100 - discount) / 100, 2)) as total,
    order_id::bigint * 2654435761 % 4294967296 as h
  from line group by tenant, order_id, owner_id
) o
join size s on s.tenant = o.tenant
-- Two years, busier towards the end; ids follow time.
cross join lateral (
  select date_trunc('minute', now() - interval '730 days' * (1 - sqrt((o.id - s.o)::float8 / s.orders))) as created
) x
join shop.customers c on c.id = s.c + 1 + o.h / 16 % greatest(s.orders / 5, 20)
cross join lateral (
  select case
    when o.h / 1021 % 40 = 0 then 'cancelled'
    when x.created < now() - interval '20 days' then case when o.h / 769 % 30 = 0 then 'refunded' else 'shipped' end
    else (array['draft', 'pending', 'pending', 'paid', 'paid', 'paid', 'shipped', 'shipped'])[1 + o.h / 769 % 8]
  end as status
) y
order by o.id;

-- The next statement looks up each line's order; without statistics the planner would take a poor index for that.
analyze shop.orders;

insert into shop.order_lines (tenant_id, order_id, owner_id, position, product_id, quantity, unit_price, discount)
select tenant, order_id, owner_id, position, product_id, quantity, price, discount from line order by order_id, position;

select setval(pg_get_serial_sequence('shop.customers', 'id'), (select max(id) from shop.customers)),
  setval(pg_get_serial_sequence('shop.products', 'id'), (select max(id) from shop.products)),
  setval(pg_get_serial_sequence('shop.orders', 'id'), (select max(id) from shop.orders)),
  setval(pg_get_serial_sequence('shop.tenants', 'id'), (select max(id) from shop.tenants));

refresh materialized view shop.monthly_sales;
