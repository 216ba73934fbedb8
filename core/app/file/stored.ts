/**
 * What becomes of an uploaded file: the type that its content decides, copies of an image, values for other fields, and the ticket that a write takes.
 * How the bytes came to their place is decided elsewhere.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { maxTicket, ticketContext, ticketMs, writeTicket } from "../../domain/file/ticket.ts"
import { decideType, detectedBytes, isAccepted, isProcessed, isSvg, isText } from "../../domain/file/type.ts"
import type { DecidedType } from "../../domain/file/type.ts"
import { extensionOf, variantPath, writeStored } from "../../domain/file/uri.ts"
import type { StoredFile, StoredVariant } from "../../domain/file/uri.ts"
import { extensionOfFormat, ratioText } from "../../domain/file/variant.ts"
import type { Pixels } from "../../domain/file/variant.ts"
import { headBytes, needsImage } from "../../domain/model/file.ts"
import type { FileField, ProcessedFile, Processor } from "../../domain/model/file.ts"
import { problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { cellFromJson, wireFromCell } from "../../domain/value/cell.ts"
import type { Cell, Json } from "../../domain/value/kind.ts"
import type { RenderedImage } from "../../ports/images.ts"
import { StorageError } from "../../ports/storage.ts"
import type { Bytes } from "../../ports/storage.ts"
import { json } from "../ground/call.ts"
import type { Call, Reply } from "../ground/call.ts"
import { storageProblem } from "../ground/files.ts"
import type { FileProvider } from "../ground/files.ts"
import type { UploadTarget } from "./target.ts"

/** A stored file of known size. */
export type SizedFile = StoredFile & { readonly size: number }

export const refusedType = ({ accept }: FileField, { type }: DecidedType): Problem =>
  problem(
    "unsupported-media-type",
    `This field does not take files of the type ${type}.`,
    { accept: accept ?? ["*/*"], detected: type }
  )

/** Whether a field has processors of its own, which get more of the file than the type is decided by. */
export const headWanted = ({ derive }: FileField): number =>
  [...derive.values()].some(({ of }) => of === "custom") ? headBytes : detectedBytes

/** The type that the beginning of a file decides; `whole`: it is all of the file. */
export const decide = (
  { file, files }: UploadTarget,
  name: string,
  declared: string | null,
  head: Uint8Array,
  whole: boolean
): Effect.Effect<DecidedType> => {
  const looked = head.subarray(0, detectedBytes)
  return Effect.map(files.detector.detect(looked), (content) =>
    decideType({
      content,
      text: isText(looked, whole && looked.length === head.length),
      svg: file.accept?.includes("image/svg+xml") === true && isSvg(looked),
      extension: extensionOf(name),
      declared
    }, file.accept))
}

/** What work on a stored file needs of its field. */
type FieldTarget = Omit<UploadTarget, "access"> & { readonly access: Pick<UploadTarget["access"], "model"> }

/** Values for other fields, by their names. */
export interface Derived {
  readonly cells: ReadonlyMap<string, Cell>
}

const builtIn = (
  processor: Exclude<Processor, { of: "custom" }>,
  file: SizedFile,
  type: string,
  pixels: Pixels | null
): Json => {
  switch (processor.of) {
    case "size":
      return file.size
    case "type":
      return type
    case "width":
    case "height":
      return pixels === null ? null : pixels[processor.of]
    case "ratio":
      return pixels === null ? null : ratioText(pixels, processor.decimals)
  }
}

/**
 * Runs the processors of a field over a stored file. If one throws, or gives a value that its field refuses, that is a defect of the configuration:
 * a 500.
 */
export const derive = Effect.fnUntraced(function*(
  { access: { model }, field, file: { derive: processors, placeholder }, files, provider }: FieldTarget,
  file: SizedFile,
  type: string,
  head: Uint8Array,
  image: RenderedImage | null
): Effect.fn.Return<Derived, Problem> {
  const cells = new Map<string, Cell>()
  const given: ProcessedFile = {
    name: file.name,
    type,
    size: file.size,
    head: head.subarray(0, headBytes),
    read: () => readAgain(provider, file.path)
  }
  for (const [name, processor] of processors) {
    const target = model.byName.get(name)
    if (target === undefined) continue
    let value: unknown
    if (processor.of !== "custom") value = builtIn(processor, file, type, image)
    else if (processor.accepts !== null && !isAccepted(processor.accepts, type)) value = null
    else {
      value = yield* Effect.promise(async () => {
        try {
          return await processor.run(given)
        } catch (cause) {
          files.report("file-processor", { resource: model.name, field: field.name, processor: name })
          throw new Error(`The processor of "${name}" threw.`, { cause })
        }
      })
    }
    const cell = value === null || value === undefined
      ? Result.succeed<Cell>(null)
      : cellFromJson(target, value as Json)
    if (Result.isFailure(cell)) {
      files.report("file-processor", { resource: model.name, field: field.name, processor: name })
      return yield* Effect.die(new Error(`The processor of "${name}" gave a value that the field refuses.`))
    }
    cells.set(name, cell.success)
  }
  if (placeholder !== null) cells.set(placeholder, image?.placeholder ?? null)
  return { cells }
})

/** The stored file as a stream that opens with the first read. */
async function* readAgain(provider: FileProvider, path: string): Bytes {
  const body = await Effect.runPromise(provider.storage.read(path, null))
  if (body === null) throw new Error("the uploaded file is not there")
  yield* body.bytes
}

const copyOf = (bytes: Uint8Array): Bytes =>
  (async function*() {
    yield bytes
  })()

/** The result of processing an image. */
export interface Rendered {
  readonly image: RenderedImage
  readonly file: SizedFile
  /** Bytes of what is stored instead of the upload; null: the upload itself is stored. */
  readonly head: Uint8Array | null
  /** The path of the upload where a copy elsewhere stands for it. Its caller removes it. */
  readonly replaced: string | null
}

/** Makes the variants and values that the field needs of an image. Stores them beside the upload or in its place. Null: the image cannot be read. */
export const render = Effect.fnUntraced(function*(
  { file, files, provider }: FieldTarget,
  stored: SizedFile,
  type: string,
  room: { readonly take: (bytes: number) => boolean }
): Effect.fn.Return<Rendered | null, Problem> {
  if (files.images === null || !needsImage(file) || !isProcessed(type)) return null
  const { original, placeholder, variants } = file
  const copies = original === null ? variants : [...variants, original]
  const image = yield* Effect.catch(
    files.images.render(() => readAgain(provider, stored.path), stored.size, {
      copies,
      placeholder: placeholder !== null
    }),
    ({ cause, reason }) => {
      if (reason === "Source") {
        return storageProblem(files, provider.name)(new StorageError({ reason: "Unavailable", cause }))
      }
      if (reason === "Process") files.report("file-images", { reason, cause })
      const detail = reason === "Busy"
        ? "Too many images wait to be processed."
        : "No image can be processed right now."
      return Effect.fail(problem("unavailable", detail, {}, { "retry-after": "5" }))
    }
  )
  if (image === null) return null
  const put = (path: string, bytes: Uint8Array, extension: string) =>
    room.take(bytes.length)
      ? Effect.catch(
        provider.storage.put(path, copyOf(bytes), { type: typeOf(extension), size: bytes.length }),
        storageProblem(files, provider.name)
      )
      : Effect.fail(problem("insufficient-storage", "There is no room for the file."))
  let main = stored
  const replacement = original === null ? undefined : image.copies.at(-1)
  if (original !== null && replacement !== undefined) {
    const extension = extensionOfFormat(original.format)
    const path = `${stored.path.slice(0, -extensionOf(stored.path).length)}${extension}`
    yield* put(path, replacement.bytes, extension)
    main = { ...stored, path, size: replacement.bytes.length }
  }
  const made: StoredVariant[] = []
  for (const [i, { format, name }] of variants.entries()) {
    const { bytes, height, width } = image.copies[i]!
    const extension = extensionOfFormat(format)
    yield* put(variantPath(main.path, name, extension), bytes, extension)
    made.push({ name, extension, width, height })
  }
  return {
    image,
    file: { ...main, variants: made },
    head: replacement?.bytes ?? null,
    replaced: main.path === stored.path ? null : stored.path
  }
})

/** The type of an image's copy, by its extension. */
export const typeOf = (extension: string): string => `image/${extension === "jpg" ? "jpeg" : extension}`

/** The most that the field of an upload can store, for the entry that is written before its file. */
export const expected = ({ file }: UploadTarget, stored: StoredFile): readonly StoredFile[] => {
  const variants = file.variants.map(({ format, name }) => ({
    name,
    extension: extensionOfFormat(format),
    width: null,
    height: null
  }))
  const whole = { ...stored, variants }
  if (file.original === null) return [whole]
  const path = `${stored.path.slice(0, -extensionOf(stored.path).length)}${extensionOfFormat(file.original.format)}`
  return path === stored.path ? [whole] : [stored, { ...whole, path }]
}

/** The ticket, and what the answer tells the sender about the file. */
export const answer = (
  { access, field, files }: UploadTarget,
  call: Call,
  file: SizedFile,
  type: string,
  { corrected }: DecidedType,
  { cells }: Derived,
  status = 201,
  expires = files.now() + ticketMs
): Effect.Effect<Reply, Problem> => {
  const ticket = { uri: writeStored(file), derived: cells, expires }
  const value = files.seal.seal(ticketContext(call.caller, access.model.name, field.name), writeTicket(ticket))
  if (value.length > maxTicket) {
    return Effect.die(
      new Error(`The derived values of "${field.name}" do not fit into a ticket of ${maxTicket} characters.`)
    )
  }
  const derived: Record<string, Json> = {}
  for (const [name, cell] of cells) {
    const target = access.restricted.byName.get(name)
    if (target !== undefined) derived[name] = cell === null ? null : wireFromCell(target, cell)
  }
  const { name, size } = file
  const body = { value, file: { name, type, size }, derived, ...(corrected === null ? {} : { corrected }) }
  return Effect.succeed(json(status, JSON.stringify(body), { "cache-control": "no-store" }))
}
