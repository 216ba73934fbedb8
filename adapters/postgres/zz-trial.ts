import * as Effect from "effect/Effect"
import { makePostgres } from "./connection.ts"
import { makeRecords } from "./records.ts"
const field = (name: string, index: number, kind: string, more: object = {}) => ({ name, column: name, index, kind, bits: 64, max: null, precision: null, scale: null, values: null, relation: null, optional: false, readOnly: false, filterable: true, sortable: true, searched: false, sensitive: false, alias: null, default: null, system: false, ...more }) as any
const fields = [field("id",0,"integer"), field("tenant_id",1,"integer",{bits:32}), field("status",2,"enum",{values:["draft","paid","shipped","lost"]}), field("total",3,"decimal"), field("note",4,"text",{optional:true}), field("due",5,"timestamp",{optional:true}), field("created_at",6,"timestamp"), field("qty",7,"integer",{bits:32}), field("deleted_at",8,"timestamp",{optional:true})]
const model = { name: "orders", schema: null, table: "orders", fields, columns: fields, byName: new Map(fields.map((f: any) => [f.name, f])), key: [fields[0]], version: null } as any
const [id,tenant,status,total,note,due,created,qty,deleted] = fields
const live = { op: "null", field: deleted }
const bindings = { caller: { id: "u", tenant: "1" }, now: 0n, params: [] }
const tn = { op: "compare", field: tenant, is: "=", value: { of: "caller", value: "tenant" } }
const shape = (order: any[], where: any = { op: "and", items: [tn, live] }, columns = fields) => ({ model, columns, where, order: order.map(([f, d]: any) => ({ field: f, descending: d })), limit: 51, checks: [] }) as any
const time = async (name: string, f: () => Promise<any>) => { const t = performance.now(); const r = await f(); console.log(name, (performance.now() - t).toFixed(1), "ms", Array.isArray(r) ? r.length + " " + JSON.stringify(r[0]) + " .. " + JSON.stringify(r.at(-1)) : r) ; return r }
await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  const pg = yield* makePostgres({ url: "postgres://postgres@/trial?host=/tmp/pgtrial&port=5418" })
  const r = makeRecords(pg)
  const run = (e: any) => Effect.runPromise(e) as Promise<any>
  yield* Effect.promise(async () => {
    for (const order of [[[created,true],[id,true]], [[due,false],[id,false]], [[due,true],[id,true]], [[due,true],[id,false]], [[status,false],[due,false],[id,true]]]) {
      const s = shape(order)
      const page = await time("first", () => run(r.page({ shape: s, bindings } as any)))
      const pos = (row: any) => order.map(([f]: any) => row[f.index])
      const second = await time("after", () => run(r.page({ shape: s, bindings, after: pos(page.at(-1)) } as any)))
      const back = await time("before", () => run(r.page({ shape: s, bindings, before: pos(second[0]) } as any)))
      console.log(JSON.stringify(back) === JSON.stringify(page))
      console.log(await run(r.estimate({ shape: s, bindings } as any)))
    }
    const all = shape([[created,false],[id,false]], { op: "true" })
    for (const offset of [10, 900000]) for (let i = 0; i < 2; i++) await time("offset " + offset, () => run(r.page({ shape: all, bindings, offset } as any)))
    console.log(await run(r.estimate({ shape: all, bindings, offset: 900000 } as any)))
    const c = { op: "contains", field: note, text: "ABC12" }
    await time("count", () => run(r.count({ model, where: { op: "and", items: [tn, live] }, bindings, cap: 10001 } as any)))
    await time("count contains", () => run(r.count({ model, where: c, bindings, cap: null } as any)))
    console.log(await run(r.estimate({ model, where: c, bindings, cap: null } as any)))
    console.log(await run(r.estimate({ model, where: { op: "compare", field: qty, is: "=", value: { of: "literal", text: "77" } }, bindings, cap: null } as any)))
    console.log(await run(r.estimate({ shape: shape([[id,false]], { op: "compare", field: qty, is: "=", value: { of: "literal", text: "77" } }), bindings } as any)))
    await time("similar", () => run(r.count({ model, where: { op: "similar", field: note, text: "note c4ca4238a0b923820dcc509a6f75849b" }, bindings, cap: null } as any)))
    await time("regex", () => run(r.count({ model, where: { op: "regex", field: note, pattern: "c4ca.*9b$" }, bindings, cap: null } as any)).catch((e) => e.reason))
    await time("facets", () => run(r.aggregate({ of: "facets", model, field: status, where: live, limit: 50, bindings } as any)))
    await time("series", () => run(r.aggregate({ of: "series", model, field: created, where: live, granularity: "month", timeZone: "Europe/Berlin", from: null, to: null, measure: { of: "sum", field: total }, limit: 50, bindings } as any)))
    await time("histogram", () => run(r.aggregate({ of: "histogram", model, field: total, where: live, buckets: 10, bindings } as any)))
  })
})))
