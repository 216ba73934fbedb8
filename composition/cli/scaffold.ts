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

interface Package {
  readonly version: string
  readonly devDependencies: { readonly [name: string]: string }
}

const { devDependencies, version }: Package = createRequire(import.meta.url)("resource-admin/package.json")

const nameOf = (folder: string): string => snakeCase(basename(folder)).replaceAll("_", "-")

/** The files of every project. `databaseUrl`: the URL of the database that the project was made from, for `.env`. */
export const projectFiles = (folder: string, databaseUrl: string | null = null): readonly NewFile[] => [
  {
    path: "package.json",
    text: `${
      JSON.stringify(
        {
          name: nameOf(folder),
          private: true,
          type: "module",
          engines: { node: ">=24.2" },
          scripts: {
            dev: "service dev",
            build: "service build",
            start: "service serve dist/server.mjs",
            migrate: "service migration --apply",
            doctor: "service doctor",
            types: "tsc"
          },
          dependencies: { "resource-admin": version },
          devDependencies: Object.fromEntries(
            ["@types/node", "typescript"].map((name) => [name, devDependencies[name]])
          )
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
            types: ["node"],
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
${
      databaseUrl === null
        ? "# DATABASE_URL=postgres://user:password@localhost:5432/database"
        : `DATABASE_URL=${quotedValue(databaseUrl)}`
    }
`
  },
  { path: ".gitignore", text: "node_modules/\ndist/\ndata/\n.env\n" }
]

/** An address as a value of `.env`, whose parser takes all between single quotes as it is. In an address an apostrophe may be written as `%27`. */
const quotedValue = (address: string): string => {
  const text = address.replaceAll("'", "%27")
  return /[\s#"`\\]/.test(text) ? `'${text}'` : text
}

const readme = (folder: string): string =>
  `# ${nameOf(folder)}

An admin API and app for a PostgreSQL database, made with resource-admin.

| Command | What it does |
|---|---|
| \`npm install\` | fetches the packages |
| \`npm run migrate\` | applies the files of db/migrations, and makes the service's own tables |
| \`npx service users create <EMAIL> --generate-password\` | makes an account; the first one is an admin |
| \`npm run dev\` | serves on http://localhost:5173, and starts again when a file changes |
| \`npm run doctor\` | says what the configuration and the database lack |
| \`npm run types\` | checks the types |
| \`npm run build\`, \`npm start\` | make and serve a bundle |

- \`admin.config.ts\` says which tables are shown, and what each role may do.
- \`.env\` has the secret and the addresses of this machine. It is never committed.

## In containers

\`docker compose up --build\` starts PostgreSQL, applies the migrations, and serves on http://localhost:5173. Set a password for the database and the secret before:

\`\`\`sh
export POSTGRES_PASSWORD=$(openssl rand -hex 24) AUTH_SECRET=$(openssl rand -base64 32)
docker compose up --build --detach
docker compose run --rm migrate npx service users create ann@example.com --generate-password
\`\`\`

Keep both values: another secret ends all sessions, and the database keeps the password that it was made with.
`

const dockerfile = `# Everything that the project needs to migrate and to build.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json* ./
RUN npm install --no-audit --no-fund
COPY . .
RUN npx service build

# What runs: the bundle, and the packages without those for building.
FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json* ./
RUN npm install --omit=dev --no-audit --no-fund
COPY --from=build /app/dist dist
USER node
ENV PORT=5173 SERVICE_HOST=0.0.0.0
EXPOSE 5173
CMD ["node_modules/.bin/service", "serve", "dist/server.mjs"]
`

const compose = `# PostgreSQL, one run of the migrations, and the service.
services:
  db:
    image: postgres:18
    environment:
      POSTGRES_PASSWORD: \${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD}
      POSTGRES_DB: admin
    volumes: ["db:/var/lib/postgresql"]
    healthcheck:
      test: ["CMD-SHELL", "pg_isready -U postgres -d admin"]
      interval: 2s
      retries: 30
  migrate:
    build: { context: ., target: build }
    command: ["npx", "service", "migration", "--apply"]
    environment: &service
      DATABASE_URL: postgres://postgres:\${POSTGRES_PASSWORD}@db:5432/admin
      AUTH_SECRET: \${AUTH_SECRET:?set AUTH_SECRET}
      AUTH_URL: \${AUTH_URL:-http://localhost:5173}
    depends_on:
      db: { condition: service_healthy }
  admin:
    build: .
    environment: *service
    ports: ["5173:5173"]
    restart: unless-stopped
    depends_on:
      migrate: { condition: service_completed_successfully }
volumes:
  db:
`

/** What \`init\` adds: how to work with the project, and how to run it in containers. */
export const startFiles = (folder: string): readonly NewFile[] => [
  { path: "README.md", text: readme(folder) },
  { path: "Dockerfile", text: dockerfile },
  { path: ".dockerignore", text: "node_modules/\ndist/\ndata/\n.env\n.git/\n" },
  { path: "compose.yaml", text: compose }
]

/** The configuration of a new project without resources. */
export const emptyFiles: readonly NewFile[] = [{
  path: "admin.config.ts",
  text: `import { defineConfig, defineRoles } from "resource-admin"

export default defineConfig({
  // Declare tables with defineResource, or let \`service introspect\` write them.
  resources: [],
  // What each role may do. An account with none of these capabilities may do nothing.
  roles: defineRoles({ admin: ["*"] })
})
`
}]

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
import { resources, views } from "./${module}"

// This file is yours: \`service introspect\` writes it once and never again. To add to a generated resource, import it, extendResource and
// withResources, and write:
//
//   resources: withResources(resources, extendResource(orders, { access: { delete: ["admin"] } })),
//   views: { ...views, orders: { ...views.orders, sort: "created_at desc" } }
export default defineConfig({
  resources,
  views,
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
