import { describe, expect, it } from "vitest"
import { metaField, related } from "../../../test/support/related.ts"
import { printLayout, readLayout, sameLayout } from "./layout.ts"

const shop = related.resources.get("orders")!
const orders = {
  ...shop,
  may: { ...shop.may, read: true },
  fields: new Map([
    ...shop.fields,
    ...[
      metaField("due_on", "date"),
      metaField("created_at", "timestamp"),
      metaField("secret_on", "date", { filterable: false }),
      metaField("scan", "file", { file: { accept: ["image/png"] }, filterable: false }),
      metaField("contract", "file", { file: { accept: ["application/pdf"] } })
    ].map((field) => [field.name, field] as const)
  ])
}

const read = (text: string) => readLayout(new URLSearchParams(text), orders)
const printed = (text: string) =>
  new URLSearchParams(
    Object.entries(printLayout(read(text))).flatMap(([name, value]) => value === null ? [] : [[name, value]])
  )

describe("the layout of an address", () => {
  it.each([
    ["", null],
    ["layout=board&by=status", { of: "board", by: "status" }],
    ["layout=board&by=customer_id&limits=7:20", { of: "board", by: "customer_id", limits: { 7: 20 } }],
    ["layout=calendar&by=due_on,created_at", { of: "calendar", by: ["due_on", "created_at"] }],
    ["layout=calendar&by=due_on&span=week", { of: "calendar", by: ["due_on"], span: "week" }],
    ["layout=gallery&by=scan", { of: "gallery", by: "scan" }],
    ["group=status,customer.country", { of: "list", group: ["status", "customer.country"] }],
    ["group=month(created_at),year(due_on)&folded=2026-11-01/2026-01-01", {
      of: "list",
      group: ["month(created_at)", "year(due_on)"],
      folded: ["2026-11-01/2026-01-01"]
    }],
    ["group=note&folded=*,%21,a%252Cb", { of: "list", group: ["note"], folded: ["*", "!", "a%2Cb"] }]
  ])("%s is read, and printed as it was", (text, layout) => {
    expect(read(text)).toEqual(layout)
    expect(read(String(printed(text)))).toEqual(layout)
  })

  it.each([
    ["board", "id"],
    ["board", "hidden"],
    ["board", "customer.country"],
    ["calendar", "status"],
    ["calendar", "secret_on"],
    ["gallery", "contract"],
    ["gallery", "hidden"],
    ["pie", "status"]
  ])("layout=%s&by=%s is none", (layout, by) => {
    expect(read(`layout=${layout}&by=${by}`)).toBeNull()
  })

  it("leaves out what the resource does not allow, and what is too much", () => {
    expect(read("layout=calendar&by=hidden,due_on,due_on,created_at,secret_on&span=year")).toEqual({
      of: "calendar",
      by: ["due_on", "created_at"]
    })
    expect(read("group=month(status),hour(created_at),day(hidden),week(secret_on)")).toBeNull()
    expect(read("group=hidden,customer.secret,lines.quantity,customer.photo,status,note,id")).toEqual({
      of: "list",
      group: ["status", "note"]
    })
  })

  it("keeps what names a group, and nothing else, at most two hundred times", () => {
    expect(read("group=note&folded=,a b,ü,a,a")).toEqual({ of: "list", group: ["note"], folded: ["a"] })
    const many = read(`group=note&folded=${Array.from({ length: 300 }, (_, at) => at).join()}`)
    expect(many?.of === "list" && many.folded?.length).toBe(200)
    expect(read("layout=board&by=status&folded=a")).toEqual({ of: "board", by: "status" })
  })

  it("keeps limits of values with any sign, and no others", () => {
    const limits = { "a:b,c%": 3, paid: 1 }
    const { limits: text } = printLayout({ of: "board", by: "status", limits })
    expect(read(`layout=board&by=status&limits=${encodeURIComponent(text!)}`)).toEqual({
      of: "board",
      by: "status",
      limits
    })
    expect(read("layout=board&by=status&limits=a:0,b:-1,c:x,%25E0:5,,d:7654321")).toEqual({ of: "board", by: "status" })
  })

  it("is compared by what it says", () => {
    expect(sameLayout(null, read("layout=board&by=hidden"))).toBe(true)
    expect(sameLayout(read("group=status"), read("layout=board&by=status"))).toBe(false)
    expect(sameLayout({ of: "list", group: ["status"] }, read("group=status"))).toBe(true)
  })
})
