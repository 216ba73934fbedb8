/**
 * The declaration of file fields: `f.file()`, `f.files()` and their modifiers, the processors of derived fields, and the part `files` of a configuration (docs/guides/files.md).
 * Builders only record what was written; `compile/file.ts` judges it.
 */

import type { FileProviderDeclaration } from "../file/provider.ts"
import type { FileValue, ImageFormat, ProcessedFile, Processor } from "../model/file.ts"
import type { Json } from "../value/kind.ts"

/** A processor as declared: its own functions make it, so that nobody writes one by hand. */
export interface ProcessorDeclaration {
  readonly _tag: "Processor"
  readonly processor: Processor
}

/** A resized copy of an image (docs/guides/files.md#images). */
export interface VariantDeclaration {
  /** Most pixels; never enlarged. */
  readonly width?: number
  readonly height?: number
  /** `inside`: the whole image in the box. `cover`: fills the box and crops; needs both sides. Default `inside`. */
  readonly fit?: "inside" | "cover"
  /** Default `webp`. */
  readonly format?: ImageFormat
  /** 1 to 100; default the format's own. */
  readonly quality?: number
}

/** What was said of a file field, exactly as written. */
export interface FileSpec {
  readonly accept?: unknown
  readonly maxSize?: unknown
  readonly public?: true
  readonly storage?: unknown
  readonly derive?: unknown
  readonly placeholder?: unknown
  readonly variants?: unknown
  readonly original?: unknown
  readonly externalUrls?: true
  readonly linkLifetime?: unknown
}

/**
 * What other fields can be and files cannot. The types have no such methods. Where no types are checked they are recorded, so that the declaration is refused
 * with a reason (`compile/file.ts`), not by a method that is missing.
 */
const refused: { readonly [modifier: string]: (value: unknown) => object } = {
  filterable: () => ({ filterable: true }),
  sortable: () => ({ sortable: true }),
  searched: () => ({ searched: true }),
  sensitive: () => ({ sensitive: true }),
  dbDefault: () => ({ dbDefault: true }),
  alias: (alias) => ({ alias }),
  default: (value) => ({ default: { value } })
}

/** The part of a field's specification that a file field changes. */
interface Spec {
  readonly optional: boolean
  readonly readOnly: boolean
  readonly column: string | null
  readonly file: FileSpec | null
}

/** A file field under declaration. Every modifier gives a new builder. `Many`: it holds a list of files (`f.files()`). */
export class FileBuilder<
  S extends Spec,
  Optional extends boolean = false,
  ReadOnly extends boolean = false,
  Many extends boolean = false
> {
  readonly _tag = "Field"
  readonly spec: S
  declare readonly "~field": {
    readonly kind: Many extends true ? "files" : "file"
    readonly value: Many extends true ? readonly FileValue[] : FileValue
    /** What a body gives of a file: a ticket, the stored uri unchanged, or an https URL. */
    readonly input: Many extends true ? readonly string[] : string
    readonly optional: Optional
    readonly readOnly: ReadOnly
    /** A create without a list begins with none. */
    readonly generated: Many
  }

  constructor(spec: S) {
    this.spec = spec
  }

  #with(file: FileSpec): FileBuilder<S, Optional, ReadOnly, Many> {
    return new FileBuilder({ ...this.spec, file: { ...this.spec.file, ...file } })
  }

  /** The value may be null, and a create may leave it out. */
  optional(): FileBuilder<S, true, ReadOnly, Many> {
    return new FileBuilder({ ...this.spec, optional: true })
  }

  /** Never accepted in a request body: files that only imports write. */
  readOnly(): FileBuilder<S, Optional, true, Many> {
    return new FileBuilder({ ...this.spec, readOnly: true })
  }

  /** The column's name where it differs from the field's. */
  column(name: string): FileBuilder<S, Optional, ReadOnly, Many> {
    return new FileBuilder({ ...this.spec, column: name })
  }

  /** What people read instead of the name: at most 200 characters. */
  label(text: string): FileBuilder<S, Optional, ReadOnly, Many> {
    return new FileBuilder({ ...this.spec, label: text })
  }

  /** What somebody who fills the field in should know: plain text of at most 1,000 characters. */
  help(text: string): FileBuilder<S, Optional, ReadOnly, Many> {
    return new FileBuilder({ ...this.spec, help: text })
  }

  /** Allowed types: exact ones and `type/*`, checked against the type that the content has. Without it any type is taken. */
  accept(types: readonly string[]): FileBuilder<S, Optional, ReadOnly, Many> {
    return this.#with({ accept: types })
  }

  /** Largest upload: bytes, or a text such as `512 KiB` or `1.5 GB`. Default 50 MB. */
  maxSize(size: number | string): FileBuilder<S, Optional, ReadOnly, Many> {
    return this.#with({ maxSize: size })
  }

  /** Stored with the provider `public`: anyone with the link may open files. */
  public(): FileBuilder<S, Optional, ReadOnly, Many> {
    return this.#with({ public: true })
  }

  /** Stored with another provider than `private`. */
  storage(provider: string): FileBuilder<S, Optional, ReadOnly, Many> {
    return this.#with({ storage: provider })
  }

  /** Most files of a list, from 1 to 100. Default 20. */
  max(this: FileBuilder<S, Optional, ReadOnly, true>, files: number): FileBuilder<S, Optional, ReadOnly, true> {
    return new FileBuilder({ ...this.spec, max: files })
  }

  /** Values computed from each upload and written to other, read-only fields. Not of a list: its files share the record's fields. */
  derive(
    this: FileBuilder<S, Optional, ReadOnly, false>,
    processors: { readonly [field: string]: ProcessorDeclaration }
  ): FileBuilder<S, Optional, ReadOnly, false> {
    return this.#with({ derive: processors })
  }

  /** Each image's compact placeholder goes into this optional, read-only text field. Not of a list. */
  placeholder(
    this: FileBuilder<S, Optional, ReadOnly, false>,
    field: string
  ): FileBuilder<S, Optional, ReadOnly, false> {
    return this.#with({ placeholder: field })
  }

  /** Resized copies of each image, stored beside it. `original`: what is stored instead of the upload. */
  variants(
    variants: { readonly [name: string]: VariantDeclaration },
    more: { readonly original?: VariantDeclaration } = {}
  ): FileBuilder<S, Optional, ReadOnly, Many> {
    const given: { readonly original?: unknown } | null = more
    return this.#with({ variants, original: given?.original })
  }

  /** The longest that links of its private files are valid: from `5 minutes` to `2 hours`. Default that of the provider. */
  linkLifetime(duration: string): FileBuilder<S, Optional, ReadOnly, Many> {
    return this.#with({ linkLifetime: duration })
  }

  /** The field may also hold an https URL of a file elsewhere. */
  externalUrls(): FileBuilder<S, Optional, ReadOnly, Many> {
    return this.#with({ externalUrls: true })
  }
}

for (const [name, change] of Object.entries(refused)) {
  Object.defineProperty(FileBuilder.prototype, name, {
    value(this: FileBuilder<Spec>, value?: unknown) {
      return new FileBuilder({ ...this.spec, ...change(value) })
    }
  })
}

const made = (processor: Processor): ProcessorDeclaration => ({ _tag: "Processor", processor })

/** Width or height of an image in pixels as it is shown, for an integer field. */
export const imageSize = (side: "width" | "height"): ProcessorDeclaration => made({ of: side })

/** Width divided by height as decimal text, for a decimal field. `decimals`: places, default 4. */
export const aspectRatio = (options: { readonly decimals?: number } = {}): ProcessorDeclaration =>
  made({ of: "ratio", decimals: options.decimals ?? 4 })

/** Size in bytes, for an integer field. */
export const fileSize = (): ProcessorDeclaration => made({ of: "size" })

/** The type that was detected, for a text field. */
export const fileType = (): ProcessorDeclaration => made({ of: "type" })

/** A value of your own. `accepts`: types it takes, as in `accept`; its field stays null for others. A throw is a 500 and stores nothing. */
export const processor = (options: {
  readonly accepts?: readonly string[]
  readonly run: (file: ProcessedFile) => Json | Promise<Json>
}): ProcessorDeclaration => made({ of: "custom", accepts: options.accepts ?? null, run: options.run })

/** `files` of a configuration (docs/guides/files.md#providers). */
export interface FilesDeclaration {
  /** Places for files by name. `private` and `public` are there without it, in folders of the service. */
  readonly providers?: { readonly [name: string]: FileProviderDeclaration }
  /** How long a file stays after its row let it go: default `1d`, and `0` for a public provider. */
  readonly retention?: string | 0
  /** Signs uploads and links; default `SERVICE_FILES_SECRET`, else `AUTH_SECRET`. */
  readonly secret?: string
  /** Hosts whose images the admin app loads with a referrer: lower-case host names. */
  readonly trustedHosts?: readonly string[]
  /** `sharpImages()` of `resource-admin/images`; needed for variants, placeholders and sizes of images. */
  readonly imageProcessor?: { readonly _tag: "ImageProcessor" }
}

/** Where assembly puts the variables of the environment, for the compiler: a symbol, so that nobody writes it by hand. */
export const filesEnvironment = Symbol.for("resource-admin/files-environment")
