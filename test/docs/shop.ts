/** The example shop under the pages of the reference whose requests tests send: its configuration and schema, with the rows that a page speaks of. */

import { readFileSync } from "node:fs"
import { compileOrThrow } from "../../composition/create-admin.ts"
import type { Parts } from "../../composition/edge.ts"
import { historyMigrations, refreshMigrations } from "../../composition/migrations.ts"
import config from "../../examples/shop/admin.config.ts"
import { FakeQueue } from "../fakes/queue.ts"
import { startService } from "../support/composed.ts"
import type { TestService } from "../support/composed.ts"

const root = new URL("../../", import.meta.url)

export const admin = { id: "00000000-0000-4000-8000-000000000001", roles: ["admin"], tenant: "1" }

/** The text of a page of the documentation, of the reference where no folder is named. */
export const readPage = (name: string, folder: "guides" | "reference" = "reference"): string =>
  readFileSync(new URL(`docs/${folder}/${name}.md`, root), "utf8")

const textOf = (name: string): string => readFileSync(new URL(`examples/shop/${name}.sql`, root), "utf8")

const startEmpty = (more: readonly string[], parts: Partial<Parts>): Promise<TestService> => {
  const compiled = compileOrThrow(config)
  const versions = [...refreshMigrations(compiled), ...historyMigrations(compiled)].map(({ statements }) => statements)
  const schema = [textOf("schema"), ...more, ...versions].join("\n")
  return startService("postgres", { config: { ...config, forms: { difficulty: 8 } }, schema, rows: {} }, { parts })
}

/** Starts the shop as `npm start` makes it, with a queue that runs nothing. Its forms ask for little work, so that tests need not do it. */
export const startGenerated = (): Promise<TestService> =>
  startEmpty(["data", "indexes"].map(textOf), { jobs: { queue: new FakeQueue().service, workers: () => null } })

/** Starts the shop with one person of the staff, one customer, and what `rows` (SQL) adds. */
export const startShop = async (rows: string, parts: Partial<Parts> = {}): Promise<TestService> => {
  const service = await startEmpty([], parts)
  await service.database!.execute(`
    insert into shop.staff (id, tenant_id, name) values ('ann', 1, 'Ann');
    insert into shop.customers (tenant_id, name, email, country, city) values (1, 'Bo', 'bo@example.org', 'NO', 'Oslo');
    ${rows}
  `)
  return service
}
