/**
 * Where the built admin app is, and the routes that serve it as the options say. The service also works without a built app: `/` then leads
 * to the reference.
 */

import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { ExtraRoute } from "../adapters/http/handle.ts"
import { hasWebApp, leadTo, webAppRoutes } from "../adapters/http/web-app.ts"
import type { Compiled } from "../core/domain/compile/compile.ts"
import { parentPath } from "../core/domain/declare/config.ts"
import type { Provider } from "../core/domain/file/provider.ts"

/** The project's folder: of the checkout, or `dist` of the package. */
const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The build's script, which only a checkout has. */
const script = join(root, "scripts", "web.mjs")

/** The folder of the built app: beside this module's folder as the package has it, below `dist` in a checkout. */
export const webFolder: string = existsSync(script) ? join(root, "dist", "web", "app") : join(root, "web", "app")

/** In a checkout: builds the app if its sources have changed since. In the package it is there already. */
export const ensureWebApp = async (say: (text: string) => void): Promise<void> => {
  if (!existsSync(script)) return
  const { ensureWeb } = await import(pathToFileURL(script).href) as {
    readonly ensureWeb: (say: (text: string) => void) => Promise<void>
  }
  await ensureWeb(say)
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
  { auth, files, forms, models, options }: Compiled,
  signIn: "password" | "token",
  folder: string
): readonly ExtraRoute[] => {
  const api = parentPath(options.basePath)
  if (options.admin === null || !hasWebApp(folder)) return [leadTo(`${api}/docs`)]
  const sources = (options.sources ?? []).map(({ url }) => new URL(url).origin)
  const fields = Array.from(models.values()).flatMap(({ fields }) =>
    fields.flatMap(({ file }) => file === null ? [] : [file])
  )
  const providers = fields.flatMap(({ provider }) => files.providers.get(provider) ?? [])
  // Where a browser is sent for bytes: a bucket's own host, and where public files are linked.
  const images = [
    ...sources,
    ...providers.flatMap(bucketOrigins),
    ...(fields.some(({ externalUrls }) => externalUrls) ? ["https:"] : [])
  ]
  return webAppRoutes({
    folder,
    path: options.admin.path,
    config: { name: options.admin.name ?? auth?.appName ?? "Admin", api, basePath: options.basePath, signIn },
    connect: [...new Set(sources)],
    images: [...new Set(images)],
    embeds: new Map(Array.from(forms.values(), ({ embed, name }) => [name, embed]))
  })
}
