/** A page of a test: one script, bundled as a site would bundle it, and the empty document that loads it. */

import { build } from "vite"

const bundle = async (script: string): Promise<ReadonlyMap<string, string>> => {
  const result = await build({
    root: new URL("../../", import.meta.url).pathname,
    configFile: false,
    logLevel: "error",
    base: "./",
    resolve: { conditions: ["source"] },
    define: { "process.env.NODE_ENV": "\"production\"" },
    worker: { format: "es" },
    build: {
      write: false,
      minify: false,
      target: "es2022",
      rolldownOptions: { input: script, output: { entryFileNames: "page.js" } }
    }
  })
  if (!("output" in result)) throw new Error("One build gives one result.")
  const files = new Map(result.output.map((each) => [
    each.fileName,
    each.type === "chunk"
      ? each.code
      : typeof each.source === "string"
      ? each.source
      : new TextDecoder().decode(each.source)
  ]))
  files.set(
    "index.html",
    "<!doctype html><meta charset=utf-8><title>Test</title><div id=app></div><script type=module src=page.js></script>"
  )
  return files
}

const bundled = new Map<string, Promise<ReadonlyMap<string, string>>>()

/** The page's files by name: `index.html`, its script and what that loads. They are served from one folder. A process bundles each script once. */
export const bundlePage = (script: string): Promise<ReadonlyMap<string, string>> => {
  const found = bundled.get(script) ?? bundle(script)
  bundled.set(script, found)
  return found
}
