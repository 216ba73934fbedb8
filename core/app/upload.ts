/**
 * `POST /{resource}:upload` (spec 2, Upload): checks access and type, streams the bytes to their provider, has copies of images made, and answers a
 * ticket that a write takes. A refused or interrupted upload leaves nothing behind. A later cleanup removes files that no write attaches.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../domain/access/access.ts"
import { cleanName } from "../domain/file/name.ts"
import { printBytes } from "../domain/file/size.ts"
import { maxTicket, ticketContext, ticketMs, writeTicket } from "../domain/file/ticket.ts"
import {
  decideType,
  detectedBytes,
  extensionOfType,
  isAccepted,
  isProcessed,
  isSvg,
  isText
} from "../domain/file/type.ts"
import type { DecidedType } from "../domain/file/type.ts"
import { extensionOf, pathsOf, tenantFolder, variantPath, writeStored } from "../domain/file/uri.ts"
import type { StoredFile, StoredVariant } from "../domain/file/uri.ts"
import { extensionOfFormat, ratioText } from "../domain/file/variant.ts"
import type { Pixels } from "../domain/file/variant.ts"
import { headBytes, needsImage } from "../domain/model/file.ts"
import type { FileField, ProcessedFile, Processor } from "../domain/model/file.ts"
import type { Field } from "../domain/model/model.ts"
import { accessDenied, invalidParameter, problem } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import { unknownField } from "../domain/read/list.ts"
import { cellFromJson, wireFromCell } from "../domain/value/cell.ts"
import type { Cell, Json } from "../domain/value/kind.ts"
import type { RenderedImage } from "../ports/images.ts"
import { StorageError } from "../ports/storage.ts"
import type { Bytes } from "../ports/storage.ts"
import { json } from "./call.ts"
import type { Call, Incoming, IncomingFile, Reply } from "./call.ts"
import { permitted, pipeline } from "./core.ts"
import type { Checks, Core } from "./core.ts"
import { ask, schedule, storageProblem, uploadEntry } from "./provider.ts"
import type { FileProvider, Files } from "./provider.ts"
import { roomFor } from "./room.ts"
import { readMaybe } from "./upload-key.ts"
import type { UploadKey } from "./upload-key.ts"

/** An upload that may begin. */
interface UploadPlan {
  readonly access: Access
  readonly field: Field
  readonly file: FileField
  readonly provider: FileProvider
  readonly files: Files
  /** As in the query. Null: only the body can name it. */
  readonly name: string | null
  readonly key: UploadKey | null
}

/** Bytes that a multipart form adds around its file. */
const formBytes = 64 * 1024

const tooLarge = ({ maxSize }: FileField): Problem =>
  problem("payload-too-large", `The file is larger than ${printBytes(maxSize)}, the maximum for this field.`)

const parameters = ["field", "name"]

const readParameters = function*(call: Call): Checks<ReadonlyMap<string, string>> {
  const values = new Map<string, string>()
  for (const [name, value] of call.query) {
    if (!parameters.includes(name)) {
      return yield* Result.fail(
        invalidParameter(name.slice(0, 100), "There is no such parameter.", "Use field and name.")
      )
    }
    if (values.has(name)) return yield* Result.fail(invalidParameter(name, "The parameter is given twice."))
    values.set(name, value)
  }
  return values
}

/** Access for a create or an update: an upload can serve either. */
const writable = function*(call: Call, resource: string): Checks<Access> {
  const create = permitted(call, resource, "create")
  return Result.isSuccess(create) ? create.success : yield* permitted(call, resource, "update")
}

const planUpload = function*(core: Core, call: Call, resource: string, incoming: Incoming): Checks<UploadPlan> {
  const access = yield* writable(call, resource)
  const values = yield* readParameters(call)
  const name = values.get("field")
  if (name === undefined) {
    return yield* Result.fail(invalidParameter("field", "Name the file field that the upload is for."))
  }
  const field = access.restricted.byName.get(name)
  if (field === undefined) return yield* Result.fail(invalidParameter("field", unknownField(name)))
  const { file } = field
  if (file === null) return yield* Result.fail(invalidParameter("field", `The field "${name}" takes no files.`))
  if (!access.restricted.creatable.has(name) && !access.restricted.updatable.has(name)) {
    return yield* Result.fail(accessDenied())
  }
  const { files } = core
  const provider = files?.providers.get(file.provider)
  if (files === null || provider === undefined) {
    return yield* Result.fail(problem("unavailable", "This service stores no files.", {}, { "retry-after": "60" }))
  }
  const most = file.maxSize + (incoming.isForm ? formBytes : 0)
  if (incoming.length !== null && incoming.length > most) return yield* Result.fail(tooLarge(file))
  return { access, field, file, provider, files, name: values.get("name") ?? null, key: yield* readMaybe(core, call) }
}

/** The beginning of a body, and the whole body including that beginning. */
interface Begun {
  readonly head: Uint8Array
  /** Whether the head is the whole. */
  readonly whole: boolean
  readonly bytes: Bytes
}

const concat = (chunks: readonly Uint8Array[], size: number): Uint8Array => {
  if (chunks.length === 1) return chunks[0]!
  const all = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

/** Reads the first bytes, which decide the type. The rest is read only when it is needed. */
const begin = async (body: Bytes, wanted: number): Promise<Begun> => {
  const source = body[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let size = 0
  let ended = false
  while (size < wanted && !ended) {
    const next = await source.next()
    if (next.done === true) ended = true
    else {
      chunks.push(next.value)
      size += next.value.length
    }
  }
  const head = concat(chunks, size)
  async function* bytes(): Bytes {
    try {
      if (head.length > 0) yield head
      if (!ended) {
        for (;;) {
          const next = await source.next()
          if (next.done === true) break
          yield next.value
        }
        ended = true
      }
    } finally {
      if (!ended) await source.return?.()
    }
  }
  return { head, whole: ended, bytes: bytes() }
}

/** What was counted while the body went to the storage. */
interface Meter {
  size: number
  hash: { readonly update: (chunk: Uint8Array) => void } | null
}

/** A body with limits: at the first chunk beyond a limit it throws the refusal, and where it is not as long as was announced. */
async function* metered(
  body: Bytes,
  length: number | null,
  meter: Meter,
  limits: ReadonlyArray<readonly [fits: (size: number) => boolean, refuse: () => unknown]>
): Bytes {
  const lies = () => problem("malformed-request", "The body is not as long as Content-Length says.")
  for await (const chunk of body) {
    meter.size += chunk.length
    for (const [fits, refuse] of limits) if (!fits(meter.size)) throw refuse()
    if (length !== null && meter.size > length) throw lies()
    meter.hash?.update(chunk)
    yield chunk
  }
  if (length !== null && meter.size < length) throw lies()
}

/** A body that ends only after a promise has resolved. A storage shows a file with its last byte, and by then its delete is scheduled. */
async function* after(body: Bytes, done: Promise<void>): Bytes {
  yield* body
  await done
}

const isProblem = (error: unknown): error is Problem =>
  error instanceof Error && "_tag" in error && error._tag === "Problem"

/** What the body throws is a refusal for its sender. Any other failure is a defect. */
const reading = <A>(work: () => Promise<A>): Effect.Effect<A, Problem> =>
  Effect.flatMap(
    Effect.promise(() => work().then((value) => ({ value }), (error: unknown) => ({ error }))),
    (done) =>
      "value" in done
        ? Effect.succeed(done.value)
        : isProblem(done.error)
        ? Effect.fail(done.error)
        : Effect.die(done.error)
  )

const refusedType = ({ accept }: FileField, { type }: DecidedType): Problem =>
  problem(
    "unsupported-media-type",
    `This field does not take files of the type ${type}.`,
    { accept: accept ?? ["*/*"], detected: type }
  )

/** Values for other fields, by their names. */
interface Derived {
  readonly cells: ReadonlyMap<string, Cell>
}

const builtIn = (
  processor: Exclude<Processor, { of: "custom" }>,
  file: StoredFile & { size: number },
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
const derive = Effect.fnUntraced(function*(
  { access: { model }, field, file: { derive: processors, placeholder }, files, provider }: UploadPlan,
  file: StoredFile & { size: number },
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
  const found = await Effect.runPromise(provider.storage.read(path, null))
  if (found === null) throw new Error("the uploaded file is not there")
  yield* found.bytes
}

const copyOf = (bytes: Uint8Array): Bytes =>
  (async function*() {
    yield bytes
  })()

/** The result of processing an image. */
interface Rendered {
  readonly image: RenderedImage
  readonly file: StoredFile & { size: number }
  /** Bytes of what is stored instead of the upload; null: the upload itself is stored. */
  readonly head: Uint8Array | null
}

/** Makes the variants and values that the field needs of an image. Stores them beside the upload or in its place. Null: the image cannot be read. */
const render = Effect.fnUntraced(function*(
  { file, files, provider }: UploadPlan,
  stored: StoredFile & { size: number },
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
  let kept = stored
  const replacement = original === null ? undefined : image.copies.at(-1)
  if (original !== null && replacement !== undefined) {
    const extension = extensionOfFormat(original.format)
    const path = `${stored.path.slice(0, -extensionOf(stored.path).length)}${extension}`
    yield* put(path, replacement.bytes, extension)
    if (path !== stored.path) {
      yield* Effect.catch(provider.storage.remove(stored.path), storageProblem(files, provider.name))
    }
    kept = { ...stored, path, size: replacement.bytes.length }
  }
  const made: StoredVariant[] = []
  for (const [i, { format, name }] of variants.entries()) {
    const { bytes, height, width } = image.copies[i]!
    const extension = extensionOfFormat(format)
    yield* put(variantPath(kept.path, name, extension), bytes, extension)
    made.push({ name, extension, width, height })
  }
  return { image, file: { ...kept, variants: made }, head: replacement?.bytes ?? null }
})

const typeOf = (extension: string): string => `image/${extension === "jpg" ? "jpeg" : extension}`

/** The most that the field of an upload can store, for the entry that is written before its file. */
const expected = ({ file }: UploadPlan, stored: StoredFile): readonly StoredFile[] => {
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

/** Stores an accepted upload. If anything fails, the stored files are removed. The delete of files that cannot be removed is already scheduled. */
const store = Effect.fnUntraced(function*(
  call: Call,
  plan: UploadPlan,
  { length }: Incoming,
  incoming: IncomingFile
): Effect.fn.Return<Reply, Problem> {
  const { access, file, files, key, provider } = plan
  const room = yield* roomFor(
    files,
    provider,
    incoming.length ?? (length === null ? null : Math.min(length, file.maxSize))
  )
  const meter: Meter = { size: 0, hash: key === null ? null : key.hash }
  const limits = [[(size: number) => size <= file.maxSize, () => tooLarge(file)], [
    room.grow,
    () => problem("insufficient-storage", "There is no room for the file.")
  ]] as const
  const limited = metered(incoming.bytes, incoming.length, meter, limits)
  return yield* Effect.ensuring(
    Effect.gen(function*(): Effect.fn.Return<Reply, Problem> {
      const reads = [...file.derive.values()].some(({ of }) => of === "custom")
      const begun = yield* reading(() => begin(limited, reads ? headBytes : detectedBytes))
      const name = cleanName(plan.name ?? incoming.name ?? "")
      const looked = begun.head.subarray(0, detectedBytes)
      const content = yield* files.detector.detect(looked)
      const decided = decideType({
        content,
        text: isText(looked, begun.whole && looked.length === begun.head.length),
        svg: file.accept?.includes("image/svg+xml") === true && isSvg(looked),
        extension: extensionOf(name),
        declared: incoming.type
      }, file.accept)
      if (!isAccepted(file.accept, decided.type)) {
        yield* Effect.promise(async () => void await begun.bytes[Symbol.asyncIterator]().return?.())
        return yield* Effect.fail(refusedType(file, decided))
      }
      const folder = tenantFolder(access.model.tenant === null ? null : call.caller.tenant)
      const path = `${folder}/${files.newId()}.${extensionOfType(decided.type)}`
      const first: StoredFile = { provider: provider.name, path, name, size: null, variants: [] }
      const promises = expected(plan, first)
      const unavailable = storageProblem(files, provider.name)
      let names: readonly string[] = []
      const gate = Promise.withResolvers<void>()
      gate.promise.catch(() => {})
      const scheduled = Effect.onExit(
        Effect.map(
          Effect.forEach(promises, (each) => schedule(files, provider, uploadEntry(each, files.now()))),
          (all) => void (names = all)
        ),
        (exit) => Effect.sync(() => exit._tag === "Success" ? gate.resolve() : gate.reject(new Error("not scheduled")))
      )
      const undo = Effect.suspend(() =>
        Effect.ignore(Effect.forEach(
          [...new Set(promises.flatMap((each) => [...pathsOf(each)])), ...names],
          (each) => ask(files, provider, provider.storage.remove(each)),
          { concurrency: "unbounded", discard: true }
        ))
      )
      const stored = Effect.gen(function*(): Effect.fn.Return<Reply, Problem> {
        // Neither interrupts the other, because a running storage operation has to end by itself.
        const [entries, put] = yield* Effect.all([
          Effect.exit(scheduled),
          Effect.exit(
            provider.storage.put(path, after(begun.bytes, gate.promise), {
              type: decided.type,
              size: incoming.length,
              most: file.maxSize
            })
          )
        ], { concurrency: 2 })
        yield* Effect.catch(entries, unavailable)
        const size = yield* Effect.catch(put, unavailable)
        const rendered = yield* render(plan, { ...first, size }, decided.type, room)
        const kept = rendered?.file ?? { ...first, size }
        const type = kept.path === path ? decided.type : typeOf(extensionOf(kept.path))
        const derived = yield* derive(plan, kept, type, rendered?.head ?? begun.head, rendered?.image ?? null)
        const reply = yield* answer(plan, call, kept, type, decided, derived)
        room.keep(kept, rendered !== null && rendered.head !== null)
        return key === null ? reply : yield* key.keep(reply)
      })
      // A storage operation continues after its sender has disconnected. It would end after the rollback, so the rollback waits for it. A body that
      // breaks off ends it at once.
      return yield* Effect.uninterruptibleMask((restore) =>
        Effect.onExit(
          Effect.flatMap(stored, (reply) => Effect.as(restore(Effect.promise(() => Promise.resolve())), reply)),
          (exit) =>
            exit._tag === "Success" && exit.value.headers["idempotency-replayed"] === undefined
              ? Effect.void
              : undo
        )
      )
    }),
    Effect.sync(() => room.release())
  )
})

/** The ticket, and what the answer tells the sender about the file. */
const answer = (
  { access, field, files }: UploadPlan,
  call: Call,
  file: StoredFile & { size: number },
  type: string,
  { corrected }: DecidedType,
  { cells }: Derived
): Effect.Effect<Reply, Problem> => {
  const ticket = { uri: writeStored(file), derived: cells, expires: files.now() + ticketMs }
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
  return Effect.succeed(json(201, JSON.stringify(body), { "cache-control": "no-store" }))
}

/** `POST /{resource}:upload?field=…&name=…`: 201 with a ticket. The body is the file, or a form with one file. */
export const upload = (core: Core, call: Call, resource: string, incoming: Incoming): Effect.Effect<Reply, Problem> =>
  pipeline(
    () => Result.gen(() => planUpload(core, call, resource, incoming)),
    (plan) =>
      Effect.flatMap(
        incoming.open,
        (file) =>
          plan.key === null
            ? store(call, plan, incoming, file)
            : plan.key.run(file, () => store(call, plan, incoming, file))
      )
  )
