/**
 * A file field after its declaration has been checked (docs/guides/files.md). Everything about files works on this value; nothing here judges a
 * declaration or reads a file.
 */

/** Formats that copies of images are made in. */
export type ImageFormat = "webp" | "avif" | "jpeg" | "png"
export const imageFormats: readonly ImageFormat[] = ["webp", "avif", "jpeg", "png"]

/** A resized copy of an image, as declared. */
export interface Variant {
  readonly name: string
  /** Most pixels; null: no bound on this side. */
  readonly width: number | null
  readonly height: number | null
  readonly fit: "inside" | "cover"
  readonly format: ImageFormat
  /** 1 to 100; null: the format's own default. */
  readonly quality: number | null
}

/**
 * A file as records show it (docs/guides/files.md#from-upload-to-cleanup). `url` is made for each answer and stands in no record that rules and hooks see;
 * `missing`: the value is none of ours, or its provider is not configured.
 */
export type FileValue = {
  readonly uri: string
  readonly name?: string
  readonly type?: string
  /** Bytes. */
  readonly size?: number
  readonly url?: string
  readonly variants?: {
    readonly [name: string]: {
      readonly url: string
      readonly type: string
      readonly width: number | null
      readonly height: number | null
    }
  }
  readonly placeholder?: string | null
  readonly missing?: true
}

/** What a custom processor is given (docs/guides/files.md#images). */
export interface ProcessedFile {
  readonly name: string
  readonly type: string
  /** Bytes. */
  readonly size: number
  /** The first 256 KB. */
  readonly head: Uint8Array
  /** The whole file as a stream of bytes. */
  readonly read: () => AsyncIterable<Uint8Array>
}

/** Gives the value of a field from an uploaded file. */
export type Processor =
  | { readonly of: "width" | "height" | "size" | "type" }
  | { readonly of: "ratio"; readonly decimals: number }
  | {
    readonly of: "custom"
    /** Types that it takes, as in `accept`; null: all. */
    readonly accepts: readonly string[] | null
    readonly run: (file: ProcessedFile) => unknown
  }

/** Bytes of a file that a processor gets as its head: 256 KB. */
export const headBytes = 256_000

/** A field of a file, or of a list of files. Of a list, `derive` is empty and `placeholder` null: both would say something of one file. */
export interface FileField {
  /** Types and `type/*`; null takes every type. */
  readonly accept: readonly string[] | null
  /** Largest upload in bytes. */
  readonly maxSize: number
  /** Name of the provider that uploads are stored with. */
  readonly provider: string
  /** `public()`: stored with the provider of that name. */
  readonly public: boolean
  /** Processors by the name of the field that takes their value. */
  readonly derive: ReadonlyMap<string, Processor>
  /** Name of the text field that takes the placeholder of an image. */
  readonly placeholder: string | null
  readonly variants: readonly Variant[]
  /** What is stored instead of an uploaded image. */
  readonly original: Omit<Variant, "name"> | null
  readonly externalUrls: boolean
  /** Longest lifetime of its links in seconds. Null: that of the provider. */
  readonly linkLifetime: number | null
}

/** 50 MB (docs/guides/files.md). */
export const defaultMaxSize = 50_000_000

/** Most files of a field that holds several: the default, and the bound of a declaration. */
export const mostFiles = 100
export const defaultFiles = 20

/** Names of the fields that are written with the file, and with nothing else. */
export const derivedNames = ({ derive, placeholder }: FileField): readonly string[] =>
  placeholder === null ? [...derive.keys()] : [...derive.keys(), placeholder]

/** Whether an upload of an image has to be decoded for this field. */
export const needsImage = ({ derive, original, placeholder, variants }: FileField): boolean =>
  placeholder !== null || original !== null || variants.length > 0 || needsSize(derive)

/** Whether a processor asks for the size of an image in pixels. */
const needsSize = (derive: FileField["derive"]): boolean =>
  [...derive.values()].some(({ of }) => of === "width" || of === "height" || of === "ratio")
