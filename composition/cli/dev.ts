/**
 * The `dev` command: a server that restarts whenever the configuration, anything it imports, or the `.env` file changes. A version that is
 * wrong is reported and leaves the running server as it is. In a checkout the admin app comes from its sources, and its pages change with them.
 */

import { existsSync, type FSWatcher, watch } from "node:fs"
import { basename, dirname } from "node:path"
import { assemble } from "../assembly.ts"
import { ConfigFileError, findConfig, loadConfig } from "../config-file.ts"
import { type Databases, openDatabases } from "../database.ts"
import { envFile, loadEnvFile, portOf, settingsOf } from "../environment.ts"
import { onSignal } from "../parent.ts"
import { explain, type Server, startServer } from "../server.ts"
import { openLiveApp } from "../web.ts"
import { describe, note } from "./output.ts"
import type { ProjectFlags } from "./project.ts"

/**
 * The folder to watch for a file, and the name to watch for. Where the folder does not exist, the nearest existing one above it is watched.
 */
const placeOf = (file: string): readonly [folder: string, name: string] => {
  const folder = dirname(file)
  return existsSync(folder) ? [folder, basename(file)] : placeOf(folder)
}

/**
 * Calls back once, after the files changed and then stayed unchanged for a moment. Folders are watched, because editors replace files. A
 * change that was seen before watching ends is still reported.
 */
const watchFiles = (files: readonly string[], changed: (file: string) => void): () => void => {
  const folders = new Map<string, Set<string>>()
  for (const file of files) {
    const [folder, name] = placeOf(file)
    folders.set(folder, (folders.get(folder) ?? new Set()).add(name))
  }
  let quiet: NodeJS.Timeout | undefined
  const watchers: FSWatcher[] = []
  for (const [folder, names] of folders) {
    const watcher = watch(folder, (_event, name) => {
      if (name === null || !names.has(name)) return
      clearTimeout(quiet)
      quiet = setTimeout(() => changed(name), 80)
    })
    watcher.on("error", () => watcher.close())
    watchers.push(watcher)
  }
  return () => {
    for (const watcher of watchers) watcher.close()
  }
}

interface Session {
  server: Server | null
  files: readonly string[]
  /** Held from the first good version on, so that the embedded database does not restart with every change. */
  databases: Databases | null
  /** The admin app from its sources, at a path; null where it is off. It outlives servers, so that open pages keep what they hold. */
  app: { readonly path: string; readonly live: Awaited<ReturnType<typeof openLiveApp>> } | null
}

/** Puts the app where the configuration wants it. */
const placeApp = async (session: Session, path: string | null): Promise<void> => {
  if (session.app?.path === path) return
  await session.app?.live?.close()
  session.app = null
  if (path !== null) session.app = { path, live: await openLiveApp(path) }
}

/** The address to open first. Pages can sign in at the public URL only, so another port is printed with that remark. */
const readyAt = ({ address, url }: Pick<Server, "address" | "url">): string =>
  portOf({ port: null }, url) === Number(new URL(address).port)
    ? `ready at ${url}`
    : `ready at ${address}\nPages sign in at AUTH_URL only, which is ${url}: set it to this port to sign in here. Tokens work anyway.`

/** Loads the newest version and puts it in the place of the running one, or says what is wrong with it. */
const reload = async (
  session: Session,
  flags: ProjectFlags & { readonly port: number | undefined },
  watchAgain: () => void
): Promise<void> => {
  try {
    loadEnvFile(flags.project)
    const loaded = await loadConfig(findConfig(flags.project, flags.config))
    session.files = loaded.files
    // Watching begins here and not when the server is up, so that a change in between is not missed.
    watchAgain()
    // Everything that needs no database is checked before the running server is given up.
    const read = settingsOf({ folder: flags.project })
    const { compiled } = assemble(loaded.config, read)
    await placeApp(session, compiled.options.admin?.path ?? null)
    const live = session.app?.live ?? null
    session.databases ??= await openDatabases(read.settings, loaded.config.db, () => {})
    await session.server?.close()
    session.server = null
    session.server = await startServer(loaded.config, {
      folder: flags.project,
      dev: true,
      ...(live === null ? {} : { liveApp: live }),
      ...(flags.port === undefined ? {} : { port: flags.port })
    })
    note(readyAt(session.server))
  } catch (error) {
    if (error instanceof ConfigFileError) {
      session.files = [...new Set([...session.files, ...error.files])]
      watchAgain()
    }
    note(`\n${error instanceof ConfigFileError ? describe(error) : explain(error).trimEnd()}\n`)
    note(session.server === null ? "Waiting for a change." : "The server goes on with what it had.")
  }
}

export const dev = async (flags: ProjectFlags & { readonly port: number | undefined }): Promise<void> => {
  const session: Session = { server: null, files: [], databases: null, app: null }
  let running = Promise.resolve()
  let stopWatching = (): void => {}
  let stopped = false
  const watchAgain = (): void => {
    const before = stopWatching
    stopWatching = watchFiles([...session.files, envFile(flags.project)], (name) => {
      if (stopped) return
      note(`${name} changed`)
      turn()
    })
    before()
  }
  const turn = (): void => {
    running = running.then(() => stopped ? undefined : reload(session, flags, watchAgain))
  }
  turn()
  await running

  await new Promise<void>(onSignal)
  stopped = true
  await running
  stopWatching()
  await session.server?.close()
  await session.app?.live?.close()
  await session.databases?.release()
  process.exit(0)
}
