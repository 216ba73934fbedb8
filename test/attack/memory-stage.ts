/** Tables of big records, for requests that would fill the memory of a process. */

import { compileOrThrow } from "../../composition/create-admin.ts"
import { historyMigrations } from "../../composition/migrations.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import { history } from "../../core/domain/declare/history.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { deep } from "../support/depth.ts"

const mebibyte = 1024 * 1024

/**
 * Sizes of a deep run are the defaults of the service. Those of a quick run are smaller, in about the same proportions. Its answers are still longer than
 * the 8 MiB that every connection reads.
 */
export const sizes = deep
  ? { heapMegabytes: 512, bigBytes: 1_900_000, maxAnswerBytes: 32 * mebibyte, maxBatchBytes: 64 * mebibyte }
  : {
    heapMegabytes: 256,
    bigBytes: 190_000,
    maxAnswerBytes: 9 * mebibyte,
    maxBatchBytes: 18 * mebibyte
  }

const { bigBytes, maxAnswerBytes, maxBatchBytes } = sizes

const fields = () => ({
  id: f.integer().filterable(),
  place: f.integer().sortable().optional(),
  text: f.text().filterable().optional()
})
/** Without a version column: the ETag is made of what can be read. */
const papers = defineResource("papers", { primaryKey: "id", fields: fields() })
const tracked = defineResource("tracked", { primaryKey: "id", fields: fields() })
const links = defineResource("links", {
  primaryKey: "id",
  fields: { id: f.integer(), paper_id: relation("papers").as("paper").filterable() }
})

export const config = defineConfig({
  resources: [papers, tracked, links],
  extends: [history({ resources: ["tracked"] })],
  // The batches of a test wait for each other's rows. On a busy machine this takes longer than the default limit, and is not what is tested.
  options: { scanGuard: { mode: "off" }, statementTimeoutMs: 100_000, maxAnswerBytes, maxBatchBytes }
})

/** The tables without records. */
export const tables = `
create table papers (id integer primary key, place integer, text text);
create table tracked (id integer primary key, place integer, text text);
create table links (id integer primary key, paper_id integer references papers);
create index on links (paper_id);
${historyMigrations(compileOrThrow(config)).map(({ statements }) => statements).join("\n")}
`

export const schema = `${tables}
insert into papers select i, i, repeat('x', ${bigBytes}) from generate_series(1, 500) i;
insert into tracked select i, i, repeat('x', ${bigBytes}) from generate_series(1, 100) i;
insert into links select i, 101 + i % 400 from generate_series(1, 500) i;
`
