/**
 * `GET /api/files/<provider>/<path>` (docs/guides/files.md#what-is-safe): public files for everybody, private files for a signed link whose row still holds the
 * file. It decides the answer and its headers. The storage sends the bytes.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { asksDownload, readLink, signedText } from "../../domain/file/link.ts"
import type { Link } from "../../domain/file/link.ts"
import { disposition, downloadName } from "../../domain/file/name.ts"
import { isHttpDate, rangeOf } from "../../domain/file/range.ts"
import { isInline, typeOfExtension } from "../../domain/file/type.ts"
import { extensionOf, isStoredPath, pathsOf, readStored, tenantFolder } from "../../domain/file/uri.ts"
import type { StoredFile } from "../../domain/file/uri.ts"
import { allOf } from "../../domain/filter/tree.ts"
import type { FilterTree } from "../../domain/filter/tree.ts"
import type { Model } from "../../domain/model/model.ts"
import { accessDenied, notFound } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { isHeld } from "../../domain/read/etag.ts"
import { keyCondition, readKey } from "../../domain/read/key.ts"
import { fileTexts } from "../../domain/write/file-values.ts"
import type { ByteRange, Bytes, StoredHead } from "../../ports/storage.ts"
import type { Core } from "../ground/core.ts"
import { storageProblem, tenantCell } from "../ground/files.ts"
import type { FileProvider, Files } from "../ground/files.ts"
import { recordsProblem } from "../ground/refusal.ts"

/** A request for a file. */
export interface FileRequest {
  readonly provider: string
  /** Decoded. */
  readonly path: string
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  readonly header: (name: string) => string | null
  /** HEAD: the body is not sent. */
  readonly headOnly: boolean
  /** The tenant of the host or path that was asked; null or absent: these do not decide the tenant. */
  readonly tenant?: string | null
}

/** An answer whose body is streamed. */
export interface FileReply {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly stream: { readonly length: number; readonly bytes: Bytes } | null
}

/** Headers of every download (docs/guides/files.md#what-is-safe). */
const sandboxed = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'",
  // Pages of other origins may show public files. Anyone with the link may show private files.
  "cross-origin-resource-policy": "cross-origin",
  "accept-ranges": "bytes"
}

/** Seconds that clients may cache a public file: a year. */
const publicSeconds = 31_536_000

async function* nothing(): Bytes {}

/** The answer for a valid link whose row no longer holds the file, and for a path without a file. Both are the same. */
const gone = (): Effect.Effect<never, Problem> => Effect.fail(notFound())

/** What the row of a link holds, or null. */
const heldFile = Effect.fnUntraced(function*(
  core: Core,
  files: Files,
  { field: fieldName, key: keyText, path, provider, resource }: Link
): Effect.fn.Return<StoredFile | null, Problem> {
  const model = core.models.get(resource)
  const field = model?.byName.get(fieldName)
  if (model === undefined || field === undefined || field.file === null) return null
  const key = readKey(model, keyText)
  if (Result.isFailure(key)) return null
  // A key may be unique within each tenant only. The folder tells the tenant of the row.
  const tenant = model.tenant === null ? null : tenantCell(model.tenant, path)
  if (tenant === undefined) return null
  const params = tenant === null ? key.success : [...key.success, tenant]
  const bindings = { caller: { id: "", tenant: null, roles: [] }, now: BigInt(files.now()) * 1000n, params }
  const shape = { model, columns: [field], where: whereOf(model), order: [], limit: 1, checks: [] }
  const [row] = yield* Effect.catch(core.records.page({ shape, bindings }), recordsProblem)
  for (const text of fileTexts(field, row?.[0] ?? null)) {
    const file = readStored(text)
    if (
      file !== null && file.provider === provider && pathsOf(file).includes(path) &&
      file.path.startsWith(`${tenantFolder(tenant)}/`)
    ) return file
  }
  return null
})

const conditions = new WeakMap<Model, FilterTree>()

/** The key, followed by the tenant where there is one. */
const whereOf = (model: Model): FilterTree => {
  let where = conditions.get(model)
  if (where === undefined) {
    const { key, tenant } = model
    where = tenant === null ? keyCondition(model) : allOf([
      keyCondition(model),
      { op: "compare", field: tenant, is: "=", value: { of: "param", index: key.length } }
    ])
    conditions.set(model, where)
  }
  return where
}

/** `GET` and `HEAD` of a file. */
export const download = Effect.fnUntraced(function*(
  core: Core,
  request: FileRequest
): Effect.fn.Return<FileReply, Problem> {
  const { files } = core
  const { path, query } = request
  const provider = files?.providers.get(request.provider)
  if (files === null || provider === undefined || !isStoredPath(path)) return yield* gone()
  // A file of another tenant is not here, whoever signed the link.
  const [folder = ""] = path.split("/", 1)
  const { tenant = null } = request
  if (tenant !== null && folder !== tenantFolder(tenant) && folder !== tenantFolder(null)) return yield* gone()
  if (provider.public) {
    // Whatever stands in the query (`?v=1`, what mail programs add) decides nothing about a file that anyone may open.
    const name = path.slice(path.lastIndexOf("/") + 1)
    return yield* send(files, provider, request, name, publicSeconds, publicSeconds)
  }
  const sent = readLink(provider.name, path, query)
  const now = Math.floor(files.now() / 1_000)
  if (sent === null || !files.signer.verify(signedText(sent.link), sent.signature) || sent.link.expires <= now) {
    return yield* Effect.fail(accessDenied())
  }
  const held = yield* heldFile(core, files, sent.link)
  if (held === null) return yield* gone()
  return yield* send(files, provider, request, held.name, sent.link.expires - now, null)
})

/** Sends a file that the caller may get. `publicAge` null: the file is private, and cached until its link ends. */
const send = Effect.fnUntraced(function*(
  files: Files,
  provider: FileProvider,
  { header, headOnly, path, query }: FileRequest,
  name: string,
  seconds: number,
  publicAge: number | null
): Effect.fn.Return<FileReply, Problem> {
  const { storage } = provider
  const extension = extensionOf(path)
  const type = typeOfExtension(extension)
  const named = publicAge !== null ? name : downloadName(name, extension, (own) => typeOfExtension(own) === type)
  const dispositionHeader = disposition(isInline(type) && !asksDownload(query) ? "inline" : "attachment", named)
  const unavailable = storageProblem(files, provider.name)
  // The link is signed for GET, so a HEAD of it would be refused.
  if (storage.link !== null && !headOnly) {
    const url = yield* Effect.catch(
      storage.link(path, { seconds: publicAge === null ? seconds : 3_600, type, disposition: dispositionHeader }),
      unavailable
    )
    // The redirect is not cached longer than its target is valid.
    const age = publicAge === null ? Math.min(seconds, 300) : 1_800
    return {
      status: 302,
      headers: {
        ...sandboxed,
        location: url,
        "cache-control": `${publicAge === null ? "private" : "public"}, max-age=${age}`
      },
      stream: null
    }
  }
  const etag = `"${path.slice(path.lastIndexOf("/") + 1).replace(/[^\x21\x23-\x7e]/g, "_")}"`
  const headersOf = (head: StoredHead) => ({
    ...sandboxed,
    "content-type": type,
    "content-disposition": dispositionHeader,
    "cache-control": publicAge === null ? `private, max-age=${seconds}` : `public, max-age=${publicAge}, immutable`,
    etag,
    "last-modified": new Date(head.modified).toUTCString()
  })
  const wantsRange = header("range") !== null
  const noneMatch = header("if-none-match")
  const since = header("if-modified-since")
  if (headOnly || wantsRange || noneMatch !== null || since !== null) {
    const head = yield* Effect.catch(storage.head(path), unavailable)
    if (head === null) return yield* gone()
    const headers = headersOf(head)
    const unchanged = noneMatch !== null
      ? isHeld(noneMatch, etag)
      : since !== null && isHttpDate(since) && Math.floor(head.modified / 1_000) * 1_000 <= Date.parse(since)
    if (unchanged) return { status: 304, headers, stream: null }
    if (headOnly) return { status: 200, headers, stream: { length: head.size, bytes: nothing() } }
    const range = rangeOf(header("range"), header("if-range"), head.size, etag, headers["last-modified"])
    if (range === "unsatisfiable") {
      return {
        status: 416,
        headers: { ...sandboxed, "content-range": `bytes */${head.size}`, "cache-control": "no-store" },
        stream: null
      }
    }
    if (range !== null) return yield* part(files, provider, path, range, headers)
  }
  const body = yield* Effect.catch(storage.read(path, null), unavailable)
  if (body === null) return yield* gone()
  return { status: 200, headers: headersOf(body), stream: { length: body.size, bytes: body.bytes } }
})

const part = Effect.fnUntraced(function*(
  files: Files,
  provider: FileProvider,
  path: string,
  range: ByteRange,
  headers: { readonly [name: string]: string }
): Effect.fn.Return<FileReply, Problem> {
  const body = yield* Effect.catch(provider.storage.read(path, range), storageProblem(files, provider.name))
  if (body === null) return yield* gone()
  return {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${range.start}-${range.end}/${body.size}` },
    stream: { length: range.end - range.start + 1, bytes: body.bytes }
  }
})
