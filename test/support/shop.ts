/**
 * One rich fixture for HTTP scenarios: a shop with tenants, owners, soft delete, both kinds of ETag, odd keys, every kind of value, and roles that
 * see different parts of it. Whatever somebody may not see has names and values with marks of their own (`zq…`, the numbers below), so that a
 * leak can be found by looking for them anywhere in an answer.
 */

import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import type { Config, OptionsDeclaration } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import { defineView } from "../../core/domain/declare/view.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import type { Fixture, TestCaller } from "./composed.ts"

/** Soft delete and version as declared fields, ETag from the version, a hidden searched field with alias and a column of another name. */
const customers = defineResource("customers", {
  table: "shop.customers",
  primaryKey: "id",
  tenant: f.integer().column("zq_tenant"),
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    name: f.text().max(100).filterable().sortable().searched().alias("title"),
    zq_email: f.text().column("zq_mail_column").optional().filterable().sortable().searched().alias("zq_mail_alias"),
    credit: f.decimal({ precision: 14, scale: 2 }).optional().filterable().sortable(),
    country: f.country().optional().filterable().sortable(),
    tier: f.enum(["bronze", "gold", "silver"]).optional().filterable().sortable(),
    rank: f.integer().optional().filterable().sortable(),
    account_id: f.relation("accounts").optional().filterable(),
    deleted_at: f.timestamp().optional().filterable(),
    updated_at: f.timestamp()
  },
  access: { fields: { zq_email: { read: ["admin"] } } }
})

/** Owners, record-level rules, a soft-delete column that no field shows, relations to hidden targets. */
const orders = defineResource("orders", {
  table: "shop.orders",
  primaryKey: "id",
  tenant: f.integer().column("zq_tenant"),
  owner: "owner_id",
  softDelete: "zq_deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    number: f.text().max(40).filterable().sortable(),
    customer_id: relation(customers).optional().filterable().sortable(),
    owner_id: f.text().filterable(),
    status: f.enum(["draft", "paid", "shipped"]).filterable().sortable().default("draft"),
    total: f.decimal({ precision: 14, scale: 2 }).filterable().sortable(),
    huge: f.integer().bits(64).optional().filterable().sortable(),
    qty: f.integer().optional().filterable().sortable(),
    weight: f.float().optional().filterable().sortable(),
    note: f.text().optional().filterable().sortable().searched(),
    zq_margin: f.decimal({ precision: 14, scale: 2 }).optional().filterable().sortable(),
    zq_code: f.text().column("zq_code_column").optional().filterable().sortable().searched().alias("zq_code_alias"),
    placed_at: f.timestamp().filterable().sortable(),
    due: f.date().optional().filterable().sortable(),
    paid: f.boolean().optional().filterable().sortable(),
    vault_id: f.relation("vaultzq").optional().filterable().as("zq_safe").inverse("zq_stored"),
    updated_at: f.timestamp().sortable()
  },
  access: {
    update: ({ caller, record }) =>
      caller.roles.includes("admin") || (record.status === "draft" && record.owner_id === caller.id),
    delete: where`status = "draft" AND owner_id = caller.id`,
    fields: {
      zq_margin: { read: ["admin", "auditor"] },
      zq_code: { read: ["admin"] },
      total: { write: ({ record }) => record.status === "draft" }
    }
  }
})

/** Composite key with a text part, ETag from the readable fields, no tenant, no soft delete. */
const lines = defineResource("lines", {
  table: "shop.lines",
  primaryKey: ["order_id", "sku"],
  fields: {
    order_id: relation(orders).filterable().sortable(),
    sku: f.text().max(60).filterable().sortable(),
    quantity: f.integer().filterable().sortable(),
    price: f.decimal({ precision: 10, scale: 4 }).filterable().sortable(),
    zq_cost: f.decimal({ precision: 10, scale: 4 }).optional().filterable().sortable(),
    remark: f.text().optional().searched()
  },
  access: { fields: { zq_cost: { read: ["admin"] } } }
})

/** A single text key with anything in it. */
const tags = defineResource("tags", {
  table: "shop.tags",
  primaryKey: "label",
  fields: {
    label: f.text().max(80).filterable().sortable(),
    weight: f.integer().optional().filterable().sortable(),
    hue: f.text().optional().filterable().sortable()
  }
})

/** A resource may be named like a system endpoint. */
const meta = defineResource("meta", {
  table: "shop.meta",
  primaryKey: "id",
  fields: {
    id: f.uuid().dbDefault().filterable().sortable(),
    contents: f.json().optional().filterable(),
    tally: f.integer().bits(64).optional().filterable().sortable(),
    note: f.text().optional().filterable()
  }
})

/** Some roles may create it and read none of it. */
const feedback = defineResource("feedback", {
  table: "shop.feedback",
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault(),
    message: f.text().max(500).filterable().searched(),
    tag: relation(tags).optional().filterable(),
    zq_score: f.integer().optional().filterable()
  },
  access: { fields: { zq_score: { read: ["admin"] } } }
})

/** Rows by a rule that uses a column nobody but admins sees; invisible to who is neither. */
const accounts = defineResource("accounts", {
  table: "shop.accounts",
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    name: f.text().filterable().sortable().searched(),
    zq_region: f.enum(["zq-north", "zq-south"]).filterable().sortable()
  },
  access: {
    read: ({ caller }) =>
      caller.roles.includes("admin") || (caller.roles.includes("regional") && where`zq_region = "zq-north"`),
    create: ["admin"],
    update: ["admin"],
    delete: ["admin"],
    fields: { zq_region: { read: ["admin"] } }
  }
})

/** Nobody but admins knows it exists. */
const vault = defineResource("vaultzq", {
  table: "shop.zq_vault_table",
  primaryKey: "id",
  fields: {
    id: f.integer().filterable().sortable(),
    zq_secret: f.text().filterable().sortable().searched()
  }
})

/** Empty at first: for tests that write while they read. */
const steps = defineResource("steps", {
  table: "shop.steps",
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).filterable().sortable(),
    rank: f.integer().optional().filterable().sortable(),
    name: f.text().optional().filterable().sortable()
  }
})

/** Big: past the cap of the estimate and the limit of the scan guard. */
const samples = defineResource("samples", {
  table: "shop.samples",
  primaryKey: "id",
  owner: "zq_holder",
  fields: {
    id: f.integer().bits(64).filterable().sortable(),
    bucket: f.integer().filterable().sortable(),
    ranked: f.integer().filterable().sortable(),
    zq_weight: f.integer().filterable().sortable(),
    zq_holder: f.text().filterable().column("zq_holder_column")
  },
  access: { fields: { zq_weight: { read: ["admin"] }, zq_holder: { read: ["admin"] } } }
})

/** Number of rows of `samples`. */
export const sampleCount = 12_345

export const roles = defineRoles({
  admin: ["*"],
  auditor: ["customers.read", "orders.read", "lines.read", "tags.read", "meta.read", "samples.read"],
  sales: [
    "customers.read",
    "orders.read.own",
    "orders.create.own",
    "lines.read",
    "tags.read",
    "meta.read",
    "feedback.create"
  ],
  clerk: [
    "orders.read(id,number,status,placed_at,customer_id)",
    "customers.read(id,name)",
    "lines.read(order_id,sku,quantity)",
    "meta.read(id,note)",
    "samples.read(id,bucket)"
  ],
  regional: ["customers.read"],
  blind: ["orders.read(status,qty)", "lines.read(quantity)"],
  writer: ["feedback.create"],
  sampler: ["samples.read.own(id,bucket)", "orders.read(id,status)", "lines.read(sku,quantity)"],
  nobody: []
})

export type Role = keyof typeof roles

/** One caller per role, all in tenant 1. `sales` is u-sales; the other callers own nothing. */
export const callers = Object.fromEntries(
  Object.keys(roles).map((role) => [role, { id: `u-${role}`, roles: [role], tenant: "1" }])
) as unknown as { readonly [role in Role]: TestCaller }

/** The admin of the other tenant, and one without a tenant. */
export const foreign: TestCaller = { id: "u-foreign", roles: ["admin"], tenant: "2" }
export const homeless: TestCaller = { id: "u-homeless", roles: ["admin"] }

/** What a role must never see: names, and values by a pattern. */
export interface Hidden {
  readonly resource: string
  /** Field name, alias, column; relation names; for a whole resource its name and table too. */
  readonly names: readonly string[]
  readonly values: RegExp | null
}

const hiddenFields: { readonly [field: string]: Hidden } = {
  email: { resource: "customers", names: ["zq_email", "zq_mail_alias", "zq_mail_column"], values: /zqmail/ },
  margin: { resource: "orders", names: ["zq_margin"], values: /7351900/ },
  code: { resource: "orders", names: ["zq_code", "zq_code_alias", "zq_code_column"], values: /ZQCODE/ },
  cost: { resource: "lines", names: ["zq_cost"], values: /66617/ },
  region: { resource: "accounts", names: ["zq_region"], values: /zq-(north|south)/ },
  score: { resource: "feedback", names: ["zq_score"], values: /4242017/ },
  weight: { resource: "samples", names: ["zq_weight", "zq_holder", "zq_holder_column"], values: /5550\d{5}|holder-/ },
  vault: {
    resource: "vaultzq",
    names: ["vaultzq", "zq_vault_table", "zq_secret", "zq_safe", "zq_stored"],
    values: /ZQVAULT/
  },
  accounts: { resource: "accounts", names: ["accounts"], values: /Account (North|South)/ },
  feedback: { resource: "feedback", names: ["feedback"], values: /Feedback text/ },
  samples: { resource: "samples", names: ["samples"], values: null },
  system: { resource: "orders", names: ["zq_tenant", "zq_deleted_at"], values: null },
  tables: { resource: "orders", names: ["shop."], values: null },
  total: { resource: "orders", names: ["total"], values: /808017/ },
  credit: { resource: "customers", names: ["credit"], values: /90909\d/ },
  price: { resource: "lines", names: ["price"], values: /12321\d/ },
  noted: { resource: "meta", names: ["contents", "tally"], values: /9007199254740995/ },
  ranked: { resource: "samples", names: ["ranked"], values: null }
}

const hidden = (...keys: ReadonlyArray<keyof typeof hiddenFields>): readonly Hidden[] =>
  keys.map((key) => hiddenFields[key]!)

const always = ["system", "tables"] as const
const fromPeople = [...always, "email", "code", "cost", "region", "score", "weight", "vault"] as const

/** What each role must never see. */
export const hiddenFrom: { readonly [role in Role]: readonly Hidden[] } = {
  admin: hidden(...always),
  auditor: hidden(...fromPeople, "accounts", "feedback"),
  sales: hidden(...fromPeople, "margin", "accounts", "samples"),
  clerk: hidden(...fromPeople, "margin", "accounts", "feedback", "total", "credit", "price", "noted", "ranked"),
  regional: hidden(...fromPeople, "margin", "feedback", "samples", "total", "price", "noted"),
  blind: hidden(...fromPeople, "margin", "accounts", "feedback", "samples", "total", "credit", "price", "noted"),
  writer: hidden(...fromPeople, "margin", "accounts", "samples", "total", "credit", "price", "noted"),
  sampler: hidden(...fromPeople, "margin", "accounts", "feedback", "total", "credit", "price", "noted", "ranked"),
  nobody: hidden(...fromPeople, "margin", "accounts", "feedback", "samples", "total", "credit", "price", "noted")
}

const shopSchema = `
create schema shop;
create type shop.tier as enum ('bronze', 'gold', 'silver');
create table shop.accounts (id integer primary key, name text not null, zq_region text not null);
create table shop.customers (
  id bigint generated by default as identity primary key,
  zq_tenant integer not null,
  name varchar(100) not null,
  zq_mail_column text,
  credit numeric(14, 2),
  country char(2),
  tier shop.tier,
  rank integer,
  account_id integer references shop.accounts,
  deleted_at timestamptz,
  updated_at timestamptz not null default clock_timestamp()
);
create table shop.zq_vault_table (id integer primary key, zq_secret text not null);
create table shop.orders (
  id bigint generated by default as identity primary key,
  zq_tenant integer not null,
  number text not null,
  customer_id bigint references shop.customers,
  owner_id text not null,
  status text not null,
  total numeric(14, 2) not null,
  huge bigint,
  qty integer,
  weight double precision,
  note text,
  zq_margin numeric(14, 2),
  zq_code_column text,
  placed_at timestamptz not null,
  due date,
  paid boolean,
  vault_id integer references shop.zq_vault_table,
  zq_deleted_at timestamptz,
  updated_at timestamptz not null default clock_timestamp()
);
create index on shop.orders (customer_id);
create table shop.lines (
  order_id bigint not null references shop.orders,
  sku text not null,
  quantity integer not null,
  price numeric(10, 4) not null,
  zq_cost numeric(10, 4),
  remark text,
  primary key (order_id, sku)
);
create table shop.tags (label text primary key, weight integer, hue text);
create table shop.meta (id uuid primary key default gen_random_uuid(), contents jsonb, tally bigint, note text);
create table shop.feedback (id bigint generated by default as identity primary key, message text not null, tag text references shop.tags, zq_score integer);
create table shop.steps (id bigint primary key, rank integer, name text);
create table shop.samples (id bigint primary key, bucket integer not null, ranked integer not null, zq_weight integer not null, zq_holder_column text not null)
  with (autovacuum_enabled = false);
create index on shop.samples (ranked);
`

type Rows = ReadonlyArray<{ readonly [name: string]: Json }>

const pad = (value: number, digits: number): string => String(value).padStart(digits, "0")

/** Integers beyond what a JavaScript number holds: neighbours that would be equal as numbers. */
const hugeValues = [
  "9007199254740992",
  "9007199254740993",
  "9223372036854775807",
  "-9223372036854775808"
] as const

const customerRows: Rows = Array.from({ length: 24 }, (_, i) => ({
  id: String(i + 1),
  zq_tenant: i % 6 === 5 ? 2 : 1,
  name: ["Ann", "bob", "Çelik", "Zoë", "ann", "Ωmega"][i % 6]! + (i < 6 ? "" : ` ${Math.floor(i / 6)}`),
  zq_email: `zq${pad(i, 4)}@zqmail.example`,
  credit: i % 4 === 0 ? null : `90909${i % 10}.${pad(i, 2)}`,
  country: i % 3 === 0 ? null : ["NO", "DE"][i % 2]!,
  tier: [null, "bronze", "gold", "silver", "gold"][i % 5]!,
  rank: i % 3 === 1 ? null : i % 4,
  account_id: i % 4 === 3 ? null : (i % 4) + 1,
  deleted_at: i % 8 === 6 ? "2026-02-01T00:00:00.000001Z" : null,
  updated_at: `2026-01-01T00:00:00.${pad(i, 6)}Z`
}))

/** Orders of tenant 1 that a list without filter shows to an admin. */
export const orderCount = 60

const orderRows: Rows = [
  ...Array.from({ length: orderCount }, (_, i) => ({
    id: i < 57 ? String(i + 1) : ["9007199254740992", "9007199254740993", "9007199254740994"][i - 57]!,
    zq_tenant: 1,
    number: `N-${pad((i * 7) % 60, 3)}`,
    customer_id: i % 7 === 0 ? null : String((i * 5) % 24 + 1),
    owner_id: i % 5 < 2 ? "u-sales" : "u-other",
    status: ["draft", "paid", "shipped"][Math.floor(i / 2) % 3]!,
    total: `808017${pad(i % 20, 2)}.${pad((i * 13) % 100, 2)}`,
    huge: i % 5 === 0 ? null : hugeValues[i % 4]!,
    qty: i % 4 === 0 ? null : i % 3,
    weight: i % 6 === 0 ? null : (i % 5) / 4,
    note: i % 4 === 1 ? null : ["fragile goods", "Émile's 100% \"gift\"", "back\\slash_x", "😀 smile", ""][i % 5]!,
    zq_margin: `735190000${i % 10}.37`.slice(-13),
    zq_code: `ZQCODE-${pad(i, 4)}`,
    placed_at: `2026-0${1 + Math.floor(i / 28)}-${pad(1 + (i % 28), 2)}T10:30:00.${pad(i * 16_383, 6)}Z`,
    due: i % 5 === 2 ? null : `2026-03-${pad(1 + (i % 9), 2)}`,
    paid: i % 3 === 0 ? null : i % 2 === 0,
    vault_id: i % 10 === 0 ? 1 : null,
    zq_deleted_at: null,
    updated_at: `2026-01-02T00:00:00.${pad(i, 6)}Z`
  })),
  // Two deleted ones, and some of the other tenant.
  ...["200", "201", "300", "301", "302"].map((id, i) => ({
    id,
    zq_tenant: i < 2 ? 1 : 2,
    number: `X-${id}`,
    customer_id: i < 2 ? "1" : "6",
    owner_id: "u-sales",
    status: "draft",
    total: `80801790.0${i}`,
    zq_code: `ZQCODE-X${i}`,
    placed_at: "2026-02-20T00:00:00Z",
    zq_deleted_at: i < 2 ? "2026-02-21T12:00:00.123456Z" : null,
    updated_at: "2026-02-21T12:00:00.123456Z"
  }))
]

/** Text parts of keys with everything that a path could trip over. */
export const oddTexts: readonly string[] = [
  "plain",
  "a,b",
  "a/b",
  "100%",
  "%2F",
  "a:b",
  "x:undelete",
  ":search",
  "sp ace",
  "q?x=1&y#z",
  "plus+sign",
  "..",
  ".",
  "Ünïcödé",
  "日本語",
  "😀",
  "quote\"'\\",
  "semi;colon=1",
  "~!*()"
]

const lineRows: Rows = [
  ...oddTexts.map((sku, i) => ({
    order_id: "2",
    sku,
    quantity: i,
    price: `12321${i % 10}.${pad(i, 4)}`,
    zq_cost: `66617${i % 10}.0001`,
    remark: i % 2 === 0 ? null : `remark ${i}`
  })),
  ...Array.from({ length: 30 }, (_, i) => ({
    order_id: String(3 + (i % 10)),
    sku: `sku-${pad(i, 2)}`,
    quantity: i % 7,
    price: `123210.${pad(i, 4)}`,
    zq_cost: "666170.5000"
  })),
  { order_id: "9007199254740993", sku: "big", quantity: 1, price: "123210.0000", zq_cost: "666170.0000" },
  // Of an order of the other tenant.
  { order_id: "300", sku: "foreign", quantity: 1, price: "123210.0000", zq_cost: "666170.0000" }
]

const uuid = (i: number): string => `00000000-0000-4000-8000-${pad(i, 12)}`

const rows: { readonly [resource: string]: Rows } = {
  accounts: [1, 2, 3].map((id) => ({
    id,
    name: id === 2 ? "Account South" : `Account North ${id}`,
    zq_region: id === 2 ? "zq-south" : "zq-north"
  })),
  customers: customerRows,
  vaultzq: [{ id: 1, zq_secret: "ZQVAULT-1" }],
  orders: orderRows,
  lines: lineRows,
  tags: oddTexts.map((label, i) => ({ label, weight: i % 3 === 0 ? null : i % 4, hue: i % 2 === 0 ? null : "red" })),
  meta: Array.from({ length: 5 }, (_, i) => ({
    id: uuid(i),
    contents: [null, { a: [1, null, "ü"] }, [], "text", 1.5][i]!,
    tally: "9007199254740995",
    note: i === 0 ? null : `note ${i}`
  })),
  feedback: [1, 2].map((id) => ({ id: String(id), message: `Feedback text ${id}`, tag: "plain", zq_score: 4_242_017 })),
  samples: Array.from({ length: sampleCount }, (_, i) => ({
    id: String(i + 1),
    bucket: i % 10,
    ranked: i,
    zq_weight: 555_000_000 + i,
    zq_holder: `holder-${i % 5}`
  }))
}

const views = [
  defineView(customers, {
    columns: ["name", "zq_email", "credit", "tier"],
    sort: "zq_mail_alias desc, name",
    filters: [{ name: "Mailed", filter: "zq_email:\"zqmail\"" }, { name: "Gold", filter: "tier = gold" }],
    search: ["name", "zq_email"],
    title: "zq_email",
    layout: [{ label: "Contact", fields: ["name", "zq_email"] }],
    nav: { group: "Sales", recent: { sort: "zq_email" } }
  }),
  defineView(orders, {
    columns: ["number", "status", "total", "zq_margin", "vault_id"],
    sort: "placed_at desc",
    filters: [{ name: "Good", filter: "zq_margin > 7351900000" }],
    chart: { of: "series", field: "placed_at", measure: "sum:zq_margin" }
  }),
  defineView(vault, { columns: ["id", "zq_secret"] })
]

/** The configuration with other options: guards, timeouts. */
export const shopConfig = (options: OptionsDeclaration = {}): Config =>
  defineConfig({
    resources: [customers, orders, lines, tags, meta, feedback, accounts, vault, steps, samples],
    views,
    roles,
    pages: [{ name: "vaultpage", label: "Vault", resource: "vaultzq", href: "/vaultzq" }],
    userMenu: [
      { label: "Mails", href: "/customers?filter=zq_email:zqmail" },
      { label: "Vault", href: "/vaultzq", resource: "vaultzq" }
    ],
    options: { ...options }
  })

/** The shop; `options` are those of the configuration. */
export const shop = (options: OptionsDeclaration = {}): Fixture => ({
  config: shopConfig(options),
  schema: shopSchema,
  rows
})
