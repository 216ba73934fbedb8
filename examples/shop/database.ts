/**
 * The tables of the example shop and what is in them: applies schema.sql, data.sql while the tables are empty, and indexes.sql. Rows that
 * are already there stay as they are, unless an account takes a seller's place.
 */

import { readFileSync } from "node:fs"
import { Client } from "pg"

const text = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8")

/**
 * Fresh statistics and a visibility map, which autovacuum would make a minute later. Until then counts would read the tables and not
 * their indexes.
 */
const settle = async (client: Client, tables: readonly string[]): Promise<void> => {
  await client.query(`vacuum (analyze) ${tables.map((table) => `shop.${table}`).join(", ")}`)
}

/** What was found or made. */
export interface ShopData {
  /** Orders of the shop served here, deleted ones included. */
  readonly orders: number
  readonly generated: boolean
}

/** Prepares the database that `url` names. Several processes may do so at once. The role must be allowed to create schemas. */
export const prepareShop = async (url: string, orders: number): Promise<ShopData> => {
  const client = new Client({ connectionString: url, application_name: "shop-example" })
  await client.connect()
  try {
    // The lock that schema.sql takes lasts until the commit, so only one process generates.
    await client.query(`begin;\n${text("schema.sql")}`)
    const found = await client.query<{ readonly empty: boolean }>(
      "select not exists (select from shop.customers) as empty"
    )
    const generated = found.rows[0]?.empty === true
    if (generated) {
      await client.query("select set_config('shop.orders', $1, true)", [String(orders)])
      await client.query(text("data.sql"))
    }
    await client.query(`${text("indexes.sql")}\ncommit`)
    if (generated) {
      await settle(client, ["staff", "customers", "products", "product_tags", "orders", "order_lines", "monthly_sales"])
    }
    const counted = await client.query<{ readonly count: string }>(
      "select count(*) from shop.orders where tenant_id = 1"
    )
    return { orders: Number(counted.rows[0]?.count), generated }
  } finally {
    await client.end()
  }
}

/** Makes an account the seller of what one of the generated sellers has sold, and takes that one's place in the staff. */
export const handOver = async (
  url: string,
  from: string,
  account: { readonly id: string; readonly name: string; readonly email: string }
): Promise<void> => {
  const client = new Client({ connectionString: url, application_name: "shop-example" })
  await client.connect()
  try {
    await client.query("begin")
    // The trigger on accounts made this row already, unless accounts live in another database.
    await client.query(
      "insert into shop.staff (id, name, email) values ($1, $2, $3) on conflict (id) do nothing",
      [account.id, account.name, account.email]
    )
    await client.query(
      "update shop.orders set owner_id = $2, updated_at = now() where tenant_id = 1 and owner_id = $1",
      [from, account.id]
    )
    await client.query("delete from shop.staff where id = $1", [from])
    await client.query("commit")
    await settle(client, ["orders", "order_lines"])
  } finally {
    await client.end()
  }
}
