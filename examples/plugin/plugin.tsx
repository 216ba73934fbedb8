/** The example plugin: a map for countries, stars for numbers, a page over both, and an action. */

import { definePlugin } from "resource-admin/plugin"
import { Countries } from "./countries.tsx"
import { MapCell } from "./map.tsx"
import { RatingCell, RatingInput } from "./rating.tsx"

export default definePlugin({
  cells: { map: MapCell, rating: RatingCell },
  inputs: { rating: RatingInput },
  pages: { countries: Countries },
  actions: {
    restock: async ({ confirm, notify, records, resource }) => {
      if (!await confirm("Order twenty more?")) return
      for (const { etag, id, stock } of records) {
        await resource.update(String(id), { stock: Number(stock) + 20 }, { etag: String(etag) })
      }
      notify("Twenty more.")
    }
  }
})
