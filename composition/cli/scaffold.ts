/**
 * The files of a new project and how they get onto the disk: all of them or none, and never over one that exists. It knows no database.
 */

import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join, relative } from "node:path"
import { snakeCase } from "../introspect/names.ts"
import { CliFailure } from "./output.ts"

/** A file to write: path relative to the project, text, and whether only its owner may read it. */
export interface NewFile {
  readonly path: string
  readonly text: string
  readonly secret?: boolean
}

const version = (createRequire(import.meta.url)("resource-admin/package.json") as { readonly version: string }).version

/** What every project has. */
export const projectFiles = (folder: string): readonly NewFile[] => [
  {
    path: "package.json",
    text: `${
      JSON.stringify(
        {
          name: snakeCase(basename(folder)).replaceAll("_", "-"),
          private: true,
          type: "module",
          engines: { node: ">=24.2" },
          scripts: {
            dev: "service dev",
            build: "service build",
            start: "service serve dist/server.mjs",
            migrate: "service migration --apply",
            doctor: "service doctor"
          },
          dependencies: { "resource-admin": version }
        },
        null,
        2
      )
    }\n`
  },
  {
    path: "tsconfig.json",
    text: `${
      JSON.stringify(
        {
          compilerOptions: {
            target: "es2024",
            module: "nodenext",
            strict: true,
            noEmit: true,
            allowImportingTsExtensions: true,
            erasableSyntaxOnly: true,
            verbatimModuleSyntax: true,
            skipLibCheck: true
          },
          include: ["**/*.ts"],
          exclude: ["node_modules", "dist", "data"]
        },
        null,
        2
      )
    }\n`
  },
  {
    path: ".env",
    secret: true,
    text: `# Variables of this machine; a variable that is really set wins. Never commit this file.

# Signs cookies and page tokens, encrypts signing keys. Every instance needs the same.
AUTH_SECRET=${randomBytes(32).toString("base64")}

# Public URL of the API.
AUTH_URL=http://localhost:5173

# Without it the service brings its own PostgreSQL, in data/postgres.
# DATABASE_URL=postgres://user:password@localhost:5432/database
`
  },
  { path: ".gitignore", text: "node_modules/\ndist/\ndata/\n.env\n" }
]

/** The configuration of a new project, with the example resource. */
export const exampleConfig = `import { defineConfig, defineRoles } from "resource-admin"
import { notes } from "./resources/notes.ts"

export default defineConfig({
  resources: [notes],
  // What each role may do. An account with none of these capabilities may do nothing.
  roles: defineRoles({
    admin: ["*"],
    user: ["notes.read", "notes.create.own", "notes.update.own", "notes.delete.own"]
  })
})
`

/** The example: a resource and the migration that makes its table. */
export const exampleFiles: readonly NewFile[] = [
  { path: "admin.config.ts", text: exampleConfig },
  {
    path: "resources/notes.ts",
    text: `import { defineResource, f } from "resource-admin"

export const notes = defineResource("notes", {
  primaryKey: "id",
  owner: "owner_id",
  version: "updated_at",
  softDelete: "deleted_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().filterable().sortable(),
    title: f.text().max(200).filterable().sortable().searched(),
    body: f.text().optional().searched(),
    state: f.enum(["draft", "published"]).default("draft").filterable().sortable(),
    owner_id: f.text().filterable(),
    created_at: f.timestamp().readOnly().dbDefault().filterable().sortable(),
    updated_at: f.timestamp().readOnly().dbDefault(),
    deleted_at: f.timestamp().optional().readOnly()
  }
})
`
  },
  {
    path: "db/migrations/001_notes.sql",
    text: `create extension if not exists pg_trgm;

create table notes (
  id bigint generated always as identity primary key,
  title varchar(200) not null,
  body text,
  state text not null default 'draft' check (state in ('draft', 'published')),
  owner_id text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);

create index on notes (title, id);
create index on notes (state, id);
create index on notes (owner_id, id);
create index on notes (created_at, id);
create index on notes using gin (title gin_trgm_ops, body gin_trgm_ops);
`
  }
]

/** The configuration beside generated resources. */
export const introspectedConfig = (module: string): string =>
  `import { defineConfig, defineRoles } from "resource-admin"
import { resources } from "./${module}"

// This file is yours: \`service introspect\` writes it once and never again. To add to a generated resource, import it, extendResource and
// withResources, and write:
//
//   resources: withResources(resources, extendResource(orders, { access: { delete: ["admin"] } }))
export default defineConfig({
  resources,
  // What each role may do. An account with none of these capabilities may do nothing.
  roles: defineRoles({ admin: ["*"] })
})
`

/** Writes new files; throws and writes nothing when one of them exists. */
export const writeNew = (folder: string, files: readonly NewFile[]): void => {
  const existing = files.filter(({ path }) => existsSync(join(folder, path)))
  if (existing.length > 0) {
    throw new CliFailure(
      `Nothing was written: ${existing.map(({ path }) => path).join(", ")} ${
        existing.length === 1 ? "exists" : "exist"
      } in ${folder} already.`
    )
  }
  for (const { path, secret, text } of files) {
    const full = join(folder, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, text, { flag: "wx", mode: secret === true ? 0o600 : 0o644 })
  }
}

/** A folder as it is written after \`cd\`. */
export const shownFolder = (folder: string): string => {
  const path = relative(process.cwd(), folder) || "."
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
