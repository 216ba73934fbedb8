/**
 * The fixture of the write scenarios: a ledger with tenants, owners, both kinds of ETag, soft and hard delete, record-level rules that answer
 * filters, field rules, validate rules, composite keys, and orders that pass or break constraints. Names and values that some callers must not
 * see begin with `zq`.
 */

import { where } from "../../core/domain/access/where.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import type { OptionsDeclaration } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"
import type { Json } from "../../core/domain/value/kind.ts"
import type { Fixture, TestCaller } from "./composed.ts"

/** Tenant and version as columns that no field shows, soft delete as a field, own rows for clerks, a hidden field and a hidden validate rule. */
const accounts = defineResource("accounts", {
  table: "ledger.accounts",
  primaryKey: "id",
  tenant: f.integer().column("tenant_id"),
  owner: "owner_id",
  softDelete: "deleted_at",
  version: "zq_version",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    owner_id: f.text().max(40).filterable(),
    name: f.text().max(20).filterable().searched(),
    code: f.text().max(20).optional().filterable(),
    balance: f.decimal({ precision: 12, scale: 2 }).default("0.00").filterable(),
    status: f.enum(["open", "frozen", "closed"]).default("open").filterable(),
    rating: f.integer().optional(),
    opened_on: f.date().dbDefault(),
    touched: f.integer().readOnly().optional(),
    meta: f.json().optional(),
    zq_note: f.text().optional(),
    deleted_at: f.timestamp().optional()
  },
  validate: [
    ({ balance }) => balance.startsWith("-") ? [{ field: "balance", message: "Must not be negative." }] : null,
    ({ balance, status }) =>
      status === "closed" && balance !== "0.00"
        ? [{ field: "status", message: "Only an empty account can be closed." }, {
          field: "balance",
          message: "Is not empty."
        }]
        : null,
    ({ zq_note }) => zq_note === "zq-refused" ? [{ field: "zq_note", message: "zq: not this note." }] : null
  ],
  access: {
    update: ({ caller, record }) =>
      caller.roles.includes("admin") ||
      (caller.roles.includes("clerk") && record.status !== "frozen" && where`owner_id = caller.id`),
    delete: ({ caller }) =>
      caller.roles.includes("admin") || (caller.roles.includes("clerk") && where`status = "open"`),
    fields: {
      zq_note: { read: ["admin"] },
      deleted_at: { read: ["admin"] },
      rating: { write: ({ caller, record }) => caller.roles.includes("admin") || record.status === "open" }
    }
  }
})

/** No version column: the ETag is made of the fields a caller reads. Titles are unique for each owner. */
const notes = defineResource("notes", {
  table: "ledger.notes",
  primaryKey: "id",
  owner: "owner_id",
  fields: {
    id: f.integer().readOnly().dbDefault().filterable().sortable(),
    owner_id: f.text(),
    title: f.text().max(60).filterable(),
    body: f.text().optional(),
    zq_mark: f.text().optional(),
    account_id: relation(accounts).optional().filterable()
  },
  access: { fields: { zq_mark: { read: ["admin"] } } }
})

/** Composite key with a text part. */
const labels = defineResource("labels", {
  table: "ledger.labels",
  primaryKey: ["note_id", "label"],
  fields: {
    note_id: relation(notes),
    label: f.text().max(30),
    weight: f.integer().default(1)
  }
})

/** Rules: a row filter of live rows only, a static filter for updates, a create rule over the record. */
const papers = defineResource("papers", {
  table: "ledger.papers",
  primaryKey: "id",
  softDelete: "deleted_at",
  version: "updated_at",
  fields: {
    id: f.integer(),
    level: f.integer().filterable(),
    state: f.enum(["draft", "final"]).default("draft").filterable(),
    deleted_at: f.timestamp().optional().filterable(),
    updated_at: f.timestamp()
  },
  access: {
    read: ({ caller }) => caller.roles.includes("admin") || where`isNull(deleted_at) AND level <= 5`,
    create: ({ caller, record }) => caller.roles.includes("admin") || record.level <= 7,
    update: where`level <= 3 OR state = final`,
    delete: true
  }
})

const rank = { version: "rev", primaryKey: "id" } as const

/** Order by a unique, non-deferrable column; `rev` counts the updates. */
const steps = defineResource("steps", {
  table: "ledger.steps",
  ...rank,
  fields: {
    id: f.integer(),
    board: f.text(),
    place: f.integer().bits(16).sortable(),
    name: f.text().default("-"),
    rev: f.integer()
  }
})
/** The same, with values from 1 to 1000 only where `low` says nothing else: above is refused. */
const ceilings = defineResource("ceilings", {
  table: "ledger.ceilings",
  ...rank,
  fields: { id: f.integer(), place: f.integer(), rev: f.integer() }
})
/** The same, with positive values only. */
const floors = defineResource("floors", {
  table: "ledger.floors",
  ...rank,
  fields: { id: f.integer(), place: f.integer(), rev: f.integer() }
})

const counters = defineResource("counters", {
  table: "ledger.counters",
  primaryKey: "id",
  version: "rev",
  fields: { id: f.integer(), n: f.integer().bits(64).default("0"), rev: f.integer() }
})

/** What nobody but admins knows of. */
const vault = defineResource("zqvault", {
  table: "ledger.zq_vault",
  primaryKey: "id",
  fields: { id: f.integer(), word: f.text() },
  access: { read: ["admin"], create: ["admin"], update: ["admin"], delete: ["admin"] }
})

/** Somebody may write into it who reads nothing. */
const dropbox = defineResource("dropbox", {
  table: "ledger.dropbox",
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault(), message: f.text().max(100), zq_score: f.integer().optional() },
  access: { fields: { zq_score: { read: ["admin"] } } }
})

export const ledgerSchema = `
create schema ledger;
create table ledger.accounts (
  id bigint generated by default as identity (start with 1000) primary key,
  tenant_id integer not null,
  owner_id text not null,
  name text not null,
  code text unique,
  balance numeric(12, 2) not null,
  status text not null,
  rating integer check (rating >= 0),
  opened_on date not null default '2026-01-01',
  touched integer,
  meta jsonb,
  zq_note text,
  zq_version timestamptz not null default now(),
  deleted_at timestamptz
);
create table ledger.notes (
  id integer generated always as identity primary key,
  owner_id text not null,
  title text not null,
  body text,
  zq_mark text,
  account_id bigint references ledger.accounts (id),
  unique (owner_id, title)
);
create table ledger.labels (
  note_id integer not null references ledger.notes (id),
  label text not null,
  weight integer not null,
  primary key (note_id, label)
);
create table ledger.papers (
  id integer primary key,
  level integer not null,
  state text not null,
  deleted_at timestamptz,
  updated_at timestamptz not null default now()
);
create table ledger.steps (
  id integer primary key,
  board text not null,
  place smallint not null,
  name text not null,
  rev integer not null default 1,
  unique (board, place)
);
create table ledger.ceilings (
  id integer primary key, place integer not null unique check (place <= 1000), rev integer not null default 1
);
create table ledger.floors (
  id integer primary key, place integer not null unique check (place >= 1), rev integer not null default 1
);
create table ledger.counters (id integer primary key, n bigint not null, rev integer not null default 1);
create table ledger.zq_vault (id integer primary key, word text not null);
create table ledger.dropbox (id integer generated always as identity primary key, message text not null, zq_score integer);
`

const roles = defineRoles({
  admin: ["*"],
  clerk: [
    "accounts.read.own",
    "accounts.create.own",
    "notes.*.own",
    "labels.*",
    "papers.*",
    "steps.*",
    "ceilings.*",
    "floors.*",
    "counters.*"
  ],
  viewer: ["accounts.read", "notes.read", "papers.read", "steps.read"],
  writer: ["dropbox.create"],
  nobody: []
})

const caller = (id: string, role: string, tenant: string | null = "1"): TestCaller => ({
  id,
  roles: [role],
  ...(tenant === null ? {} : { tenant })
})

export const ann = caller("ann", "clerk")
export const bob = caller("bob", "clerk")
export const admin = caller("root", "admin")
export const foreign = caller("zoe", "admin", "2")
export const homeless = caller("hal", "admin", null)
export const viewer = caller("vic", "viewer")
export const writer = caller("wil", "writer")
export const nobody = caller("nil", "nobody")

const version = "2026-01-01T00:00:00.000001Z"

const account = (id: string, owner: string, more: { readonly [name: string]: Json } = {}) => ({
  id,
  tenant_id: 1,
  owner_id: owner,
  name: `account ${id}`,
  balance: "10.00",
  status: "open",
  opened_on: "2025-05-05",
  zq_version: version,
  ...more
})

/** Accounts 1 to 9, notes 1 to 3 (identity columns go on behind them), papers, and three boards in order. */
const rows: Fixture["rows"] = {
  accounts: [
    account("1", "ann", { code: "A-1", meta: { b: [1, "x"], a: null }, zq_note: "zq-one" }),
    account("2", "ann", { status: "frozen" }),
    account("3", "bob", { code: "B-3" }),
    account("4", "ann", { deleted_at: "2026-02-02T00:00:00Z" }),
    account("5", "zoe", { tenant_id: 2, code: "Z-5" }),
    account("6", "ann", { balance: "0.00" })
  ],
  papers: [1, 2, 3, 4, 6].map((level) => ({ id: level, level, state: "draft", updated_at: version })),
  steps: [1, 2, 3, 4, 5].map((id) => ({ id, board: "main", place: id, name: `step ${id}`, rev: 1 })),
  ceilings: [1, 2, 3].map((id) => ({ id, place: id === 3 ? 1000 : id, rev: 1 })),
  floors: [1, 2, 3].map((id) => ({ id, place: id, rev: 1 })),
  counters: [{ id: 1, n: "0", rev: 1 }, { id: 2, n: "0", rev: 1 }],
  zqvault: [{ id: 1, word: "zqword" }]
}

/** The ledger; `options` are those of the configuration, `more` is run after the schema. */
export const ledger = (options: OptionsDeclaration = {}, more = ""): Fixture => ({
  config: defineConfig({
    resources: [accounts, notes, labels, papers, steps, ceilings, floors, counters, vault, dropbox],
    roles,
    options
  }),
  schema: `${ledgerSchema}\n${more}`,
  rows,
  defaultOf: (_model, field) => field.column === "opened_on" ? "2026-01-01" : field.column === "rev" ? "1" : undefined
})
