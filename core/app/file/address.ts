/**
 * An upload that has not ended, by its sealed address: how it is begun, who may go on with it, and what one person may have under way. No table knows of
 * it: an object at its provider stands for it, and the name of that tells whose it is.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { cleanName } from "../../domain/file/name.ts"
import {
  addressContext,
  firstOf,
  isTooMuch,
  readAddress,
  readMetadata,
  readUnfinished,
  underWay,
  unfinishedMs,
  unfinishedName,
  uploaderPrefix,
  uploaderText,
  writeAddress
} from "../../domain/file/unfinished.ts"
import type { UploadAddress } from "../../domain/file/unfinished.ts"
import { tenantFolder } from "../../domain/file/uri.ts"
import { notFound, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import type { ListedFile } from "../../ports/storage.ts"
import { readIdempotencyKey } from "../ground/call.ts"
import type { Call } from "../ground/call.ts"
import type { Checks, Core } from "../ground/core.ts"
import { asked } from "./finish.ts"
import type { PendingUpload } from "./finish.ts"
import { claimRoom, unclaimRoom } from "./room.ts"
import { targetOf, writable } from "./target.ts"
import type { UploadTarget } from "./target.ts"
import { inTurn } from "./turn.ts"
import type { Turn } from "./turn.ts"

/** Files that are listed at once. */
const pageFiles = 1_000

/** When an upload expires. */
export const expires = ({ created }: Pick<PendingUpload, "created">): { readonly [name: string]: string } => ({
  "upload-expires": new Date(created + unfinishedMs).toUTCString()
})

/** What its sender says of a file. */
interface Said {
  readonly fileName: string
  readonly declared: string | null
  readonly metadata: string | null
  readonly direct: boolean
}

/**
 * A new upload of an announced length. Nothing is made yet. With an idempotency key the id begins with what the same request has again: so a list finds the
 * upload of which the answer was lost.
 */
export const planned = function*(call: Call, target: UploadTarget, length: number, said: Said): Checks<PendingUpload> {
  const { files } = target
  const key = yield* readIdempotencyKey(call)
  const who = files.seal.digest(uploaderText(call.caller))
  const again = key === null
    ? ""
    : files.seal.digest(JSON.stringify(["upload-key", key, who, call.path, target.field.name, length, said]))
  const unfinished = { who, created: files.now(), length, id: again + files.newId() }
  return { ...target, ...unfinished, name: unfinishedName(unfinished), folder: folderOf(call, target), ...said, again }
}

const folderOf = ({ caller }: Call, { access }: UploadTarget): string =>
  tenantFolder(access.model.tenant === null ? null : caller.tenant)

/** What the metadata of an upload in pieces say; `name`: a name that goes before theirs. */
export const described = (
  metadata: ReadonlyMap<string, string>,
  name: string | null
): Pick<PendingUpload, "fileName" | "declared"> => ({
  fileName: cleanName(name ?? metadata.get("filename") ?? metadata.get("name") ?? ""),
  declared: metadata.get("filetype") ?? metadata.get("type") ?? null
})

/** The path of an upload, whose last segment only its caller can use. */
export const locationOf = (
  call: Call,
  resource: string,
  { field, files, name, provider }: PendingUpload,
  said: Pick<UploadAddress, "direct" | "fileName" | "metadata">
): string => {
  const address = writeAddress({ provider: provider.name, name, field: field.name, ...said })
  return `${call.path}/${files.seal.seal(addressContext(call.caller, resource), address)}`
}

/** The upload of an address. What cannot be opened, is over or is for a field that is not there is not found. */
export const addressed = function*(core: Core, call: Call, resource: string, key: string): Checks<PendingUpload> {
  const access = yield* writable(call, resource)
  const opened = core.files?.seal.open(addressContext(call.caller, resource), key) ?? null
  const address = opened === null ? null : readAddress(opened)
  const unfinished = address === null ? null : readUnfinished(address.name)
  if (address === null || unfinished === null || !access.restricted.byName.has(address.field)) {
    return yield* Result.fail(notFound())
  }
  const target = yield* targetOf(core, access, address.field)
  if (target.provider.name !== address.provider || target.files.now() - unfinished.created >= unfinishedMs) {
    return yield* Result.fail(notFound())
  }
  const { direct, metadata } = address
  const said = described(yield* readMetadata(metadata), address.fileName)
  return {
    ...target,
    ...unfinished,
    folder: folderOf(call, target),
    fileName: said.fileName,
    declared: direct === null ? said.declared : direct.type,
    metadata,
    direct: direct !== null,
    again: ""
  }
}

/** All that a person has under way at the provider of an upload. */
const listed = Effect.fnUntraced(function*(upload: PendingUpload): Effect.fn.Return<readonly ListedFile[], Problem> {
  const all: ListedFile[] = []
  for (;;) {
    const page: readonly ListedFile[] = yield* asked(
      upload,
      upload.provider.storage.list({
        prefix: uploaderPrefix(upload.who),
        after: all.at(-1)?.path ?? null,
        limit: pageFiles
      })
    )
    all.push(...page)
    if (page.length < pageFiles) return all
  }
})

/**
 * Begins an upload: its file counts from now on, for its provider and for its person. What is too much is refused, and nothing of it stays. The first one that
 * the same request has begun stands for it.
 */
export const open = Effect.fnUntraced(function*(upload: PendingUpload): Effect.fn.Return<PendingUpload, Problem> {
  const { again, files, length, name, provider } = upload
  const { resumable } = provider.storage
  if (again !== "") {
    const earlier = firstOf(yield* listed(upload), again, files.now())
    if (earlier !== null) return { ...upload, ...earlier }
  }
  const undo = Effect.suspend(() => {
    unclaimRoom(provider, length)
    return Effect.ignore(asked(upload, resumable.abort(name)))
  })
  yield* claimRoom(files, provider, length)
  // Whoever comes at the same time has begun before the list, too, so that nobody passes.
  const first = yield* Effect.onError(
    Effect.flatMap(Effect.andThen(asked(upload, resumable.begin(name)), listed(upload)), (all) => {
      const same = again === "" ? null : firstOf(all, again, files.now())
      return same !== null && same.name < name
        ? Effect.succeed(same)
        : isTooMuch(underWay(all, files.now()), length)
        ? Effect.fail(tooMuch())
        : Effect.succeed(null)
    }),
    () => undo
  )
  if (first === null) return upload
  yield* undo
  return { ...upload, ...first }
})

const tooMuch = (): Problem =>
  problem(
    "too-many-requests",
    "You have begun too many uploads that have not ended. End some of them, or wait until they expire.",
    {},
    { "retry-after": "60" }
  )

/** Runs work as the only one at an upload in this process. */
export const turnOf = <A>(
  upload: PendingUpload,
  work: (turn: Turn) => Effect.Effect<A, Problem>
): Effect.Effect<A, Problem> => inTurn(`${upload.provider.name}:${upload.name}`, upload.who, work)
