/**
 * Where the admin app is, built or as its sources are now, and the routes that serve it as the options say. The service also works without
 * a built app: `/` then leads to the reference.
 */

import { existsSync } from "node:fs"
import { get } from "node:http"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { ExtraRoute } from "../adapters/http/handle.ts"
import { mailPath } from "../adapters/http/mail-page.ts"
import type { EdgeAnswer, EdgeHeaders } from "../adapters/http/request.ts"
import { hasWebApp, leadTo, webAppRoutes } from "../adapters/http/web-app.ts"
import type { LiveApp } from "../adapters/http/web-app.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { Provider } from "../core/domain/file/provider.ts"

/** The project's folder: of the checkout, or `dist` of the package. */
const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The build's script, which only a checkout has. */
const script = join(root, "scripts", "web.mjs")

/** The folder of the built app: beside this module's folder as the package has it, below `dist` in a checkout. */
export const webFolder: string = existsSync(script) ? join(root, "dist", "web", "app") : join(root, "web", "app")

/** What the build's script gives. */
interface Script {
  readonly ensureWeb: (say: (text: string) => void) => Promise<void>
  readonly serveWeb: (base: string) => Promise<{
    readonly port: number
    readonly page: (file: string) => Promise<string>
    readonly ready: () => Promise<unknown>
    readonly close: () => Promise<void>
  }>
}

const loadScript = async (): Promise<Script | null> =>
  existsSync(script) ? await import(pathToFileURL(script).href) : null

/** In a checkout: builds the app if its sources have changed since. In the package it is there already. */
export const ensureWebApp = async (say: (text: string) => void): Promise<void> => {
  await (await loadScript())?.ensureWeb(say)
}

/** What the browser is told of an answer of the bundler's server. */
const passedOn = ["content-type", "etag", "cache-control"] as const

/** Asks the bundler's server on this machine, with the headers of the browser's own request: some files depend on what they are for. */
const askBundler = (port: number, path: string, headers: EdgeHeaders): Promise<EdgeAnswer> =>
  new Promise((resolve, reject) => {
    const sent = Object.fromEntries(headers.entries())
    const asking = get({ host: "127.0.0.1", port, path, headers: { ...sent, host: `127.0.0.1:${port}` } }, (answer) => {
      const chunks: Buffer[] = []
      answer.on("data", (chunk: Buffer) => chunks.push(chunk)).once("error", reject).once("end", () => {
        resolve({
          status: answer.statusCode ?? 502,
          headers: Object.fromEntries(passedOn.flatMap((name) => {
            const value = answer.headers[name]
            return value === undefined ? [] : [[name, value]]
          })),
          body: answer.statusCode === 304 ? null : Buffer.concat(chunks)
        })
      })
    })
    asking.once("error", reject)
  })

/**
 * In a checkout: the app from its sources, at the path where it lives. Pages change as files do and keep what they hold. Null in the package,
 * which has no sources.
 */
export const openLiveApp = async (path: string): Promise<LiveApp & { readonly close: () => Promise<void> } | null> => {
  const { serveWeb } = await loadScript() ?? {}
  if (serveWeb === undefined) return null
  const { close, page, port, ready } = await serveWeb(`${path === "/" ? "" : path}/-/assets/`)
  return {
    page,
    asset: async (target, headers) => {
      await ready()
      return askBundler(port, target, headers)
    },
    changes: `ws://127.0.0.1:${port}`,
    close
  }
}

/** Origins that links of a provider lead to besides the service's own. */
const bucketOrigins = ({ place, publicUrl }: Provider): readonly string[] => {
  const links = publicUrl === null ? [] : [new URL(publicUrl).origin]
  if (place.of !== "s3") return links
  if (place.endpoint === null) return [...links, `https://${place.bucket}.s3.${place.region}.amazonaws.com`]
  const { host, origin, protocol } = new URL(place.endpoint)
  return [...links, origin, `${protocol}//${place.bucket}.${host}`]
}

/** The routes of the app, or the way to the reference. */
export const webRoutes = (
  { auth, files, forms, models, options, tenants }: Compiled,
  signIn: "password" | "token",
  app: string | LiveApp,
  /** Paths of what else is served; the app leads to the mails of development where they are. */
  others: readonly string[] = []
): readonly ExtraRoute[] => {
  const api = parentPath(options.basePath)
  if (options.admin === null || (typeof app === "string" && !hasWebApp(app))) return [leadTo(`${api}/docs`)]
  const sources = (options.sources ?? []).map(({ url }) => new URL(url).origin)
  const fields = Array.from(models.values()).flatMap(({ fields }) =>
    fields.flatMap(({ file }) => file === null ? [] : [file])
  )
  const providers = fields.flatMap(({ provider }) => files.providers.get(provider) ?? [])
  // Where a browser is sent for bytes: a bucket's own host, and where public files are linked. Plugins may read them, too.
  const buckets = providers.flatMap(bucketOrigins)
  const images = [
    ...sources,
    ...buckets,
    ...(fields.some(({ externalUrls }) => externalUrls) ? ["https:"] : [])
  ]
  // Scripts of a plugin stand in the folder of its manifest.
  const plugins = options.plugins.filter((url) => !url.startsWith("/"))
  return webAppRoutes({
    app,
    path: options.admin.path,
    config: {
      name: options.admin.name ?? auth?.appName ?? "Admin",
      api,
      basePath: options.basePath,
      signIn,
      ...(options.plugins.length === 0 ? {} : { plugins: options.plugins }),
      ...(others.includes(mailPath) ? { mails: mailPath } : {})
    },
    connect: [...new Set([...sources, ...buckets, ...plugins])],
    scripts: [...new Set(plugins.map((url) => url.slice(0, url.lastIndexOf("/") + 1)))],
    images: [...new Set(images)],
    shared: tenants?.by === "path",
    embeds: new Map(Array.from(forms.values(), ({ embed, name }) => [name, embed]))
  })
}
