/**
 * The Storage port on a folder. A file is written under a temporary name, flushed to the disk and renamed. So no half file is ever read,
 * and no confirmed file is lost. Symbolic links are not followed out of the folder.
 */

import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import { closeSync, constants, fstatSync, open as openCallback, read as readCallback } from "node:fs"
import type { Dirent } from "node:fs"
import { mkdir, open, readdir, realpath, rename, rmdir, stat, unlink } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { dirname, join, resolve, sep } from "node:path"
import { promisify } from "node:util"
import { StorageError } from "../../core/ports/storage.ts"
import type {
  Appended,
  ByteRange,
  Bytes,
  ListedFile,
  StorageService,
  StoredBody,
  StoredHead
} from "../../core/ports/storage.ts"

export interface LocalStorageOptions {
  /** Absolute path of the folder; it is made when the first file comes. */
  readonly dir: string
  /** Files that other users of the machine (a web server) may read. */
  readonly public: boolean
}

/** Bytes that are buffered before a write, and bytes of one read. */
const chunkBytes = 256 * 1024

/** Bytes after which the disk begins to write what it was given, while more is received. */
const flushBytes = 16 * 2 ** 20

/** Milliseconds for which the check of a folder (no links that lead outside) stays valid. */
const trustedMs = 5_000

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

const isMissing = (error: unknown): boolean => ["ENOENT", "ENOTDIR", "EISDIR", "ENAMETOOLONG"].includes(codeOf(error))

/** A link stands where a file or folder of ours should. */
class Escape extends Error {}

/** Wraps what a body throws, to tell it from what the disk says. */
class BodyError extends Error {}

/** What an error of the disk or of a body means to callers: no room, no rights, a sender that failed, or a disk that does not answer. */
export const failure = (error: unknown): StorageError => {
  if (error instanceof BodyError) return new StorageError({ reason: "Body", cause: error.cause })
  const code = codeOf(error)
  const full = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG"
  const denied = code === "EACCES" || code === "EPERM" || code === "EROFS" || error instanceof Escape
  return new StorageError({ reason: full ? "Full" : denied ? "Denied" : "Unavailable", cause: error })
}

const attempt = <A>(work: () => Promise<A>): Effect.Effect<A, StorageError> =>
  Effect.tryPromise({ try: work, catch: failure })

/**
 * Writes a body in buffers, from a place in the file on. The next chunks are received while the last buffer is written. `check` is called before each
 * write, and may end all by throwing.
 */
const writeAll = async (
  file: FileHandle,
  body: Bytes,
  start = 0,
  check: () => Promise<void> = () => Promise.resolve()
): Promise<number> => {
  let at = start
  let gathered: Uint8Array[] = []
  let waiting = 0
  let size = 0
  let writing: Promise<void> = Promise.resolve()
  let flushing: Promise<void> = Promise.resolve()
  let unflushed = 0
  const write = async (chunks: readonly Uint8Array[]): Promise<void> => {
    let rest = chunks
    await check()
    while (rest.length > 0) {
      let { bytesWritten } = await file.writev(rest, at)
      at += bytesWritten
      // A disk that is nearly full may write only a part.
      rest = rest.flatMap((chunk) => {
        const done = Math.min(bytesWritten, chunk.length)
        bytesWritten -= done
        return done === chunk.length ? [] : [chunk.subarray(done)]
      })
    }
    if (unflushed < flushBytes) return
    unflushed = 0
    // One at a time, so that a slow disk does not fill the memory.
    await flushing
    flushing = file.datasync()
    flushing.catch(() => {})
  }
  const flush = async (): Promise<void> => {
    await writing
    unflushed += waiting
    writing = write(gathered)
    // The next flush waits for it. Until then its failure must not count as unhandled.
    writing.catch(() => {})
    gathered = []
    waiting = 0
  }
  const source = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      let next: IteratorResult<Uint8Array>
      try {
        next = await source.next()
      } catch (cause) {
        throw new BodyError("the body failed", { cause })
      }
      if (next.done === true) break
      gathered.push(next.value)
      waiting += next.value.length
      size += next.value.length
      if (waiting >= chunkBytes) await flush()
    }
    await flush()
    await writing
    await flushing
  } catch (error) {
    if (!(error instanceof BodyError)) await Promise.resolve(source.return?.()).catch(() => {})
    await writing.catch(() => {})
    await flushing.catch(() => {})
    throw error
  }
  return size
}

const openFile = promisify(openCallback)
const readFile = promisify(readCallback)

/** A link in the place of a file is no file of ours. */
const isNoFile = (error: unknown): boolean => isMissing(error) || codeOf(error) === "ELOOP" || error instanceof Escape

/** The metadata of an open file. It is already in memory, so reading it and closing the file do not wait for the disk. */
const headOfOpen = (file: number): StoredHead | null => {
  const stats = fstatSync(file)
  return stats.isFile() ? { size: stats.size, modified: Math.floor(stats.mtimeMs) } : null
}

/** A whole number of bytes of an open file, from `start`. */
const readExactly = async (file: number, start: number, length: number): Promise<Uint8Array> => {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await readFile(file, buffer, filled, length - filled, start + filled)
    if (bytesRead === 0) throw new Error("the file is shorter than it was")
    filled += bytesRead
  }
  return buffer
}

const flags = constants.O_RDONLY | constants.O_NOFOLLOW

/** A range of a file as a stream. The file opens with the first chunk, so an unread stream has nothing to close. */
async function* readRange(path: string, { end, start }: ByteRange): Bytes {
  const file = await open(path, flags)
  try {
    for (let at = start; at <= end; at += chunkBytes) {
      yield await readExactly(file.fd, at, Math.min(chunkBytes, end + 1 - at))
    }
  } finally {
    await file.close()
  }
}

async function* one(bytes: Uint8Array): Bytes {
  if (bytes.length > 0) yield bytes
}

/** The storage of one folder. Nothing is opened or made before it is used. */
export const makeLocalStorage = (options: LocalStorageOptions): StorageService => {
  const root = resolve(options.dir)
  const [fileMode, folderMode] = options.public ? [0o644, 0o755] : [0o600, 0o700]
  /** Folders that were checked lately, and until when that is valid. */
  const trusted = new Map<string, number>()

  const placeOf = (path: string): string => join(root, ...path.split("/"))

  /** Fails when the folder, seen with its links followed, is not below the root. */
  const checkFolder = async (folder: string): Promise<void> => {
    const now = performance.now()
    if ((trusted.get(folder) ?? 0) > now) return
    const [real, realRoot] = await Promise.all([realpath(folder), realpath(root)])
    if (real !== join(realRoot, folder.slice(root.length))) throw new Escape("a link leads out of the folder")
    if (trusted.size > 1_000) trusted.clear()
    trusted.set(folder, now + trustedMs)
  }

  /** Makes a folder and flushes its parent folders. */
  const makeFolder = async (folder: string): Promise<void> => {
    if ((trusted.get(folder) ?? 0) > performance.now()) return
    const first = await mkdir(folder, { recursive: true, mode: folderMode })
    await checkFolder(folder)
    if (first === undefined) return
    for (let at = folder; at.length >= first.length && at !== dirname(at); at = dirname(at)) {
      await flush(dirname(at))
    }
  }

  /** Has what was written to a file or a folder reach the disk, whoever wrote it. */
  const flush = async (place: string): Promise<void> => {
    const handle = await open(place, constants.O_RDONLY)
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  const temporary = join(root, ".tmp")

  /** Makes a folder again that somebody removed since it was made. */
  const again = async (folder: string, error: unknown): Promise<void> => {
    if (codeOf(error) !== "ENOENT") throw error
    trusted.delete(folder)
    await makeFolder(folder)
  }

  const put = async (path: string, body: Bytes): Promise<number> => {
    const place = placeOf(path)
    const folder = dirname(place)
    try {
      await makeFolder(temporary)
      await makeFolder(folder)
    } catch (error) {
      await Promise.resolve(body[Symbol.asyncIterator]().return?.()).catch(() => {})
      throw error
    }
    const part = join(temporary, randomBytes(16).toString("hex"))
    const file = await open(part, "wx", fileMode).catch(async (error: unknown) => {
      await again(temporary, error)
      return open(part, "wx", fileMode)
    })
    try {
      let size: number
      try {
        size = await writeAll(file, body)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(part, place).catch(async (error: unknown) => {
        await again(folder, error)
        await rename(part, place)
      })
      await flush(folder)
      return size
    } catch (error) {
      await unlink(part).catch(() => {})
      throw error
    }
  }

  /** An upload in pieces is one file, which grows where it is and is renamed in the end. */
  const beginUpload = async (name: string): Promise<void> => {
    await makeFolder(temporary)
    const place = placeOf(name)
    const file = await open(place, "wx", fileMode).catch(async (error: unknown) => {
      await again(temporary, error)
      return open(place, "wx", fileMode)
    })
    await file.close()
    await flush(temporary)
  }

  const append = async (name: string, offset: number, body: Bytes): Promise<Appended | null> => {
    let file: FileHandle
    try {
      await checkFolder(temporary)
      file = await open(placeOf(name), constants.O_WRONLY | constants.O_NOFOLLOW)
    } catch (error) {
      await Promise.resolve(body[Symbol.asyncIterator]().return?.()).catch(() => {})
      if (isNoFile(error)) return null
      throw error
    }
    try {
      const { ino, size } = await file.stat()
      // Another process may have finished the upload meanwhile: what is visible is not changed any more. It may also have written here: then it got the
      // same bytes of the same file, so each has its place and none is added to the end.
      const check = async (): Promise<void> => {
        const now = await stat(placeOf(name)).catch((error: unknown) => {
          if (isMissing(error)) return null
          throw error
        })
        if (now?.ino !== ino) throw new Error("the upload is not there any more")
      }
      if (size !== offset) {
        await Promise.resolve(body[Symbol.asyncIterator]().return?.()).catch(() => {})
        return { size, matched: false }
      }
      const broken: { error: { readonly cause: unknown } | null } = { error: null }
      async function* noted(): Bytes {
        const source = body[Symbol.asyncIterator]()
        let ended = false
        try {
          for (;;) {
            const next = await source.next().catch((cause: unknown) => {
              broken.error = { cause }
              return null
            })
            ended = next === null || next.done === true
            if (next === null || next.done === true) return
            yield next.value
          }
        } finally {
          if (!ended) await source.return?.()
        }
      }
      const written = await writeAll(file, noted(), offset, check)
      if (written > 0) await file.sync()
      if (broken.error !== null) throw new BodyError("the body failed", broken.error)
      return { size: offset + written, matched: true }
    } finally {
      await file.close()
    }
  }

  const finish = async (name: string, path: string, length: number): Promise<number | null> => {
    const head = await headOf(name)
    if (head === null) return null
    if (head.size !== length) {
      if ((await headOf(path))?.size !== length) throw new Error("not all of the upload is there")
      await remove(name)
      return length
    }
    const place = placeOf(path)
    const folder = dirname(place)
    await makeFolder(folder)
    // Another process may have written the last bytes, and not have flushed them yet.
    await flush(placeOf(name)).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
    const move = (): Promise<boolean> =>
      rename(placeOf(name), place).then(() => true, async (error: unknown) => {
        if (await headOf(name) === null) return false
        await again(folder, error)
        await rename(placeOf(name), place)
        return true
      })
    if (!await move()) return null
    await flush(folder)
    return head.size
  }

  const headOf = async (path: string): Promise<StoredHead | null> => {
    const place = placeOf(path)
    try {
      await checkFolder(dirname(place))
      const file = await openFile(place, flags)
      try {
        return headOfOpen(file)
      } finally {
        closeSync(file)
      }
    } catch (error) {
      if (isNoFile(error)) return null
      throw error
    }
  }

  const read = async (path: string, range: ByteRange | null): Promise<StoredBody | null> => {
    const place = placeOf(path)
    try {
      await checkFolder(dirname(place))
      const file = await openFile(place, flags)
      try {
        const head = headOfOpen(file)
        if (head === null) return null
        const { end, start } = range ?? { start: 0, end: head.size - 1 }
        if (end - start >= chunkBytes) return { ...head, bytes: readRange(place, { start, end }) }
        return {
          ...head,
          bytes: one(end < start ? new Uint8Array(0) : await readExactly(file, start, end + 1 - start))
        }
      } finally {
        closeSync(file)
      }
    } catch (error) {
      if (isNoFile(error)) return null
      throw error
    }
  }

  const remove = async (path: string): Promise<void> => {
    const place = placeOf(path)
    try {
      await checkFolder(dirname(place))
      await unlink(place)
      // The folders of a tenant whose last file was deleted. They stay when they are not empty, or somebody creates a file in them.
      if (!path.startsWith(".")) {
        for (let folder = dirname(place); folder !== root; folder = dirname(folder)) {
          trusted.delete(folder)
          if (!await rmdir(folder).then(() => true, () => false)) break
        }
      }
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  /** Files below a folder in the order of their paths, beginning after `after`. */
  async function* walk(folder: string, prefix: string, after: string | null): AsyncGenerator<ListedFile> {
    const entries = await readdir(join(root, ...folder.split("/")), { withFileTypes: true }).catch((error: unknown) => {
      if (isMissing(error)) return []
      throw error
    })
    const wanted = (path: string, entry: Dirent): boolean =>
      path.startsWith(prefix) || (entry.isDirectory() && prefix.startsWith(path))
    const names = entries.filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => ({ entry, name: entry.isDirectory() ? `${entry.name}/` : entry.name }))
      .filter(({ entry, name }) => wanted(folder + name, entry))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const { entry, name } of names) {
      const path = folder + name
      if (entry.isDirectory()) {
        // The whole folder comes before the last seen path when it sorts before that path and does not contain it.
        if (after === null || path > after || after.startsWith(path)) yield* walk(path, prefix, after)
      } else if (after === null || path > after) {
        const stats = await stat(join(root, ...path.split("/"))).catch((error: unknown) => {
          if (isMissing(error)) return null
          throw error
        })
        if (stats !== null) yield { path, size: stats.size, modified: Math.floor(stats.mtimeMs) }
      }
    }
  }

  return {
    put: (path, body) => attempt(() => put(path, body)),
    read: (path, range) => attempt(() => read(path, range)),
    head: (path) => attempt(() => headOf(path)),
    remove: (path) => attempt(() => remove(path)),
    list: ({ after, limit, prefix }) =>
      attempt(async () => {
        const files: ListedFile[] = []
        if (limit <= 0) return files
        for await (const file of walk("", prefix, after)) {
          files.push(file)
          if (files.length >= limit) break
        }
        return files
      }),
    link: null,
    direct: null,
    resumable: {
      begin: (name) => attempt(() => beginUpload(name)),
      size: (name) => attempt(async () => (await headOf(name))?.size ?? null),
      start: (name, most) =>
        attempt(async () => {
          const head = await headOf(name)
          if (head === null) return null
          const length = Math.min(head.size, most)
          const body = await read(name, { start: 0, end: length - 1 })
          if (body === null) return null
          const chunks: Uint8Array[] = []
          for await (const chunk of body.bytes) chunks.push(chunk)
          return Buffer.concat(chunks)
        }),
      append: (name, offset, body) => attempt(() => append(name, offset, body)),
      finish: (name, { length, path }) => attempt(() => finish(name, path, length)),
      abort: (name) => attempt(() => remove(name)),
      forget: () => Effect.void
    }
  }
}

/** Whether a folder lies in another or is the same one: two providers must not hold each other's files. */
export const overlaps = (a: string, b: string): boolean => {
  const [left, right] = [resolve(a) + sep, resolve(b) + sep]
  return left.startsWith(right) || right.startsWith(left)
}
