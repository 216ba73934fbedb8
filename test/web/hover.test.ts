/**
 * What an editor shows over calls of the client, as the language service of the compiler says it: records by their fields, filters by what may be filtered, and
 * short names for everything that stands for the configuration.
 */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, expect, it } from "vitest"

const root = join(import.meta.dirname, "../..")
// Below the project, so that the package finds itself by name.
const folder = join(root, "node_modules", ".cache", `hover-${process.pid}`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Answer {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly items: readonly unknown[] }
  readonly result?: { readonly contents?: { readonly value: string } } | null
}

/** The language service over its standard input and output (LSP 3.17, Base Protocol). */
const startService = () => {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc")
  const child = spawn(process.execPath, [compiler, "--lsp", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] })
  const waiting = new Map<number, (answer: Answer) => void>()
  const send = (message: object): void => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }
  let rest = Buffer.alloc(0)
  child.stdout.on("data", (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      const head = rest.indexOf("\r\n\r\n")
      const length = Number(/Content-Length: (\d+)/i.exec(rest.toString("latin1", 0, Math.max(0, head)))?.[1])
      if (head === -1 || rest.length < head + 4 + length) return
      const answer = JSON.parse(rest.toString("utf8", head + 4, head + 4 + length)) as Answer
      rest = rest.subarray(head + 4 + length)
      if (answer.id === undefined) continue
      // It asks for settings, of which there are none.
      if (answer.method !== undefined) send({ id: answer.id, result: answer.params?.items?.map(() => null) ?? null })
      else waiting.get(answer.id)?.(answer)
    }
  })
  let last = 0
  const service = {
    send,
    ask: (method: string, params: object): Promise<Answer> =>
      new Promise((resolve) => {
        waiting.set(++last, resolve)
        send({ id: last, method, params })
      }),
    stop: async () => {
      const ended = once(child, "exit")
      await service.ask("shutdown", {})
      service.send({ method: "exit" })
      await ended
    }
  }
  return service
}

/** What is shown over the texts marked by `‹›`, in order. */
const hovers = async (name: string, marked: string): Promise<readonly string[]> => {
  const places: { readonly line: number; readonly character: number }[] = []
  const text = marked.split("\n").map((line, index) => {
    let plain = line
    for (let at = plain.indexOf("‹"); at !== -1; at = plain.indexOf("‹")) {
      places.push({ line: index, character: at })
      plain = plain.replace("‹", "").replace("›", "")
    }
    return plain
  }).join("\n")
  mkdirSync(folder, { recursive: true })
  const file = join(folder, name)
  writeFileSync(file, text)
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: join(root, "tsconfig.json"), include: ["*.ts"], exclude: [] })
  )
  const service = startService()
  try {
    const uri = pathToFileURL(file).href
    await service.ask("initialize", {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: { textDocument: { hover: { contentFormat: ["plaintext"] } } }
    })
    service.send({ method: "initialized", params: {} })
    service.send({
      method: "textDocument/didOpen",
      params: { textDocument: { uri, languageId: "typescript", version: 1, text } }
    })
    const shown: string[] = []
    for (const position of places) {
      const { result } = await service.ask("textDocument/hover", { textDocument: { uri }, position })
      shown.push(result?.contents?.value ?? "")
    }
    return shown
  } finally {
    await service.stop()
  }
}

const calls = `
const orders = ‹client›.resource("orders")
const ‹page› = await ‹orders›.list({ filter: (‹o›) => o.‹status›.eq("paid") })
const ‹order› = await orders.get("1")
const ‹some› = order.‹status›
const ‹part› = await orders.get("1", { fields: ["id", "total"] })
const made = await orders.‹create›({ customer_id: "1", ship_country: "NO" })
const changed = await orders.‹update›("1", { note: "x" }, { etag: "*" })
void [page, some, part, made, changed]
`

const status = `"cancelled" | "draft" | "paid" | "pending" | "refunded" | "shipped"`

/** What holds however the configuration is named: values are shown by what they are. */
const expectValues = ([, page, , o, condition, order, some, member, part]: readonly string[]): void => {
  for (const record of [page, order]) {
    expect(record).toContain(`readonly status: ${status};`)
    expect(record).toContain("readonly total: string;")
    expect(record).toContain("readonly deleted_at: string | null;")
    expect(record!.split("\n").length).toBeLessThan(25)
    expect(record).not.toMatch(/FieldBuilder|TypedConfig|FieldsOf/)
  }
  expect(o).toMatch(/^\(parameter\) o: \{\n(?: {4}readonly \w+: (?:Ordered|Choice)<.+>;\n){10}\}/)
  expect(condition).toContain(`status: Choice<${status}>`)
  expect(some).toContain(`const some: ${status}`)
  expect(member).toContain(`(property) status: ${status}`)
  expect(part).toMatch(/const part: \{\n {4}readonly id: string;\n {4}readonly total: string;\n\} & RecordExtras & /)
}

it("is short over everything, where the configuration has a name of its own", async () => {
  const shown = await hovers(
    "named.ts",
    `import { createClient } from "../../../web/client/index.ts"
import type config from "../../../examples/shop/admin.config.ts"
type Config = typeof config
interface Shop extends Config {}
const client = createClient<Shop>({ baseUrl: "http://x" })
${calls}`
  )
  expectValues(shown)
  const [client, , orders, , , , , , , create, update] = shown
  expect(client).toContain("const client: Client<Shop>")
  expect(orders).toContain(`const orders: ResourceClient<Shop, "orders">`)
  expect(create).toMatch(
    /ResourceClient<Shop, "orders">\.create: \(data: \{\n {4}readonly channel\?: "phone" \| "store" \| "web";/
  )
  expect(create).toContain("readonly customer_id: string;")
  expect(update).toContain(`update: (key: KeyOf<Shop, "orders">, data: {`)
  for (const each of shown) expect(each.length).toBeLessThan(1_500)
})

it("is readable over values, and bounded over everything, with typeof config alone", async () => {
  const shown = await hovers(
    "inline.ts",
    `import { createClient } from "../../../web/client/index.ts"
import type config from "../../../examples/shop/admin.config.ts"
const client = createClient<typeof config>({ baseUrl: "http://x" })
${calls}`
  )
  expectValues(shown)
  const [, , orders] = shown
  expect(orders!.split("\n").length).toBeLessThan(25)
  for (const each of shown) expect(each.length).toBeLessThan(2_500)
})
