// What the same work costs when it is written by hand: node:http, pg, one prepared statement per case, no framework. It does what the service
// promises for each request (verified tokens, an ETag and permissions per record, reads that are read-only and end at a timeout, If-Match under
// a row lock, batches that are written one by one) and nothing that could be configured. Started by bench/run.ts; says "up" once it answers.
import { createPublicKey, hash, verify } from "node:crypto"
import { createServer } from "node:http"
import pg from "pg"

const publicKey = createPublicKey(process.env.PUBLIC_KEY)
const isoFromText = (text) => `${text.slice(0, 10)}T${text.slice(11, -3)}Z`
const types = {
  getTypeParser: (oid) => oid === 1184 ? isoFromText : oid === 23 ? Number : (text) => text
}
const pool = (options) =>
  new pg.Pool({
    connectionString: process.env.DATABASE_URL,
    max: 10,
    types,
    options: `-c statement_timeout=15000 ${options}`
  })
const reads = pool("-c default_transaction_read_only=on")
const writes = pool("")

/** Claims of tokens that were verified, by token. */
const verified = new Map()

const callerOf = (request) => {
  const header = request.headers.authorization
  if (header === undefined || !header.startsWith("Bearer ")) return null
  let claims = verified.get(header)
  if (claims === undefined) {
    const [head, payload, signature] = header.slice(7).split(".")
    if (signature === undefined) return null
    if (JSON.parse(Buffer.from(head, "base64url")).alg !== "EdDSA") return null
    if (!verify(null, Buffer.from(`${head}.${payload}`), publicKey, Buffer.from(signature, "base64url"))) return null
    claims = JSON.parse(Buffer.from(payload, "base64url"))
    if (verified.size > 10_000) verified.clear()
    verified.set(header, claims)
  }
  return claims.exp * 1000 > Date.now() ? claims : null
}

const columns =
  "id, tenant_id, owner_id, customer_id, status, total, currency, note, created_at, updated_at, deleted_at"
const shown = "id, tenant_id, owner_id, customer_id, status, total, currency, created_at, updated_at"
const line = "l.id, l.order_id, l.product_id, l.quantity, l.price"
const products = "lines l join products p on p.id = l.product_id and p.deleted_at is null"
const page = "order by created_at desc, id desc limit 51"
const live = "deleted_at is null"
const filtered = `${live} and status = $1::text::order_status and total > $2`
const statements = {
  get: `select ${columns} from orders where id = $1 and ${live}`,
  list: `select ${columns} from orders where ${filtered} ${page}`,
  after: `select ${columns} from orders where ${filtered} and (created_at, id) < ($3, $4) ${page}`,
  own: `select ${shown} from orders where ${filtered} and tenant_id = $3 and owner_id = $4 ${page}`,
  seek:
    `select ${columns} from orders join (select id from orders where ${live} order by created_at desc, id desc offset $1 limit 51) p using (id) ${page}`,
  search: `select ${columns} from orders where ${live} and note ilike $1 ${page}`,
  users: `select id, tenant_id from users where tenant_id = $1 order by id limit 51`,
  newest:
    `select u.id as "user", t.* from unnest($2::uuid[]) u(id) cross join lateral (select ${columns} from orders where ${live} and owner_id = u.id and tenant_id = $1 ${
      page.replace("51", "11")
    }) t`,
  related: `select ${line} from ${products} where p.category = $1 order by l.id limit 51`,
  sorted: `select ${line}, p.name as place from ${products} order by p.name, l.id limit 51`,
  sortedAfter:
    `select ${line}, p.name as place from ${products} where p.name >= $1 and (p.name > $1 or l.id > $2) order by p.name, l.id limit 51`,
  exists:
    `select ${columns} from orders o where ${live} and exists (select 1 from lines l where l.order_id = o.id and l.product_id = $1) ${page}`,
  categories:
    `select p.category, count(*) n, sum(l.quantity) sum from lines l left join products p on p.id = l.product_id and p.deleted_at is null where l.id >= $1 and l.id < $2 group by 1 order by 3 desc, 1 limit 51`,
  count: `select count(*) n from orders where ${filtered}`,
  facets:
    `select status as value, count(*) n from orders where ${live} and created_at >= $1 group by 1 order by 2 desc limit 50`,
  series:
    `select date_trunc('day', created_at, 'UTC') as start, count(*) n from orders where ${live} and created_at >= $1 and created_at < $2 group by 1 order by 1`,
  groups:
    `select currency, status, count(*) n, sum(total) sum, avg(total) avg from orders where ${live} and created_at >= $1 and created_at < $2 group by 1, 2 having sum(total) > $3 order by 4 desc, 1, 2 limit 51`,
  lock: `select ${columns} from orders where id = $1 and ${live} for update`,
  update: `update orders set note = $2, updated_at = clock_timestamp() where id = $1 returning ${columns}`,
  insert: `insert into orders (tenant_id, owner_id, customer_id, status, total, currency, note)
    values ($1, $2, $3, $4, $5, $6, $7) returning ${columns}`
}
const run = (client, name, values) => client.query({ name, text: statements[name], values })

const etagOf = (row) => `"${hash("sha1", row.updated_at, "base64url")}"`
const everyField = Object.fromEntries(columns.split(", ").map((column) => [column, "edit"]))

const send = (response, status, body, headers) => {
  const bytes = Buffer.from(body)
  response.writeHead(status, { "content-type": "application/json", "content-length": bytes.length, ...headers })
  response.end(bytes)
}

const sendPage = (response, { rows }, more = "") => {
  const items = rows.slice(0, 50)
  for (const row of items) {
    row.etag = etagOf(row)
    row.permissions = { update: true, delete: true }
  }
  const last = items.at(-1)
  const token = rows.length > 50 ? Buffer.from(`${last.created_at},${last.id}`).toString("base64url") : ""
  send(response, 200, `{"items":${JSON.stringify(items)},"next_page_token":"${token}","total_size_estimate":0${more}}`)
}

/** Lines have no version: their tags are made of all they show. */
const sendLines = (response, { rows }) => {
  const last = rows[49]
  const token = rows.length > 50 ? Buffer.from(`${last.place},${last.id}`).toString("base64url") : ""
  const items = rows.slice(0, 50).map(({ id, order_id, price, product_id, quantity }) => ({
    id,
    order_id,
    product_id,
    quantity,
    price,
    etag: `"${hash("sha1", `${id} ${order_id} ${product_id} ${quantity} ${price}`, "base64url")}"`,
    permissions: { update: false, delete: false }
  }))
  send(response, 200, `{"items":${JSON.stringify(items)},"next_page_token":"${token}","total_size_estimate":0}`)
}

const bodyOf = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks))
}

const insert = (client, order) =>
  run(client, "insert", [
    order.tenant_id,
    order.owner_id,
    order.customer_id,
    order.status,
    order.total,
    order.currency,
    order.note
  ])

/** Runs a body in a transaction; its answer is sent after the commit, a refusal (a status) after the rollback. */
const inTransaction = async (body) => {
  const client = await writes.connect()
  try {
    await client.query("begin")
    const result = await body(client)
    await client.query(typeof result === "number" ? "rollback" : "commit")
    return result
  } finally {
    client.release()
  }
}

const read = async (caller, path, query, response) => {
  const from = (name) => query.get(name)
  switch (path) {
    case "/orders": {
      const values = [from("status"), from("min_total")]
      if (caller.role !== "admin") {
        return sendPage(response, await run(reads, "own", [...values, caller.tenant, caller.sub]))
      }
      if (query.has("after")) {
        const [created, id] = Buffer.from(from("after"), "base64url").toString().split(",")
        return sendPage(response, await run(reads, "after", [...values, created, id]))
      }
      if (from("count") !== "exact") return sendPage(response, await run(reads, "list", values))
      const [rows, count] = await Promise.all([run(reads, "list", values), run(reads, "count", values)])
      return sendPage(response, rows, `,"total_size":${count.rows[0].n}`)
    }
    case "/orders/seek":
      return sendPage(response, await run(reads, "seek", [from("position")]))
    case "/orders/search":
      return sendPage(response, await run(reads, "search", [`%${from("q").replace(/[%_\\]/g, "\\$&")}%`]))
    case "/users": {
      const tenant = from("tenant")
      const users = (await run(reads, "users", [tenant])).rows
      const shown = users.slice(0, 50)
      const { rows } = await run(reads, "newest", [tenant, shown.map(({ id }) => id)])
      const orders = Map.groupBy(rows, (row) => row.user)
      const items = shown.map((user) => {
        const own = orders.get(user.id) ?? []
        const newest = own.slice(0, 10).map(({ user: _user, ...row }) => ({ ...row, etag: etagOf(row) }))
        return {
          ...user,
          etag: `"${hash("sha1", `${user.id} ${user.tenant_id}`, "base64url")}"`,
          permissions: { update: false, delete: false },
          expand: { orders: { items: newest, more: own.length > 10 } }
        }
      })
      return send(response, 200, JSON.stringify({ items, next_page_token: users.length > 50 ? "more" : "" }))
    }
    case "/lines":
      return sendLines(response, await run(reads, "related", [from("category")]))
    case "/lines/sorted":
      return query.has("id")
        ? sendLines(response, await run(reads, "sortedAfter", [from("name"), from("id")]))
        : sendLines(response, await run(reads, "sorted", []))
    case "/lines/groups": {
      const { rows } = await run(reads, "categories", [from("from"), from("to")])
      const groups = rows.slice(0, 50).map(({ category, n, sum }) => ({
        group: { "product.category": category },
        measures: { count: Number(n), "sum(quantity)": sum }
      }))
      return send(response, 200, JSON.stringify({ groups, more: rows.length > 50 }))
    }
    case "/orders/exists":
      return sendPage(response, await run(reads, "exists", [from("product")]))
    case "/orders/facets": {
      const { rows } = await run(reads, "facets", [from("from")])
      const facets = rows.map((row) => ({ value: row.value, count: Number(row.n) }))
      return send(response, 200, JSON.stringify({ field: "status", facets }))
    }
    case "/orders/series": {
      const { rows } = await run(reads, "series", [from("from"), from("to")])
      const points = rows.map((row) => ({ start: row.start, value: Number(row.n) }))
      return send(response, 200, JSON.stringify({ field: "created_at", points }))
    }
    case "/orders/groups": {
      const { rows } = await run(reads, "groups", [from("from"), from("to"), from("least")])
      const groups = rows.slice(0, 50).map(({ avg, currency, n, status, sum }) => ({
        group: { currency, status },
        measures: { count: Number(n), sum, avg }
      }))
      return send(response, 200, JSON.stringify({ groups, more: rows.length > 50 }))
    }
    default: {
      const row = (await run(reads, "get", [path.slice("/orders/".length)])).rows[0]
      if (row === undefined) return send(response, 404, `{"status":404}`)
      const etag = etagOf(row)
      row.etag = etag
      row.permissions = { update: true, delete: true, fields: everyField }
      return send(response, 200, JSON.stringify(row), { etag })
    }
  }
}

const patch = async (id, match, { note }, response) => {
  if (match === undefined) return send(response, 428, `{"status":428}`)
  const row = await inTransaction(async (client) => {
    const stored = (await run(client, "lock", [id])).rows[0]
    if (stored === undefined) return 404
    if (match !== "*" && match !== etagOf(stored)) return 412
    return (await run(client, "update", [id, note])).rows[0]
  })
  if (typeof row === "number") return send(response, row, `{"status":${row}}`)
  row.etag = etagOf(row)
  send(response, 200, JSON.stringify(row), { etag: row.etag })
}

const handle = async (request, response) => {
  const caller = callerOf(request)
  if (caller === null) return send(response, 401, `{"status":401}`, { "www-authenticate": "Bearer" })
  const [path, query] = request.url.split("?", 2)
  if (request.method === "GET") return read(caller, path, new URLSearchParams(query), response)
  const body = await bodyOf(request)
  if (request.method === "PATCH") {
    return patch(path.slice("/orders/".length), request.headers["if-match"], body, response)
  }
  if (path === "/orders/batch") {
    const results = await inTransaction(async (client) => {
      const written = []
      for (const order of body.ops) {
        const [record] = (await insert(client, order)).rows
        written.push({ record, etag: etagOf(record) })
      }
      return written
    })
    return send(response, 200, JSON.stringify({ results }))
  }
  const [row] = (await insert(writes, body)).rows
  row.etag = etagOf(row)
  send(response, 201, JSON.stringify(row), { etag: row.etag, location: `/orders/${row.id}` })
}

createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error)
    send(response, 500, `{"status":500}`)
  })
}).listen(Number(process.env.PORT), "127.0.0.1", () => console.log("up"))
