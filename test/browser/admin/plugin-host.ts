/** Somewhere that plugins are loaded from: a server of files on another port, among them the example plugin as its own command builds it. */

import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { build } from "vite"

export interface PluginHost {
  readonly origin: string
  /** What is served, by path. A file that hangs gets no answer. */
  readonly files: Map<string, Served | "hangs">
  /** Paths that were asked for. */
  readonly asked: readonly string[]
  /** Serves a plugin of one module from a folder of its own. */
  readonly plugin: (name: string, provides: object, code: string, more?: object) => void
  /** Serves the example from `/example/`. */
  readonly example: () => Promise<void>
  readonly close: () => Promise<unknown>
}

interface Served {
  readonly body: string
  readonly type?: string
  readonly status?: number
}

export const digestOf = (text: string): string => `sha384-${createHash("sha384").update(text).digest("base64")}`

/** The example's files, as its own command builds them. */
const buildExample = async (): Promise<ReadonlyMap<string, string>> => {
  const built = mkdtempSync(join(tmpdir(), "example-plugin-"))
  await build({
    configFile: join(import.meta.dirname, "../../../examples/plugin/vite.config.ts"),
    logLevel: "error",
    build: { outDir: built, emptyOutDir: true }
  })
  const manifest = readFileSync(join(built, "manifest.json"), "utf8")
  const { module } = JSON.parse(manifest) as { readonly module: string }
  const files = new Map([["manifest.json", manifest], [module, readFileSync(join(built, module), "utf8")]])
  rmSync(built, { recursive: true, force: true })
  return files
}

/** Built once a process. */
let example: Promise<ReadonlyMap<string, string>> | undefined

export const startPluginHost = async (): Promise<PluginHost> => {
  const files: PluginHost["files"] = new Map()
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? "/"
    asked.push(path)
    const file = files.get(path)
    if (file === "hangs") return
    const type = path.endsWith(".js") ? "text/javascript" : "application/json"
    response.writeHead(file === undefined ? 404 : file.status ?? 200, {
      "content-type": file?.type ?? type,
      "access-control-allow-origin": "*"
    }).end(file?.body ?? "")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    files,
    asked,
    plugin: (name, provides, code, more = {}) => {
      files.set(`/${name}/module.js`, { body: code })
      files.set(`/${name}/manifest.json`, {
        body: JSON.stringify({
          name,
          version: "1",
          module: "module.js",
          integrity: digestOf(code),
          provides,
          ...more
        })
      })
    },
    example: async () => {
      for (const [name, body] of await (example ??= buildExample())) files.set(`/example/${name}`, { body })
    },
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    }
  }
}
