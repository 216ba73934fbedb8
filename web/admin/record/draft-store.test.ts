import { expect, it, vi } from "vitest"

vi.hoisted(() => vi.stubGlobal("document", { documentElement: { dataset: {} } }))
const { storable } = await import("./draft-store.ts")

const photo = {
  uri: "local:products/1.png?name=a.png",
  name: "a.png",
  type: "image/png",
  size: 12,
  url: "/api/files/1?sig=secret",
  variants: { small: { url: "/api/files/1s?sig=secret" } }
}
const files = (resource: string) => new Set(resource === "products" ? ["photo", "photos"] : ["scan"])

it("keeps values and versions, but no links of files and no related records", () => {
  const kept = storable(
    {
      base: {
        etag: "e1",
        name: "Chair",
        photo,
        photos: [photo],
        data: { uri: "u", url: "theirs" },
        expand: { maker: {} }
      },
      drafts: { name: { value: "Bench", problem: null } },
      rows: {
        lines: {
          resource: "lines",
          field: "product_id",
          value: "1",
          added: [],
          changed: {
            "5": {
              record: { etag: "e5", quantity: 1, scan: photo, expand: { product: { secret: true } } },
              drafts: { quantity: { value: 2, problem: null } },
              removed: false
            }
          }
        }
      }
    },
    "products",
    files
  )
  const bare = { uri: photo.uri, name: "a.png", type: "image/png", size: 12 }
  expect(kept.base).toEqual({
    etag: "e1",
    name: "Chair",
    photo: bare,
    photos: [bare],
    data: { uri: "u", url: "theirs" }
  })
  expect(kept.rows["lines"]!.changed["5"]!.record).toEqual({ etag: "e5", quantity: 1, scan: bare })
  expect(JSON.stringify(kept)).not.toMatch(/secret|expand/)
})

it("keeps no file on its way, which never arrives in another page, but those of a list that have arrived", () => {
  const drafts = {
    name: { value: undefined, problem: "Needs a value." },
    photo: { value: undefined, problem: "A file is on its way.", waits: true },
    photos: { value: ["arrived"], problem: "A file is on its way.", waits: true }
  }
  expect(storable({ base: {}, drafts, rows: {} }, "products", files).drafts).toEqual({
    name: drafts.name,
    photos: { value: ["arrived"], problem: null }
  })
})
