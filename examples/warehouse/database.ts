/** The database of the example warehouse: one of its own, beside the shop's on the same server. */

import { readFileSync } from "node:fs"
import { Client } from "pg"

const name = "warehouse"

/** The same server, another database. */
const withDatabase = (url: string): string => {
  const [, before = "", , after = ""] = /^(postgres(?:ql)?:\/\/[^/]*\/)([^?]*)(.*)$/.exec(url) ?? []
  if (before === "") throw new Error("The database's URL names no database.")
  return `${before}${name}${after}`
}

const using = async (url: string, work: (client: Client) => Promise<void>): Promise<void> => {
  const client = new Client({ connectionString: url, application_name: "warehouse-example" })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** Makes the database and its tables where they are not there yet; gives its URL. The role must be allowed to create databases. */
export const prepareWarehouse = async (url: string): Promise<string> => {
  await using(url, async (client) => {
    const { rowCount } = await client.query("select from pg_database where datname = $1", [name])
    if (rowCount === 0) await client.query(`create database ${name}`)
  })
  const own = withDatabase(url)
  await using(own, async (client) => {
    await client.query(`begin;\n${readFileSync(new URL("schema.sql", import.meta.url), "utf8")}\ncommit`)
  })
  return own
}
