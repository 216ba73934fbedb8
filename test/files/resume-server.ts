/** The service of the test of memory: one resource with a file field, on a folder that its parent names. It ends with its parent. */

import { listen } from "../../adapters/http/node.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { startService } from "../support/composed.ts"

export const config = defineConfig({
  resources: [defineResource("docs", {
    primaryKey: "id",
    fields: { id: f.integer().bits(64).readOnly().dbDefault(), file: f.file().optional().maxSize("6 GB") }
  })]
})

/** The service on a folder. */
export const startOn = (folder: string) =>
  startService("fake", { config, schema: "", rows: {} }, {
    parts: { fileSettings: { folder, data: folder, keys: () => null, retention: null } }
  })

const folder = process.env["RESUME_FOLDER"]
if (process.send !== undefined && folder !== undefined) {
  process.on("disconnect", () => process.exit(9))
  const { edge } = await startOn(folder)
  const { port } = await listen(edge, { port: 0, host: "127.0.0.1" })
  process.send({ port })
}
