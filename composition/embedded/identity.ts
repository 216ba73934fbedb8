/**
 * Decides as which user the database server runs. PostgreSQL refuses to run as root, which is what containers, CI and servers often give
 * us. So root needs another user, or a user namespace in which it only looks like one. Every candidate is tried by running the server
 * program as it. Nothing in the system is created or changed for that.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, statSync } from "node:fs"
import { userInfo } from "node:os"
import { dirname } from "node:path"
import { impossible } from "./control.ts"

/** How to run a program so that PostgreSQL accepts it. */
export type Identity = {
  readonly name: string
  /** Goes into the options of `spawn`. */
  readonly ids: { readonly uid?: number; readonly gid?: number }
  /** Goes before the program and its arguments. */
  readonly prefix: ReadonlyArray<string>
}

/** Everything the choice depends on. */
export type IdentityRequest = {
  readonly base: string
  /** The cluster's folder; it need not exist. Its owner is the only possible user once it does. */
  readonly data: string
  /** Folders the server must be able to enter. */
  readonly folders: ReadonlyArray<string>
  /** The server program. */
  readonly program: string
  readonly env: NodeJS.ProcessEnv
}

type User = { readonly name: string; readonly uid: number; readonly gid: number }

const itself: Identity = { name: "this user", ids: {}, prefix: [] }

const as = (user: User): Identity => ({
  name: `user ${user.name}`,
  ids: { uid: user.uid, gid: user.gid },
  prefix: []
})

/** In this namespace our own uid looks like `user`'s. Outside, files stay ours, so folders only we may enter stay usable. */
const namespaced = (user: User): Identity => ({
  name: "a user namespace",
  ids: {},
  prefix: ["unshare", "--user", `--map-user=${user.uid}`, `--map-group=${user.gid}`, "--"]
})

/** The command line of `program` under an identity, for `spawn(file, args, { ...identity.ids })`. */
export const commandOf = (identity: Identity, program: string, args: ReadonlyArray<string>): [string, string[]] => {
  const [file = program, ...rest] = [...identity.prefix, program, ...args]
  return [file, rest]
}

/** The first candidate under which the server program runs and reaches its folders. Throws a final error if there is none. */
export const chooseIdentity = (request: IdentityRequest): Identity => {
  const refusals: string[] = []
  for (const candidate of candidates(request)) {
    const refusal = probe(candidate, request)
    if (refusal === undefined) return candidate
    refusals.push(`as ${candidate.name}: ${refusal}`)
  }
  throw impossible(
    `The embedded PostgreSQL cannot run here (it refuses to run as root).\n${
      refusals.map((line) => `- ${line}`).join("\n")
    }`
  )
}

const candidates = (request: IdentityRequest): ReadonlyArray<Identity> => {
  const me = process.getuid?.()
  if (me === undefined) return [itself] // Windows
  const owner = statSync(request.data, { throwIfNoEntry: false })
  const users = readUsers()
  const nobody = users.find((user) => user.name === "nobody") ?? users.find((user) => user.uid !== 0)
    ?? { name: "nobody", uid: 65534, gid: 65534 }
  if (owner !== undefined) {
    if (owner.uid !== me && me !== 0) {
      const name = users.find((user) => user.uid === owner.uid)?.name ?? `with the uid ${owner.uid}`
      throw impossible(`The database in ${request.data} belongs to the user ${name}: run as that user.`)
    }
    if (owner.uid === 0) return [namespaced(nobody)]
    return [owner.uid === me ? itself : as({ name: `with the uid ${owner.uid}`, uid: owner.uid, gid: owner.gid })]
  }
  // initdb, unlike the server, wants a user with a name.
  if (me !== 0) return hasName() ? [itself] : [namespaced(nobody)]
  const wanted = [
    ...[request.base, dirname(request.base)].map((folder) => users.find((user) => user.uid === statSync(folder).uid)),
    ...["postgres", "nobody", "node"].map((name) => users.find((user) => user.name === name))
  ]
  const fitting = wanted.filter((user) => user !== undefined).filter((user) => user.uid !== 0)
  const distinct = fitting.filter((user, index) => fitting.findIndex((other) => other.uid === user.uid) === index)
  return [...distinct.map(as), namespaced(nobody)]
}

/** Undefined when it works, else why not. One run finds out about closed folders, forbidden setuid and missing libraries. */
const probe = (identity: Identity, request: IdentityRequest): string | undefined => {
  const script = `for folder in "$@"; do [ -x "$folder" ] || { echo "cannot enter $folder" >&2; exit 1; }; done`
    + `; [ -x "$0" ] || { echo "cannot reach $0" >&2; exit 1; }; exec "$0" -V`
  if (process.platform === "win32") return undefined
  const [file, args] = commandOf(identity, "/bin/sh", ["-c", script, request.program, ...request.folders])
  const run = spawnSync(file, args, {
    ...identity.ids,
    cwd: "/",
    env: request.env,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 10_000
  })
  if (run.error !== undefined) return run.error.message
  if (run.status === 0) return undefined
  return run.stderr.toString().trim() || `ended with ${run.signal ?? `code ${run.status}`}`
}

/** Fails in containers that run under an arbitrary uid. */
const hasName = (): boolean => {
  try {
    return userInfo().username !== ""
  } catch {
    return false
  }
}

const readUsers = (): ReadonlyArray<User> => {
  if (!existsSync("/etc/passwd")) return []
  return readFileSync("/etc/passwd", "utf8").split("\n").flatMap((line) => {
    const [name, , uid, gid] = line.split(":")
    return name === undefined || uid === undefined || gid === undefined
      ? []
      : [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}

/**
 * A prefix that makes the server hold a lock on its data folder. The kernel drops the lock when the last server process ends. It keeps two
 * containers that share the folder apart: they do not see each other's processes, and PostgreSQL itself looks at nothing else. Empty where
 * there is no suitable `flock` (not Linux, or a minimal system).
 */
export const lockPrefix = (identity: Identity, data: string, env: NodeJS.ProcessEnv): ReadonlyArray<string> => {
  if (process.platform !== "linux") return []
  const prefix = ["flock", "--nonblock", "--no-fork", `--conflict-exit-code=${LOCKED}`, data]
  const status = runLock(identity, prefix, env)
  return status === 0 || status === LOCKED ? prefix : []
}

/** Does a server, visible to us or not, hold the lock on its data folder? */
export const isLocked = (identity: Identity, prefix: ReadonlyArray<string>, env: NodeJS.ProcessEnv): boolean =>
  prefix.length > 0 && runLock(identity, prefix, env) === LOCKED

const LOCKED = 75

const runLock = (identity: Identity, prefix: ReadonlyArray<string>, env: NodeJS.ProcessEnv): number | null => {
  const [file, ...args] = [...identity.prefix, ...prefix, "true"]
  return spawnSync(file, args, { ...identity.ids, cwd: "/", env, stdio: "ignore" }).status
}
