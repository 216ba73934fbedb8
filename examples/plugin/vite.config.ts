/** Builds the plugin into `dist`: one module, and the manifest beside it. `npx vite build examples/plugin`. */

import { defaultClientConditions, defineConfig } from "vite"
// In a project of your own: "resource-admin/plugin/vite".
import { adminPlugin } from "../../web/plugin/vite.ts"

export default defineConfig({
  root: import.meta.dirname,
  // This repository is built from its sources.
  resolve: { conditions: ["source", ...defaultClientConditions] },
  build: { outDir: "dist", emptyOutDir: true },
  // `npx vite preview examples/plugin` serves it: the app's page must be allowed to read it.
  preview: { port: 5180, strictPort: true, cors: true },
  plugins: [
    adminPlugin({
      entry: "plugin.tsx",
      name: "example",
      version: "1.0.0",
      provides: {
        cells: ["map", "rating"],
        inputs: ["rating"],
        pages: { countries: "Countries" },
        actions: { restock: { label: "Order twenty more", resources: ["products"] } }
      }
    })
  ]
})
