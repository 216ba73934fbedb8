/** What the browser entries weigh, as a bundler makes them: the client at most 10 KB gzip, the hooks at most 6 KB beyond their peers and the client. */

import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { build } from "vite"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "../..")

const bundle = async (entry: string, external: readonly RegExp[]): Promise<ReadonlyMap<string, number>> => {
  const name = "virtual:entry"
  const result = await build({
    root,
    configFile: false,
    logLevel: "silent",
    resolve: { conditions: ["source"] },
    plugins: [{
      name: "entry",
      resolveId: (id) => id === name ? id : null,
      load: (id) => id === name ? `export * from ${JSON.stringify(join(root, entry))}` : null
    }],
    build: {
      write: false,
      minify: true,
      target: "es2022",
      rolldownOptions: {
        input: name,
        preserveEntrySignatures: "strict",
        external: [...external],
        // How Vite loads a part is a matter of Vite: an app has that once.
        output: { manualChunks: (id: string) => id.includes("vite/preload-helper") ? "vite" : undefined }
      }
    }
  })
  if (!("output" in result)) throw new Error("One build gives one result.")
  return new Map(result.output.map((each) => {
    const content = each.type === "chunk" ? each.code : each.source
    return [each.fileName.replace(/.*\/|-[\w-]{8}\.js$/g, ""), gzipSync(content, { level: 9 }).length]
  }))
}

it("the client", async () => {
  const sizes = await bundle("web/client/index.ts", [])
  // The worker of public forms and uploads are files of their own, loaded with the first form, the first file and the first one to a bucket.
  expect([...sizes.keys()].sort()).toEqual(["direct", "upload", "virtual_entry", "vite", "worker"])
  expect(sizes.get("virtual_entry")).toBeGreaterThan(4_000)
  expect(sizes.get("virtual_entry")).toBeLessThanOrEqual(10_000)
  expect(sizes.get("worker")).toBeLessThanOrEqual(1_200)
  expect(sizes.get("upload")).toBeLessThanOrEqual(2_500)
  expect(sizes.get("direct")).toBeLessThanOrEqual(1_200)
})

it("the hooks", async () => {
  const sizes = await bundle("web/react/index.ts", [
    /^react/,
    /^@tanstack\//,
    /web\/client\/index\.ts$|\.\.\/client\/index\.ts$/
  ])
  expect([...sizes.keys()]).toEqual(["virtual_entry"])
  expect(sizes.get("virtual_entry")).toBeGreaterThan(1_000)
  expect(sizes.get("virtual_entry")).toBeLessThanOrEqual(6_000)
})
