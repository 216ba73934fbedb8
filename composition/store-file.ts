/** `storeFile`: files that scripts and imports store outside of any request, and the values that they write into columns for them. */

import * as Effect from "effect/Effect"
import { defaultProvider, providerVariable, readProviderAddress } from "../core/domain/file/provider.ts"
import { typeOfExtension } from "../core/domain/file/type.ts"
import { extensionOf, isProviderName, isStoredPath } from "../core/domain/file/uri.ts"
import { readSettings } from "./environment.ts"
import { storageOf } from "./files.ts"

/** What a script stores with `storeFile`. */
export interface StoreFileOptions {
  /** Name of the provider: as configured in the environment, else `private` or `public` in the folder of the service. */
  readonly provider: string
  /** `<tenant or _>/<name>.<extension>`; variants stand at `variantPath(path, name, extension)`. */
  readonly path: string
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
  /** Variables of the environment; a relative folder is taken from the working directory. */
  readonly env: { readonly [name: string]: string | undefined }
}

/**
 * Stores a file outside of any request, for scripts and imports (spec 2, Providers and configuration, 9). Gives the value to write into the column.
 * Throws for a path or provider that cannot be, and when the storage fails.
 *
 * @example
 * const value = await storeFile({ provider: "private", path: "_/manual.pdf", body: bytes, env: process.env })
 */
export const storeFile = async ({ body, env, path, provider: name }: StoreFileOptions): Promise<string> => {
  if (!isProviderName(name)) throw new Error(`"${name}" is not a provider's name.`)
  if (!isStoredPath(path)) throw new Error(`"${path}" is not a path of a file: write <tenant or _>/<name>.<extension>.`)
  const folder = process.cwd()
  const { settings } = readSettings(env, folder)
  const variable = providerVariable(name)
  const address = settings.files.addresses[variable]
  const said: string[] = []
  const provider = address !== undefined
    ? readProviderAddress(name, address, variable, (message, fix) => said.push(`${message} ${fix}`))
    : name === "private" || name === "public"
    ? defaultProvider(name, "data")
    : null
  if (provider === null) throw new Error(said.join(" ") || `The provider "${name}" is not configured: set ${variable}.`)
  const storage = storageOf(provider, { folder, data: settings.data, keys: settings.files.keys, retention: null })
  const bytes = body instanceof Uint8Array ? chunkOf(body) : body
  await Effect.runPromise(storage.put(path, bytes, {
    type: typeOfExtension(extensionOf(path)),
    size: body instanceof Uint8Array ? body.length : null
  }))
  return `${name}:${path}`
}

async function* chunkOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
