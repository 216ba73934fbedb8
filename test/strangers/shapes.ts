/**
 * Sixteen databases that nobody made for this service. Each is a file of SQL beside this one, with rows. What of a run is refused, and rightly, stands here
 * with its reason; so does what is a fault and not mended yet.
 */

import { readFileSync } from "node:fs"
import type { Json } from "../../core/domain/value/kind.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

export interface Shape {
  readonly name: string
  /** Its schema `auth` belongs to somebody else: the accounts of the service need another one. */
  readonly foreignAuth?: boolean
  /** Roles that its SQL makes; they belong to the whole server, so each run has its own. The last one is the project's. */
  readonly roles?: readonly string[]
  /** Values that a check or a partition asks for, by resource and field. */
  readonly values?: { readonly [resource: string]: { readonly [field: string]: Json } }
  /** Tables that frameworks keep for themselves, as the generated file names them. */
  readonly frameworks?: string
  /** Tables in which a run leaves rows behind: by triggers, or because a kept record refers to one. */
  readonly grows?: readonly string[]
  /** What is refused and should be (`DELETE audit_lines 400`), with the reason. */
  readonly right?: { readonly [line: string]: string }
  /** What goes wrong and should not, with what is known of it. A line that no longer occurs fails the test, and is then taken out. */
  readonly faults?: { readonly [line: string]: string }
}

export const shapes: readonly Shape[] = [
  { name: "northwind", right: { "no name orders": "whom it is shipped to says nothing of the order itself" } },
  { name: "chinook", right: { "no name invoice": "where it is billed to says nothing of the invoice itself" } },
  {
    name: "pagila",
    // Only one of its partitions has this foreign key, so it is a plain number.
    values: { payment: { rental_id: 1 } }
  },
  {
    name: "clinic",
    values: {
      wards: { floor: 9 },
      patients: { insurance_no: "D123456789" },
      stays: { building: "A", floor: 1, to_day: "2024-12-31" },
      visits: { patient_id: 1, from_day: "2024-01-01", pulse: 60 }
    },
    grows: ["audit_lines"],
    right: {
      "PATCH audit_lines 400": "a trigger forbids it",
      "DELETE audit_lines 400": "a trigger forbids it"
    }
  },
  { name: "club", values: { abteilungen: { farbe: "101" }, mitglieder: { rechte: "10000001" } } },
  { name: "types" },
  {
    name: "rails",
    frameworks: "ar_internal_metadata (Rails), schema_migrations (Rails)",
    right: { "no name comments": "a text without bounds that may be missing names nobody" }
  },
  {
    name: "prisma",
    frameworks: "_prisma_migrations (Prisma)",
    grows: ["\"User\""],
    right: {
      "DELETE user 409": "a post of the user is deleted and kept",
      "no name profile": "a long text about a person names nobody"
    }
  },
  { name: "sequelize", frameworks: "SequelizeMeta (Sequelize)" },
  {
    name: "django",
    frameworks: "django_content_type (Django), django_migrations (Django), django_session (Django)",
    // What it points at is a table that Django keeps for itself, which is left out.
    values: { auth_permission: { content_type_id: 1 }, django_admin_log: { content_type_id: 1 } }
  },
  {
    name: "supabase",
    foreignAuth: true,
    roles: ["anon", "authenticated", "supabase_auth_admin", "supabase_storage_admin", "project_owner"],
    // Whose ids these are is known to another schema.
    values: {
      profiles: { id: "22222222-2222-4222-8222-222222222222" },
      todos: { user_id: "22222222-2222-4222-8222-222222222222" }
    },
    faults: { "no name todos": "its only text may be null and has no bound" }
  },
  {
    name: "better-auth",
    foreignAuth: true,
    values: { documents: { author_id: "u2" }, members: { user_id: "u2" } }
  },
  {
    name: "laravel",
    frameworks: [
      "cache",
      "cache_locks",
      "failed_jobs",
      "job_batches",
      "jobs",
      "migrations",
      "password_reset_tokens",
      "personal_access_tokens",
      "sessions"
    ]
      .map((table) => `${table} (Laravel)`).join(", ")
  },
  { name: "typeorm", frameworks: "migrations (TypeORM), typeorm_metadata (TypeORM)" },
  {
    name: "ef-core",
    frameworks: "AspNetUserTokens (ASP.NET Identity), __EFMigrationsHistory (Entity Framework)"
  },
  { name: "drizzle" }
]

/** A database of a shape, as its project has it: the address is that of the project's role. It is dropped with the roles that its SQL makes. */
export const openShape = async ({ name, roles = [] }: Shape): Promise<TestDatabase> => {
  const own = roles.map((role) => `${role}_${process.pid}`)
  const sql = roles.reduce(
    (text, role, i) => text.replaceAll(new RegExp(`\\b${role}\\b`, "g"), own[i]!),
    readFileSync(new URL(`${name}.sql`, import.meta.url), "utf8")
  )
  const database = await openDatabase()
  const project = own.at(-1)
  if (project === undefined) {
    await database.execute(sql)
    return database
  }
  await database.execute(`${sql}; alter database ${database.name} owner to ${project}`)
  return {
    ...database,
    url: database.url.replace("://postgres@", `://${project}@`),
    drop: async () => {
      const list = own.join(", ")
      await database.execute(`reassign owned by ${list} to current_user; drop owned by ${list}; drop role ${list}`)
      await database.drop()
    }
  }
}
