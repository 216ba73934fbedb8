import { describe, expect, it } from "vitest"
import { fieldsOfTitle, fillTitle, restrictTitle, suggestTitle, type TitleField } from "./title.ts"

const field = (name: string, more: Partial<TitleField> = {}): TitleField => ({
  name,
  kind: "text",
  relation: null,
  optional: false,
  searched: false,
  sensitive: false,
  file: null,
  ...more
})
const suggest = (resource: string, ...fields: ReadonlyArray<string | TitleField>) =>
  suggestTitle(resource, fields.map((each) => typeof each === "string" ? field(each) : each), new Set(["id"]))

describe("a title that nobody declared", () => {
  it.each([
    ["artists", ["id", "bio", "name"], "name"],
    ["people", ["id", "email", "first_name", "last_name"], "{first_name} {last_name}||{email}"],
    ["employees", ["id", "title", "lastName", "firstName"], "{firstName} {lastName}||{title}"],
    ["people", ["id", "first_name", "email"], "email"],
    ["products", ["id", "quantity_per_unit", "product_name"], "product_name"],
    ["categories", ["id", "description", "category_name"], "category_name"],
    ["customers", ["id", "contact_name", "company_name"], "company_name"],
    ["albums", ["id", "title"], "title"],
    ["tickets", ["id", "body", "subject"], "subject"],
    ["users", ["id", "username", "email"], "email"],
    ["countries", ["id", "code"], "code"],
    ["members", ["id", "Vorname", "E-Mail", "VollerName", "Nachname"], "VollerName"],
    ["members", ["id", "Vorname", "E-Mail", "Nachname"], "{Vorname} {Nachname}||{E-Mail}"],
    ["tables", ["id", "Remark", "PlateName"], "PlateName"],
    ["albums", ["id", "artist_name", "title"], "title"],
    ["runs", ["id", "table_name", "file_name"], null],
    ["orders", ["id", "ship_via"], null],
    ["codes", ["id"], null]
  ])("of %s with %j is %j", (resource, names, title) => {
    expect(suggest(resource, ...names)).toBe(title)
  })

  it("is the first searched text where no name is known", () => {
    expect(suggest("notes", "origin", field("body", { searched: true }), field("more", { searched: true }))).toBe(
      "body"
    )
  })

  it("is no remark that most records lack", () => {
    const note = field("note", { searched: true, optional: true })
    expect(suggest("orders", note)).toBeNull()
    expect(suggest("images", field("imageable_type", { searched: true }), field("imageable_id", { kind: "integer" })))
      .toBeNull()
    expect(suggest("orders", note, field("mark", { searched: true, optional: true, max: 40 }))).toBe("mark")
  })

  it("is not where something is sent or billed to, and is an address of what has no other name", () => {
    const text = (name: string) => field(name, { searched: true, optional: true, max: 70 })
    expect(suggest("invoice", field("customer_id", { kind: "integer", relation: "customer" }), text("BillingAddress")))
      .toBeNull()
    expect(suggest("orders", text("ship_name"), text("ship_address"))).toBeNull()
    expect(suggest("address", text("address"), text("district"))).toBe("{address}||{district}")
  })

  it("has one that stands in for it where it may be missing", () => {
    const name = field("name", { optional: true })
    expect(suggest("users", name, "email", "username")).toBe("{name}||{email}")
    expect(suggest("users", name)).toBe("name")
    expect(suggest("users", "name", "email")).toBe("name")
  })

  it("is never the key, a secret, a file or a number", () => {
    expect(suggestTitle("countries", [field("code")], new Set(["code"]))).toBeNull()
    expect(suggest("users", field("name", { sensitive: true }))).toBeNull()
    expect(suggest("files", field("name", { file: {} }), field("title", { kind: "json" }))).toBeNull()
  })

  it("of a table that joins two others is both, and of one that says more is its own", () => {
    const one = field("playlist_id", { kind: "integer", relation: "playlists" })
    const other = field("track_id", { kind: "integer", relation: "tracks" })
    expect(suggest("playlist_tracks", one, other, field("position", { kind: "integer" }))).toBe(
      "{playlist_id} · {track_id}"
    )
    expect(suggest("playlist_tracks", one, other, "name")).toBe("name")
    expect(suggest("playlist_tracks", one, other, "remark")).toBeNull()
    expect(suggest("invoices", one)).toBeNull()
  })
})

describe("a title of several fields", () => {
  const fill = (title: string, values: Readonly<Record<string, string>>) =>
    fillTitle(title, (name) => values[name] ?? "")

  it.each([
    ["name", { name: "Ann" }, "Ann"],
    ["{first} {last}", { first: "Ann", last: "Lee" }, "Ann Lee"],
    ["{first} {last}", { last: "Lee" }, "Lee"],
    ["{first} {last}", { first: "Ann" }, "Ann"],
    ["{first} {last}", {}, ""],
    ["{a}, {b} and {c}", { a: "1", c: "3" }, "1 and 3"],
    ["No. {number}", { number: "7" }, "No. 7"],
    ["No. {number}", {}, ""],
    ["{name} ({code})", { name: "Oslo", code: "OSL" }, "Oslo (OSL)"],
    ["{name} ({code})", { name: "Oslo" }, "Oslo"],
    ["{name}||{email}", { name: "Ann", email: "a@x" }, "Ann"],
    ["{name}||{email}", { email: "a@x" }, "a@x"],
    ["{first} {last}||{login}", { login: "ann" }, "ann"],
    ["name||{email}", {}, ""]
  ])("%j with %j is %j", (title, values, text) => {
    expect(fill(title, values)).toBe(text)
  })

  it("loses what somebody does not see", () => {
    expect(restrictTitle("{first} {last}", (name) => name === "last")).toBe("last")
    expect(restrictTitle("{a}, {b} and {c}", (name) => name !== "b")).toBe("{a} and {c}")
    expect(restrictTitle("name", (name) => name === "name")).toBe("name")
    expect(restrictTitle("{first} {last}", () => false)).toBeNull()
    expect(restrictTitle("{name}||{email}", (name) => name === "email")).toBe("email")
    expect(restrictTitle("{first} {last}||{email}", (name) => name !== "first")).toBe("{last}||{email}")
  })

  it("names each of its fields once", () => {
    expect(fieldsOfTitle("{a} {b} {a}")).toEqual(["a", "b"])
    expect(fieldsOfTitle("name")).toEqual(["name"])
  })
})
