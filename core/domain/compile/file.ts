/**
 * File fields and the part `files` of a configuration: what may be said, what goes together, and which providers there are (docs/guides/files.md). Whether a
 * folder can be written or a bucket answers is asked elsewhere.
 */

import { type Bag, isBag, isFunction, isTextList } from "../bag.ts"
import type { FileSpec } from "../declare/file.ts"
import { filesEnvironment } from "../declare/file.ts"
import { didYouMean, quoteValue, type Report } from "../declare/refusal.ts"
import { lifetimeFix, readLinkLifetime } from "../file/link.ts"
import { defaultProvider, providerVariable, readProvider, readProviderAddress } from "../file/provider.ts"
import type { Provider } from "../file/provider.ts"
import { readBytes, readDuration } from "../file/size.ts"
import { isKnownType, mediaType, typeOfExtension } from "../file/type.ts"
import { isProviderName } from "../file/uri.ts"
import { defaultMaxSize, imageFormats, needsImage } from "../model/file.ts"
import type { FileField, Processor, Variant } from "../model/file.ts"
import type { Model, Models } from "../model/model.ts"
import type { Shape } from "../value/kind.ts"
import { isCount, isName, refuseUnknownKeys, type Say } from "./check.ts"
import type { DraftColumn, DraftField } from "./field.ts"

/** What is known of the resource that a field belongs to. */
interface Draft {
  readonly name: string
  readonly fields: ReadonlyMap<string, DraftField>
  readonly key: readonly DraftField[]
  readonly owner: DraftField | null
  readonly tenant: DraftColumn | null
  readonly softDelete: DraftColumn | null
  readonly version: DraftColumn | null
}

/** `files` of a configuration that holds, with everything that fields name. */
export interface FilesConfig {
  /** Every provider that a field names or the configuration declares. */
  readonly providers: ReadonlyMap<string, Provider>
  /** Milliseconds; null: the default of each provider. */
  readonly retention: number | null
  readonly secret: string | null
  readonly trustedHosts: readonly string[]
  /** As passed in; null: none. */
  readonly imageProcessor: unknown
  /** Whether a resource has a file field that uploads may be stored for. */
  readonly used: boolean
}

// ------------------------------------------------------------------------------------------------------------------- fields

/** Types of an `accept` as the table names them. */
const readAccept = (raw: unknown, say: Say): readonly string[] | null => {
  if (raw === undefined) return null
  const fix = "Write accept([\"image/*\", \"application/pdf\"]); */* takes every type."
  if (!isTextList(raw) || raw.length === 0) {
    say(`accept(${quoteValue(raw)}) is no list of types.`, fix)
    return null
  }
  return raw.flatMap((text) => {
    const pattern = text.trim().toLowerCase()
    if (pattern === "*/*" || /^(?:image|audio|video|text|application|font|model)\/\*$/.test(pattern)) return [pattern]
    const type = mediaType(pattern)
    if (type !== null && isKnownType(type)) return [type]
    const named = typeOfExtension(pattern.replace(/^\.|^.*\//, ""))
    say(
      `accept() names ${quoteValue(text)}, which no file ever has for a type.`,
      named === "application/octet-stream" ? fix : `Did you mean "${named}"?`
    )
    return []
  })
}

const readCopy = (raw: unknown, path: string, say: Say): Omit<Variant, "name"> | null => {
  if (!isBag(raw)) {
    say(`${path} is ${quoteValue(raw)}.`, "Write { width: 400, height: 400 }.")
    return null
  }
  refuseUnknownKeys(raw, ["width", "height", "fit", "format", "quality"], path, say)
  const side = (name: "width" | "height"): number | null => {
    const value = raw[name]
    if (value === undefined) return null
    if (isCount(value, 1, 16_384)) return value
    say(`${path}.${name} is ${quoteValue(value)}.`, "Write a whole number of pixels from 1 to 16384.")
    return null
  }
  const { fit = "inside", format = "webp", quality = null } = raw
  const [width, height] = [side("width"), side("height")]
  if (fit !== "inside" && fit !== "cover") say(`${path}.fit is ${quoteValue(fit)}.`, "Write \"inside\" or \"cover\".")
  if (fit === "cover" && (width === null || height === null)) {
    say(`${path} covers a box of which one side is not given.`, "Give width and height, or write fit: \"inside\".")
  }
  const imageFormat = imageFormats.find((each) => each === format)
  if (imageFormat === undefined) say(`${path}.format is ${quoteValue(format)}.`, didYouMean(format, imageFormats))
  if (quality !== null && !isCount(quality, 1, 100)) {
    say(`${path}.quality is ${quoteValue(quality)}.`, "Write a whole number from 1 to 100.")
  }
  return {
    width,
    height,
    fit: fit === "cover" ? "cover" : "inside",
    format: imageFormat ?? "webp",
    quality: isCount(quality, 1, 100) ? quality : null
  }
}

const readVariants = (raw: unknown, say: Say): readonly Variant[] => {
  if (raw === undefined) return []
  if (!isBag(raw)) {
    say(`variants(${quoteValue(raw)}) has no variants.`, "Write variants({ card: { width: 400, height: 300 } }).")
    return []
  }
  return Object.keys(raw).flatMap((name) => {
    if (!isName(name) || name.length > 40) {
      say(
        `${quoteValue(name)} is not a variant's name.`,
        "Use lower-case letters, digits and _, at most 40 characters."
      )
      return []
    }
    const copy = readCopy(raw[name], `variants.${name}`, say)
    return copy === null ? [] : [{ name, ...copy }]
  })
}

/** Kinds of fields that take what each processor gives. */
const processorKinds = { width: "integer", height: "integer", size: "integer", type: "text", ratio: "decimal" } as const

const readProcessor = (raw: unknown, name: string, say: Say): Processor | null => {
  const given = isBag(raw) && raw["_tag"] === "Processor" ? raw["processor"] : null
  if (!isBag(given)) {
    say(
      `derive.${name} is ${quoteValue(raw)}, not a processor.`,
      "Write imageSize(\"width\"), aspectRatio(), fileSize(), fileType() or processor({ run })."
    )
    return null
  }
  const { of } = given
  if (of === "ratio") {
    if (isCount(given["decimals"], 0, 20)) return { of, decimals: given["decimals"] }
    say(`derive.${name} has ${quoteValue(given["decimals"])} places.`, "Write aspectRatio({ decimals: 4 }).")
    return null
  }
  if (of === "custom") {
    const { accepts, run } = given
    if (!isFunction<Extract<Processor, { of: "custom" }>["run"]>(run)) {
      say(`derive.${name} has no function run.`, "Write processor({ run: async (file) => … }).")
      return null
    }
    const types = accepts === null ? null : readAccept(accepts, say)
    return { of, accepts: types, run }
  }
  if (of === "width" || of === "height" || of === "size" || of === "type") return { of }
  say(`derive.${name} is no processor that there is.`, "Write imageSize(\"width\") or imageSize(\"height\").")
  return null
}

/** Fields that an upload sets: they are declared, read-only, and nobody else's. */
const readTarget = (draft: Draft, name: string, by: string, say: Say): DraftField | null => {
  const field = draft.fields.get(name)
  if (field === undefined) {
    say(`${by} names "${name}", which is not a declared field.`, didYouMean(name, draft.fields.keys()))
    return null
  }
  if (field.spec.file !== null) {
    say(`${by} names "${name}", which is a file field.`, "Name a field for the value.")
    return null
  }
  if (!field.spec.readOnly) {
    say(`${by} names "${name}", which callers could write.`, `Add readOnly() to "${name}".`)
  }
  return field
}

const readDerive = (
  raw: unknown,
  draft: Draft,
  shapes: ReadonlyMap<DraftField, Shape>,
  say: Say
): ReadonlyMap<string, Processor> => {
  const processors = new Map<string, Processor>()
  if (raw === undefined) return processors
  if (!isBag(raw)) {
    say(`derive(${quoteValue(raw)}) names no fields.`, "Write derive({ width: imageSize(\"width\") }).")
    return processors
  }
  for (const name of Object.keys(raw)) {
    const processor = readProcessor(raw[name], name, say)
    const target = readTarget(draft, name, "derive", say)
    if (processor === null || target === null) continue
    const kind = shapes.get(target)?.kind
    const wanted = processor.of === "custom" ? undefined : processorKinds[processor.of]
    if (wanted !== undefined && kind !== wanted) {
      say(
        `derive.${name} gives a value of kind ${wanted}, and "${name}" is of kind ${kind ?? "?"}.`,
        `Declare it with f.${wanted}().`
      )
    }
    processors.set(name, processor)
  }
  return processors
}

const fileSpecNames = [
  "accept",
  "maxSize",
  "public",
  "storage",
  "derive",
  "placeholder",
  "variants",
  "original",
  "externalUrls",
  "linkLifetime"
]

/** Refuses what a file field cannot be (docs/guides/files.md). */
const checkRoles = (draft: Draft, field: DraftField, say: Say): void => {
  const { spec } = field
  for (const modifier of ["filterable", "sortable", "searched", "sensitive"] as const) {
    if (spec[modifier]) say(`A file field cannot be ${modifier}.`, `Remove ${modifier}().`)
  }
  if (spec.alias !== null) say("A file field cannot have an alias.", "Remove alias().")
  if (spec.default !== null || spec.dbDefault) {
    say("A file field cannot have a default: files come from uploads.", "Remove default() or dbDefault().")
  }
  // One field of the record cannot say something of each file in a list.
  for (const modifier of spec.kind === "files" ? ["derive", "placeholder"] as const : []) {
    if (spec.file?.[modifier] !== undefined) {
      say(
        `A list of files cannot have ${modifier}(): it writes a field of the record for one file.`,
        "Remove it, or use f.file()."
      )
    }
  }
  const holds = (column: Draft["tenant"]): boolean => column?.of === "field" && column.field === field
  const role = draft.key.includes(field)
    ? "in the primary key"
    : draft.owner === field
    ? "the owner"
    : holds(draft.tenant)
    ? "the tenant"
    : holds(draft.softDelete)
    ? "softDelete"
    : holds(draft.version)
    ? "version"
    : null
  if (role !== null) say(`A file field cannot be ${role}.`, "Choose another field.")
}

/** Compiles one file field; what was refused is left out of the answer, which is always usable. */
export const compileFileField = (
  draft: Draft,
  field: DraftField,
  shapes: ReadonlyMap<DraftField, Shape>,
  report: Report
): FileField => {
  const say: Say = (message, fix) => report(draft.name, field.name, message, fix)
  checkRoles(draft, field, say)
  const raw: FileSpec = isBag(field.spec.file) ? field.spec.file : {}
  refuseUnknownKeys(
    Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined)),
    fileSpecNames,
    "",
    say
  )
  const maxSize = raw.maxSize === undefined ? defaultMaxSize : readBytes(raw.maxSize)
  if (maxSize === null || maxSize === 0) {
    say(`maxSize(${quoteValue(raw.maxSize)}) is no size.`, "Write bytes, or a text such as maxSize(\"10 MB\").")
  }
  const { storage } = raw
  if (storage !== undefined && (typeof storage !== "string" || !isProviderName(storage))) {
    say(`storage(${quoteValue(storage)}) is not a provider's name.`, "Use lower-case letters, digits, - and _.")
  }
  if (storage !== undefined && raw.public === true) {
    say("The field is public() and has a storage().", "Keep one: public() is the provider named \"public\".")
  }
  const linkLifetime = raw.linkLifetime === undefined ? null : readLinkLifetime(raw.linkLifetime)
  if (raw.linkLifetime !== undefined && linkLifetime === null) {
    say(`linkLifetime(${quoteValue(raw.linkLifetime)}) is no lifetime of links.`, lifetimeFix)
  }
  if (raw.linkLifetime !== undefined && raw.public === true) {
    say("The field is public() and has a linkLifetime().", "Keep one: links of public files have no end.")
  }
  const one = field.spec.kind === "file"
  const derive = readDerive(one ? raw.derive : undefined, draft, shapes, say)
  let placeholder: string | null = null
  if (one && raw.placeholder !== undefined) {
    const name = typeof raw.placeholder === "string" ? raw.placeholder : ""
    const target = readTarget(draft, name, "placeholder", say)
    if (target !== null) {
      placeholder = name
      if (shapes.get(target)?.kind !== "text") {
        say(`placeholder names "${name}", which is no text.`, "Declare it with f.text().")
      }
      if (!target.spec.optional) {
        say(`placeholder names "${name}", which is not optional.`, `Add optional() to "${name}".`)
      }
      if (derive.has(name)) say(`"${name}" is named by derive and placeholder.`, "Name a field of its own for each.")
    }
  }
  return {
    accept: readAccept(raw.accept, say),
    maxSize: maxSize ?? defaultMaxSize,
    provider: raw.public === true ? "public" : typeof storage === "string" ? storage : "private",
    public: raw.public === true,
    derive,
    placeholder,
    variants: readVariants(raw.variants, say),
    original: raw.original === undefined ? null : readCopy(raw.original, "original", say),
    externalUrls: raw.externalUrls === true,
    linkLifetime
  }
}

/** Refuses a field that two uploads would set. */
export const checkDerived = (model: Model, report: Report): void => {
  const setBy = new Map<string, string>()
  for (const { file, name } of model.fields) {
    if (file === null) continue
    for (const target of [...file.derive.keys(), ...(file.placeholder === null ? [] : [file.placeholder])]) {
      const other = setBy.get(target)
      if (other !== undefined && other !== name) {
        report(
          model.name,
          name,
          `"${target}" is set by the uploads of "${other}", too.`,
          "Name a field of its own for each."
        )
      }
      setBy.set(target, name)
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- the configuration

const isHost = (text: string): boolean =>
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text)

const readHosts = (raw: unknown, say: Say): readonly string[] => {
  if (raw === undefined) return []
  const fix = "Write host names in lower case, without scheme, port and path: [\"images.example.com\"]."
  if (!isTextList(raw)) {
    say(`files.trustedHosts is ${quoteValue(raw)}.`, fix)
    return []
  }
  return raw.filter((host) => {
    if (isHost(host)) return true
    say(`files.trustedHosts has ${quoteValue(host)}.`, fix)
    return false
  })
}

/** The default folders of the service; composition knows where they are. */
const dataFolder = "data"

/** Reads `files`, and what the environment says of providers: it wins for the provider that it names. */
export const compileFiles = (raw: unknown, models: Models, report: Report): FilesConfig => {
  const say: Say = (message, fix) => report(null, null, message, fix)
  const files: Bag = isBag(raw) ? raw : {}
  if (raw !== undefined && !isBag(raw)) say(`files is ${quoteValue(raw)}.`, "Write files: { providers: { … } }.")
  refuseUnknownKeys(files, ["providers", "retention", "secret", "trustedHosts", "imageProcessor"], "files", say)
  const { [filesEnvironment]: environment }: { readonly [filesEnvironment]?: unknown } = files
  const variables: Bag = isBag(environment) ? environment : {}
  const declared: Bag = isBag(files["providers"]) ? files["providers"] : {}
  if (files["providers"] !== undefined && !isBag(files["providers"])) {
    say(
      `files.providers is ${quoteValue(files["providers"])}.`,
      "Write providers: { archive: localFiles({ dir: \"…\" }) }."
    )
  }

  const named = new Map<string, { readonly resource: string; readonly field: string }>()
  for (const model of models.values()) {
    for (const { file, name } of model.fields) {
      if (file !== null && !named.has(file.provider)) named.set(file.provider, { resource: model.name, field: name })
    }
  }
  const providers = new Map<string, Provider>()
  const seen = new Map<string, string>()
  for (const name of new Set([...Object.keys(declared), ...named.keys()])) {
    if (!isProviderName(name)) {
      if (name in declared) {
        say(`${quoteValue(name)} is not a provider's name.`, "Use lower-case letters, digits, - and _.")
      }
      continue
    }
    const variable = providerVariable(name)
    const other = seen.get(variable)
    if (other !== undefined) {
      say(`The providers "${other}" and "${name}" have one variable, ${variable}.`, "Rename one of them.")
    }
    seen.set(variable, name)
    const address = variables[variable]
    const provider = typeof address === "string"
      ? readProviderAddress(name, address, variable, say)
      : name in declared
      ? readProvider(name, declared[name], say)
      : name === "private" || name === "public"
      ? defaultProvider(name, dataFolder)
      : null
    if (provider !== null) providers.set(name, provider)
    else if (typeof address !== "string" && !(name in declared)) {
      const by = named.get(name)
      report(
        by?.resource ?? null,
        by?.field ?? null,
        `The field is stored with "${name}", which is no configured provider.`,
        `Declare files.providers.${name}, or set ${variable}. ${
          didYouMean(name, [...Object.keys(declared), "private", "public"])
        }`
      )
    }
  }

  for (const model of models.values()) {
    for (const { file, name } of model.fields) {
      if (file === null || file.linkLifetime === null || providers.get(file.provider)?.public !== true) continue
      report(
        model.name,
        name,
        `The field has a linkLifetime(), and its provider "${file.provider}" is public.`,
        "Remove linkLifetime(): links of public files have no end."
      )
    }
  }

  const processor = files["imageProcessor"] ?? null
  if (
    processor !== null &&
    !(isBag(processor) && processor["_tag"] === "ImageProcessor" && isFunction(processor["render"]))
  ) {
    say(
      `files.imageProcessor is ${quoteValue(processor)}.`,
      "Write imageProcessor: sharpImages(), from \"resource-admin/images\"."
    )
  }
  if (processor === null) {
    for (const model of models.values()) {
      for (const { file, name } of model.fields) {
        if (file === null || !needsImage(file)) continue
        report(
          model.name,
          name,
          "The field needs images to be decoded (variants, a placeholder or sizes), and there is no files.imageProcessor.",
          "Install sharp, and write files: { imageProcessor: sharpImages() } with sharpImages from \"resource-admin/images\"."
        )
      }
    }
  }
  const { retention, secret } = files
  const duration = retention === undefined ? null : readDuration(retention)
  if (retention !== undefined && duration === null) {
    say(`files.retention is ${quoteValue(retention)}.`, "Write a duration such as \"1d\", \"12 hours\" or \"0\".")
  }
  if (secret !== undefined && (typeof secret !== "string" || secret.length < 32)) {
    say("files.secret is shorter than 32 characters.", "Use 32 random bytes in base64: openssl rand -base64 32.")
  }
  return {
    providers,
    retention: duration,
    secret: typeof secret === "string" ? secret : null,
    trustedHosts: readHosts(files["trustedHosts"], say),
    imageProcessor: processor,
    used: named.size > 0
  }
}
