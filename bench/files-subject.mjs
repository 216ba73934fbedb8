// The service under measurement of bench/files.ts: files on disk, pictures with variants, and one table with and without its file fields. It is
// started with PORT, DATABASE_URL, KEY_SET and FOLDER, and says "up" once it answers.
import { defineConfig, defineResource, f, localFiles } from "resource-admin"
import { sharpImages } from "resource-admin/images"
import { serve } from "./serving.mjs"

const id = f.integer().bits(64).readOnly().dbDefault().sortable()

const common = {
  id,
  name: f.text().filterable(),
  status: f.enum(["draft", "paid", "shipped"]).filterable(),
  total: f.decimal({ precision: 12, scale: 2 }),
  note: f.text().optional(),
  created_at: f.timestamp().readOnly().dbDefault()
}

await serve(defineConfig({
  resources: [
    defineResource("documents", { primaryKey: "id", fields: { id, file: f.file().optional().maxSize("200 MB") } }),
    defineResource("pictures", {
      primaryKey: "id",
      fields: {
        id,
        image: f.file().optional().accept(["image/*"]).placeholder("hash")
          .variants({ card: { width: 400, height: 300, fit: "cover" }, full: { width: 1600 } }),
        hash: f.text().readOnly().optional()
      }
    }),
    defineResource("plain", { table: "items", primaryKey: "id", fields: common }),
    defineResource("filed", {
      table: "items",
      primaryKey: "id",
      fields: { ...common, image: f.file().optional(), paper: f.file().optional() }
    })
  ],
  files: {
    imageProcessor: sharpImages(),
    providers: { private: localFiles({ dir: `${process.env.FOLDER}/private` }) }
  }
}))
