-- The indexes of the example shop, apart from the tables because data load faster without them. Safe to apply again.
--
-- They begin with the tenant and end with the key: that is how lists are filtered and ordered. Where deleted rows stay in the table,
-- indexes leave them out.

create index if not exists staff_by_name on shop.staff (tenant_id, name, id);
create index if not exists staff_by_email on shop.staff (tenant_id, email);
create index if not exists staff_by_team on shop.staff (tenant_id, team);

create index if not exists customers_by_name on shop.customers (tenant_id, name, id) where deleted_at is null;
create index if not exists customers_by_since on shop.customers (tenant_id, customer_since, id) where deleted_at is null;
create index if not exists customers_by_country on shop.customers (tenant_id, country) where deleted_at is null;
create index if not exists customers_by_city on shop.customers (tenant_id, city) where deleted_at is null;
create index if not exists customers_by_kind on shop.customers (tenant_id, kind) where deleted_at is null;
create index if not exists customers_by_email on shop.customers (tenant_id, email) where deleted_at is null;

create index if not exists products_by_name on shop.products (tenant_id, name, id) where deleted_at is null;
create index if not exists products_by_price on shop.products (tenant_id, price, id) where deleted_at is null;
create index if not exists products_by_cost on shop.products (tenant_id, cost, id) where deleted_at is null;
create index if not exists products_by_stock on shop.products (tenant_id, stock, id) where deleted_at is null;
create index if not exists products_by_category on shop.products (tenant_id, category) where deleted_at is null;

create index if not exists products_by_material on shop.products using gin (materials);
create index if not exists products_words on shop.products using gin (words);
-- Members of JSON: an index serves the expression that the service writes, which `service doctor` tells.
create index if not exists products_by_width on shop.products
  (tenant_id, (case when jsonb_typeof(measures -> 'width') = 'number' then (measures ->> 'width')::numeric end), id) where deleted_at is null;
create index if not exists products_by_height on shop.products
  (tenant_id, (case when jsonb_typeof(measures -> 'height') = 'number' then (measures ->> 'height')::numeric end), id) where deleted_at is null;
create index if not exists products_by_weight on shop.products
  (tenant_id, (case when jsonb_typeof(measures -> 'weight') = 'number' then (measures ->> 'weight')::numeric end), id) where deleted_at is null;

create index if not exists product_tags_by_product on shop.product_tags (tenant_id, product_id, tag);
create index if not exists product_tags_by_tag on shop.product_tags (tenant_id, tag, product_id);

create index if not exists orders_by_created on shop.orders (tenant_id, created_at, id) where deleted_at is null;
create index if not exists orders_by_status on shop.orders (tenant_id, status, created_at, id) where deleted_at is null;
create index if not exists orders_by_total on shop.orders (tenant_id, total, id) where deleted_at is null;
create index if not exists orders_by_due on shop.orders (tenant_id, due_on, id) where deleted_at is null;

-- Equal entries share their place in an index, so these are tiny: counting for :facets reads nothing else.
create index if not exists orders_per_status on shop.orders (tenant_id, status) where deleted_at is null;
create index if not exists orders_per_channel on shop.orders (tenant_id, channel) where deleted_at is null;
create index if not exists orders_per_country on shop.orders (tenant_id, ship_country) where deleted_at is null;
create index if not exists orders_per_owner on shop.orders (tenant_id, owner_id) where deleted_at is null;
create index if not exists orders_per_currency on shop.orders (tenant_id, currency) where deleted_at is null;

create index if not exists orders_by_owner on shop.orders (tenant_id, owner_id, created_at, id);
create index if not exists orders_by_customer on shop.orders (tenant_id, customer_id, created_at, id);

create index if not exists order_lines_by_order on shop.order_lines (tenant_id, order_id, owner_id, position);
create index if not exists order_lines_by_position on shop.order_lines (tenant_id, position, id);
create index if not exists order_lines_by_owner on shop.order_lines (tenant_id, owner_id, id);
create index if not exists order_lines_by_product on shop.order_lines (tenant_id, product_id, id);

-- Searched texts: trigram indexes, where the extension may be had. Without it a search reads the table.
create index if not exists messages_topic on shop.messages (tenant_id, topic, id);
create index if not exists messages_received_at on shop.messages (tenant_id, received_at, id);

do $$
begin
  create extension if not exists pg_trgm;
exception when others then
  raise notice 'pg_trgm is not available here: %', sqlerrm;
end $$;

do $$
declare
  operators text := (
    select format('%I.gin_trgm_ops', n.nspname)
    from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'
  );
begin
  if operators is null then return; end if;
  execute format(
    'create index if not exists messages_search on shop.messages using gin (name %1$s, email %1$s, message %1$s)', operators
  );
  execute format('create index if not exists staff_search on shop.staff using gin (name %1$s)', operators);
  execute format('create index if not exists customers_search on shop.customers using gin (name %1$s, email %1$s)', operators);
  execute format('create index if not exists products_search on shop.products using gin (name %1$s, description %1$s)', operators);
  execute format('create index if not exists orders_search on shop.orders using gin (note %1$s)', operators);
end $$;
