/**
 * Types of files: the table from extensions to types, what an `accept` takes, and how three hints (content, name, Content-Type) give one type (spec
 * 2, How the type is decided). It reads no file: the hint from the content is an argument.
 */

const octetStream = "application/octet-stream"
const office = "application/vnd.openxmlformats-officedocument"

/**
 * Types and their extensions. Files of a type are stored with its first extension. Each extension occurs once. HTML and scripts are not in the
 * table, so that nothing is ever served as such.
 */
const table: ReadonlyArray<readonly [type: string, extensions: string]> = [
  [octetStream, "bin"],
  ["image/jpeg", "jpg jpeg jpe jfif"],
  ["image/png", "png"],
  ["image/apng", "apng"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
  ["image/avif", "avif"],
  ["image/tiff", "tif tiff"],
  ["image/bmp", "bmp dib"],
  ["image/heic", "heic"],
  ["image/heif", "heif"],
  ["image/jxl", "jxl"],
  ["image/jp2", "jp2"],
  ["image/x-icon", "ico"],
  ["image/icns", "icns"],
  ["image/svg+xml", "svg"],
  ["image/vnd.adobe.photoshop", "psd"],
  ["image/x-canon-cr2", "cr2"],
  ["image/x-canon-cr3", "cr3"],
  ["image/x-nikon-nef", "nef"],
  ["image/x-sony-arw", "arw"],
  ["image/x-adobe-dng", "dng"],
  ["image/x-olympus-orf", "orf"],
  ["image/x-panasonic-rw2", "rw2"],
  ["image/x-fujifilm-raf", "raf"],
  ["image/x-xcf", "xcf"],
  ["image/vnd.dwg", "dwg"],
  ["application/pdf", "pdf"],
  ["application/postscript", "ps"],
  ["application/eps", "eps"],
  ["application/rtf", "rtf"],
  ["application/epub+zip", "epub"],
  ["application/x-mobipocket-ebook", "mobi"],
  [`${office}.wordprocessingml.document`, "docx"],
  [`${office}.wordprocessingml.template`, "dotx"],
  [`${office}.spreadsheetml.sheet`, "xlsx"],
  [`${office}.spreadsheetml.template`, "xltx"],
  [`${office}.presentationml.presentation`, "pptx"],
  [`${office}.presentationml.template`, "potx"],
  [`${office}.presentationml.slideshow`, "ppsx"],
  ["application/vnd.ms-word.document.macroenabled.12", "docm"],
  ["application/vnd.ms-word.template.macroenabled.12", "dotm"],
  ["application/vnd.ms-excel.sheet.macroenabled.12", "xlsm"],
  ["application/vnd.ms-excel.template.macroenabled.12", "xltm"],
  ["application/vnd.ms-powerpoint.presentation.macroenabled.12", "pptm"],
  ["application/vnd.ms-powerpoint.template.macroenabled.12", "potm"],
  ["application/vnd.ms-powerpoint.slideshow.macroenabled.12", "ppsm"],
  ["application/msword", "doc"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.ms-powerpoint", "ppt"],
  ["application/vnd.ms-outlook", "msg pst"],
  ["application/x-cfb", "cfb"],
  ["application/vnd.visio", "vsdx"],
  ["application/vnd.oasis.opendocument.text", "odt"],
  ["application/vnd.oasis.opendocument.text-template", "ott"],
  ["application/vnd.oasis.opendocument.spreadsheet", "ods"],
  ["application/vnd.oasis.opendocument.spreadsheet-template", "ots"],
  ["application/vnd.oasis.opendocument.presentation", "odp"],
  ["application/vnd.oasis.opendocument.presentation-template", "otp"],
  ["application/vnd.oasis.opendocument.graphics", "odg"],
  ["application/vnd.apple.pages", "pages"],
  ["application/vnd.apple.numbers", "numbers"],
  ["application/vnd.apple.keynote", "key"],
  ["application/zip", "zip"],
  ["application/gzip", "gz tgz"],
  ["application/x-tar", "tar"],
  ["application/x-bzip2", "bz2"],
  ["application/x-xz", "xz"],
  ["application/zstd", "zst"],
  ["application/x-lz4", "lz4"],
  ["application/lzip", "lz"],
  ["application/x-7z-compressed", "7z"],
  ["application/x-rar-compressed", "rar"],
  ["application/x-compress", "z"],
  ["application/x-lzh-compressed", "lzh"],
  ["application/x-arj", "arj"],
  ["application/x-cpio", "cpio"],
  ["application/x-unix-archive", "ar"],
  ["application/x-deb", "deb"],
  ["application/x-rpm", "rpm"],
  ["application/vnd.ms-cab-compressed", "cab"],
  ["application/x-apple-diskimage", "dmg"],
  ["application/x-iso9660-image", "iso"],
  ["application/java-archive", "jar"],
  ["application/vnd.android.package-archive", "apk"],
  ["application/x-xpinstall", "xpi"],
  ["application/x-google-chrome-extension", "crx"],
  ["application/x-msdownload", "exe dll"],
  ["application/x-elf", "elf"],
  ["application/x-mach-binary", "macho"],
  ["application/wasm", "wasm"],
  ["application/java-vm", "class"],
  ["application/x-shockwave-flash", "swf"],
  ["application/x-ms-shortcut", "lnk"],
  ["application/vnd.ms-htmlhelp", "chm"],
  ["application/x-sqlite3", "sqlite"],
  ["application/vnd.apache.parquet", "parquet"],
  ["application/vnd.apache.arrow.file", "arrow"],
  ["application/avro", "avro"],
  ["application/dicom", "dcm"],
  ["application/x-esri-shape", "shp"],
  ["application/vnd.tcpdump.pcap", "pcap"],
  ["application/pgp-encrypted", "pgp"],
  ["application/ogg", "ogx"],
  ["application/mxf", "mxf"],
  ["application/vnd.ms-fontobject", "eot"],
  ["application/x-indesign", "indd"],
  ["application/x-blender", "blend"],
  ["application/xml", "xml"],
  ["application/json", "json"],
  ["font/woff", "woff"],
  ["font/woff2", "woff2"],
  ["font/ttf", "ttf"],
  ["font/otf", "otf"],
  ["font/collection", "ttc"],
  ["model/gltf-binary", "glb"],
  ["model/stl", "stl"],
  ["model/3mf", "3mf"],
  ["text/plain", "txt text log"],
  ["text/csv", "csv"],
  ["text/tab-separated-values", "tsv"],
  ["text/markdown", "md markdown"],
  ["text/calendar", "ics"],
  ["text/vcard", "vcf"],
  ["text/vtt", "vtt"],
  ["audio/mpeg", "mp3 mp2 mp1"],
  ["audio/mp4", "m4a f4a m4b"],
  ["audio/wav", "wav"],
  ["audio/flac", "flac"],
  ["audio/ogg", "ogg oga opus spx"],
  ["audio/aac", "aac"],
  ["audio/aiff", "aif aiff"],
  ["audio/midi", "mid midi"],
  ["audio/amr", "amr"],
  ["audio/ape", "ape"],
  ["audio/wavpack", "wv"],
  ["audio/x-ms-asf", "wma"],
  ["audio/x-caf", "caf"],
  ["video/mp4", "mp4 m4v f4v"],
  ["video/webm", "webm"],
  ["video/ogg", "ogv ogm"],
  ["video/quicktime", "mov qt"],
  ["video/matroska", "mkv"],
  ["video/vnd.avi", "avi"],
  ["video/mpeg", "mpg mpeg"],
  ["video/mp2t", "ts mts"],
  ["video/3gpp", "3gp"],
  ["video/3gpp2", "3g2"],
  ["video/x-flv", "flv"],
  ["video/x-ms-asf", "wmv asf"]
]

const typeByExtension = new Map<string, string>()
const extensionByType = new Map<string, string>()
for (const [type, listed] of table) {
  const extensions = listed.split(" ")
  extensionByType.set(type, extensions[0]!)
  for (const extension of extensions) typeByExtension.set(extension, type)
}

/** Other names of types in the table. */
const synonyms: { readonly [type: string]: string } = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
  "image/x-ms-bmp": "image/bmp",
  "image/vnd.microsoft.icon": "image/x-icon",
  "image/heic-sequence": "image/heic",
  "image/heif-sequence": "image/heif",
  "application/x-pdf": "application/pdf",
  "application/x-zip-compressed": "application/zip",
  "application/x-zip": "application/zip",
  "application/x-gzip": "application/gzip",
  "application/vnd.rar": "application/x-rar-compressed",
  "application/x-rar": "application/x-rar-compressed",
  "application/vnd.microsoft.portable-executable": "application/x-msdownload",
  "application/x-executable": "application/x-elf",
  "application/vnd.sqlite3": "application/x-sqlite3",
  "application/vnd.ms-asf": "video/x-ms-asf",
  "text/rtf": "application/rtf",
  "text/xml": "application/xml",
  "text/json": "application/json",
  "text/x-markdown": "text/markdown",
  "text/x-csv": "text/csv",
  "application/csv": "text/csv",
  "audio/mp3": "audio/mpeg",
  "audio/x-m4a": "audio/mp4",
  "audio/m4a": "audio/mp4",
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/x-flac": "audio/flac",
  "audio/opus": "audio/ogg",
  "audio/x-aiff": "audio/aiff",
  "audio/x-midi": "audio/midi",
  "video/x-m4v": "video/mp4",
  "video/x-matroska": "video/matroska",
  "video/x-msvideo": "video/vnd.avi",
  "video/avi": "video/vnd.avi",
  "video/mp1s": "video/mpeg",
  "video/mp2p": "video/mpeg"
}

/** A media type in lower case without parameters, under the name that the table uses. Null for an invalid one. */
export const mediaType = (raw: string | null): string | null => {
  if (raw === null) return null
  const type = raw.split(";", 1)[0]!.trim().toLowerCase()
  if (!/^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(type)) return null
  return Object.hasOwn(synonyms, type) ? synonyms[type]! : type
}

/** The type that an extension (lower case, no dot) is served as; `application/octet-stream` when the table does not have it. */
export const typeOfExtension = (extension: string): string => typeByExtension.get(extension) ?? octetStream

/** The extension that files of a type are stored with. */
export const extensionOfType = (type: string): string => extensionByType.get(type) ?? "bin"

/** Whether the table has the type. Files are stored and served only with types of the table. */
export const isKnownType = (type: string): boolean => extensionByType.has(type)

/** The types of text that a name or a Content-Type decides (docs/guides/files.md). */
const textTypes: ReadonlySet<string> = new Set([
  "text/csv",
  "text/tab-separated-values",
  "text/plain",
  "text/markdown",
  "application/json"
])

/** Whether a type passes an `accept`: exact types, `type/*`, `*\/*`; null takes everything. `image/*` has no SVG, which is a document with scripts. */
export const isAccepted = (accept: readonly string[] | null, type: string): boolean =>
  accept === null || accept.some((pattern) =>
    pattern === "*/*" || pattern === type ||
    (pattern.endsWith("/*") && type.startsWith(pattern.slice(0, -1)) && type !== "image/svg+xml")
  )

/** Types whose files a browser may show in place; everything else is downloaded (docs/guides/files.md#what-is-safe). */
export const isInline = (type: string): boolean =>
  type === "application/pdf" || type.startsWith("audio/") || type.startsWith("video/") ||
  (type.startsWith("image/") && type !== "image/svg+xml")

/** Types that images are made from (docs/guides/files.md#images). */
export const isProcessed = (type: string): boolean =>
  ["image/jpeg", "image/png", "image/webp", "image/avif", "image/gif", "image/tiff"].includes(type)

/** Signatures of two or three letters with which ordinary text can begin: "BMW is …", "MZ is …", "ID3", "BZh". */
const weakSignatures: ReadonlySet<string> = new Set([
  "image/bmp",
  "application/x-msdownload",
  "application/x-bzip2",
  "application/x-compress",
  "application/x-arj",
  "application/x-shockwave-flash",
  "audio/mpeg",
  "video/x-flv",
  "image/x-icon",
  "application/x-nintendo-nes-rom"
])

/** Types that are text, whichever hint names them. The rules for text then decide. */
const textual: ReadonlySet<string> = new Set(["application/xml", "text/plain"])

/** Old Office files share one container format. Only their names tell them apart. */
const containers: ReadonlySet<string> = new Set([
  "application/msword",
  "application/vnd.ms-excel",
  "application/vnd.ms-powerpoint",
  "application/vnd.ms-outlook"
])

/** Bytes at the beginning of a file that its type is decided by. */
export const detectedBytes = 64 * 1024

/** Whether bytes are UTF-8 without NUL. `whole` false: they are the beginning of more, and may end within a character. */
export const isText = (bytes: Uint8Array, whole: boolean): boolean => {
  if (bytes.includes(0)) return false
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !whole })
    return true
  } catch {
    return false
  }
}

/** Whether the text of a file is an SVG: its first element is one, behind what may stand before it. */
export const isSvg = (bytes: Uint8Array): boolean => {
  const text = new TextDecoder().decode(bytes).trimStart()
  for (let at = 0; at < text.length;) {
    const end = text.startsWith("<!--", at)
      ? "-->"
      : text.startsWith("<?", at)
      ? "?>"
      : text.startsWith("<!", at)
      ? ">"
      : null
    if (end === null) return /^<(?:svg:)?svg[\s/>]/.test(text.slice(at, at + 10))
    const close = text.indexOf(end, at + 2)
    if (close === -1) return false
    at = close + end.length
    while (/\s/.test(text.charAt(at))) at++
  }
  return false
}

const svg = "image/svg+xml"

/** What is known of a file that arrives. */
export interface TypeHints {
  /** What its first bytes say, as a detector names it; null: not recognized. */
  readonly content: string | null
  /** Whether its first bytes are text (see `isText`). */
  readonly text: boolean
  /** Whether they are the text of an SVG (see `isSvg`). */
  readonly svg?: boolean
  /** Extension of the name that was sent, lower case, without dot. */
  readonly extension: string
  /** The Content-Type that was sent. */
  readonly declared: string | null
}

/** The type of a file, and the claimed type where it differs. */
export interface DecidedType {
  readonly type: string
  readonly corrected: { readonly from: string; readonly to: string } | null
}

const recognized = ({ content, extension, text }: TypeHints): string | null => {
  const type = mediaType(content)
  if (type === null || textual.has(type) || (text && weakSignatures.has(type))) return null
  const named = typeByExtension.get(extension)
  if (type === "application/x-cfb" && named !== undefined && containers.has(named)) return named
  return isKnownType(type) ? type : octetStream
}

/** Decides the type from the three hints. The caller then checks whether the field accepts it (`isAccepted`). */
export const decideType = (hints: TypeHints, accept: readonly string[] | null): DecidedType => {
  const sent = mediaType(hints.declared)
  const declared = sent === octetStream ? null : sent
  const named = typeByExtension.get(hints.extension) ?? null
  const nameOnly = named === octetStream ? null : named
  const decided = (type: string, claims: ReadonlyArray<string | null>): DecidedType => {
    const from = claims.find((claim) => claim !== null && claim !== type) ?? null
    return { type, corrected: from === null ? null : { from, to: type } }
  }
  const content = recognized(hints)
  if (content !== null) return decided(content, [nameOnly, declared])
  if (hints.text) {
    // A document with scripts: only where a field names it, and only ever as an attachment.
    if (hints.svg === true && accept?.includes(svg) === true && (nameOnly ?? declared ?? svg) === svg) {
      return decided(svg, [])
    }
    if (nameOnly !== null && textTypes.has(nameOnly)) return decided(nameOnly, [])
    const type = hints.extension === "" && declared !== null && textTypes.has(declared) ? declared : "text/plain"
    return decided(type, [nameOnly ?? declared])
  }
  const listed = nameOnly !== null && accept?.includes(nameOnly) === true &&
    (declared === null || declared === nameOnly)
  return decided(listed ? nameOnly : octetStream, [nameOnly, declared])
}
