// Proves `npm start` and `npm test` from nothing, with the oldest and the newest npm and Node, or with `--all` every npm since 8 on every Node since 16: in a
// folder whose name has spaces, as root and as another user, and where root owns the clone. It fetches those npms and Nodes as packages,
// shares one cache of npm, and leaves nothing behind. It must run on any Node since 20.
import { spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync
} from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { version: packaged } = await import("node:fs").then(({ readFileSync }) =>
  JSON.parse(readFileSync(join(root, "node_modules", `node-linux-${process.arch}`, "package.json"), "utf8"))
)

/** The last of each: what people have who installed that Node once and never touched its npm, and the newest npms. */
const every = process.argv.includes("--all")
const nodes = { 16: "16.20.2", ...(every ? { 18: "18.20.8", 20: "20.20.2", 22: "22.22.2" } : {}), 24: "24.15.0" }
const npms = { 8: "8.19.4", ...(every ? { 9: "9.9.4", 10: "10.9.9", 11: "11.21.2" } : {}), 12: "12.2.0" }

/** Somebody who is not root: the user `nobody` of most systems. */
const nobody = { uid: 65534, gid: 65534 }
const isRoot = process.getuid() === 0
const stillMs = 240_000

const base = mkdtempSync(join(tmpdir(), "every npm "))
chmodSync(base, 0o755)
const tools = join(base, "tools")

const started = Date.now()
const say = (text) =>
  process.stdout.write(`${String(Math.round((Date.now() - started) / 1000)).padStart(4)} s  ${text}\n`)

/** Runs a program; gives its code and what it printed. `until`: ends it by Ctrl-C once it has printed this. */
const run = (file, args, { cwd, env, user, until }) =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env, ...user, detached: true, stdio: ["ignore", "pipe", "pipe"] })
    let printed = ""
    let reached = false
    // To the whole group, as a terminal does it.
    const end = (signal) => child.pid !== undefined && process.kill(-child.pid, signal)
    const hear = (text) => {
      printed += text
      if (until === undefined || reached || !printed.includes(until)) return
      reached = true
      end("SIGINT")
    }
    child.stdout.setEncoding("utf8").on("data", hear)
    child.stderr.setEncoding("utf8").on("data", hear)
    const late = setTimeout(() => end("SIGKILL"), stillMs)
    child.once("error", reject)
    child.once("close", (code, signal) => {
      clearTimeout(late)
      resolve({ code, signal, printed, reached })
    })
  })

const must = (holds, what, printed) => {
  if (!holds) throw new Error(`${what}. It printed:\n${printed}`)
}

/** None of those that systems hand out (from 32768 on), so that nobody gets it before it is used. */
const freePort = () =>
  new Promise((resolve) => {
    const port = randomInt(20_000, 30_000)
    const server = createServer()
    server.once("error", () => resolve(freePort()))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(port)))
  })

const own = (path, { uid, gid }) => {
  if (lstatSync(path).isSymbolicLink()) return
  chownSync(path, uid, gid)
  if (lstatSync(path).isDirectory()) { for (const name of readdirSync(path)) own(join(path, name), { uid, gid }) }
}

/** A clone of the project with nothing installed, owned by root or by `user`. */
const clone = (name, user) => {
  const folder = join(base, name, "a clone")
  mkdirSync(dirname(folder))
  const left = new Set([".git", "node_modules", "dist", "data", "coverage", ".vitest"])
  cpSync(root, folder, { recursive: true, filter: (path) => path === root || !left.has(basename(path)) })
  if (user !== undefined) own(dirname(folder), user)
  return folder
}

/** A machine: one Node, one npm, one user. */
const machine = ({ node, npm, cache, user }) => {
  const bin = join(tools, "node_modules", `node${node}`, "bin")
  const home = join(base, `home of ${user === undefined ? "root" : "nobody"}`)
  mkdirSync(home, { recursive: true })
  if (user !== undefined) chownSync(home, user.uid, user.gid)
  const { HOME = "/root", ...rest } = process.env
  const env = {
    // Nothing of an npm that runs this.
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => !/^npm_(?!config_)|^npm_config_prefix/i.test(key))),
    // npm is found by name, too: a script may call it.
    PATH: [bin, "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
    HOME: home,
    npm_config_cache: cache,
    npm_config_prefer_offline: "true",
    npm_config_update_notifier: "false",
    // The registry that this machine is set up for.
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(HOME, ".npmrc"),
    SERVICE_LOG: "off"
  }
  const command = (args, { cwd, until, more = {} }) =>
    run(join(bin, "node"), [join(tools, "node_modules", `npm${npm}`, "bin", "npm-cli.js"), ...args], {
      cwd,
      env: { ...env, ...more },
      user: user ?? {},
      until
    })
  return {
    title: `npm ${npms[npm]} on Node ${nodes[node]} as ${user === undefined ? "root" : "another user"}`,
    command,
    /** One small folder of tests. The types are the same whatever npm and Node install them: `npm test` itself checks them once. */
    test: async (cwd) => {
      const { code, printed } = await command(["test", "--", "--no-types", "core/domain/account"], { cwd })
      must(code === 0 && /\n[1-9]\d* passed, 0 failed\n$/.test(printed), `npm test ended with ${code}`, printed)
    },
    /** The example, up to its greeting, then Ctrl-C. */
    start: async (cwd, more = {}) => {
      const port = String(await freePort())
      const { code, printed, reached } = await command(["start", "--", "--scale", "100"], {
        cwd,
        until: "the data stays.",
        more: { PORT: port, ...more }
      })
      must(reached && printed.includes(`:${port}/api/v1/orders`), `npm start ended with ${code}`, printed)
    },
    node: async (cwd) => {
      const { printed } = await run(join(bin, "node"), ["scripts/run.mjs", "--version"], { cwd, env, user: user ?? {} })
      must(printed.trim() === `v${packaged}`, "The project runs on another Node", printed)
    }
  }
}

const fromNothing = async (one, name, user) => {
  const folder = clone(name, user)
  await one.test(folder)
  await one.start(folder)
  await one.node(folder)
  say(`npm test and npm start: ${one.title}`)
  return folder
}

try {
  const aliases = [
    ...Object.entries(nodes).map(([major, version]) => `node${major}@npm:node-linux-${process.arch}@${version}`),
    ...Object.entries(npms).map(([major, version]) => `npm${major}@npm:npm@${version}`)
  ]
  mkdirSync(tools)
  const fetched = await run(
    "npm",
    ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", ...aliases],
    {
      cwd: tools,
      env: { ...process.env, npm_config_loglevel: "error" }
    }
  )
  must(fetched.code === 0, "The npms and Nodes cannot be fetched", fetched.printed)
  const cache = (await run("npm", ["config", "get", "cache"], { cwd: tools, env: process.env })).printed.trim().split(
    "\n"
  ).pop()
  say(`fetched ${aliases.length} packages`)

  const theirs = join(base, "cache")
  if (isRoot) {
    cpSync(join(cache, "_cacache"), join(theirs, "_cacache"), { recursive: true })
    own(theirs, nobody)
  }
  const make = (node, npm, user) => machine({ node, npm, user, cache: user === undefined ? cache : theirs })
  const user = isRoot ? nobody : undefined

  /** A Node that is too old for the package itself says so in one sentence, from the command and from an import. */
  const tooOld = async () => {
    const built = join(base, "built")
    mkdirSync(built)
    const here = { cwd: root, env: process.env }
    const made = await run(process.execPath, ["scripts/run.mjs", "scripts/build.mjs", join(built, "dist")], here)
    must(made.code === 0, "The package cannot be built", made.printed)
    cpSync(join(root, "package.json"), join(built, "package.json"))
    symlinkSync(join(root, "node_modules"), join(built, "node_modules"))
    for (const major of Object.keys(nodes).filter((major) => major < 24)) {
      const sentence = `resource-admin needs Node 24.2 or newer, and this is Node ${nodes[major]}.`
      const file = join(tools, "node_modules", `node${major}`, "bin", "node")
      const asked = { cwd: built, env: { PATH: "/usr/bin:/bin" } }
      const command = await run(file, [join(built, "dist", "composition", "cli", "main.js"), "--version"], asked)
      must(command.code === 1 && command.printed === `${sentence}\n`, "service is not refused plainly", command.printed)
      const imported = await run(file, ["--input-type=module", "--eval", "import 'resource-admin'"], asked)
      must(
        imported.code !== 0 && imported.printed.includes(sentence) && !imported.printed.includes("SyntaxError"),
        "The package is not refused plainly",
        imported.printed
      )
    }
    say("the package on a Node that is too old")
  }

  /** Somebody else in a clone that root has installed, and in one that nobody has. */
  const anotherUser = async (rootsClone) => {
    const other = make(24, 12, nobody)
    const data = join(base, "data of nobody")
    mkdirSync(data)
    chownSync(data, nobody.uid, nobody.gid)
    rmSync(join(rootsClone, "data"), { recursive: true, force: true })
    await other.test(rootsClone)
    await other.start(rootsClone, { SERVICE_DATA: data })
    const refused = await other.command(["start"], { cwd: rootsClone })
    must(
      refused.code !== 0 && refused.printed.includes("SERVICE_DATA") && !/^ {4}at /m.test(refused.printed),
      "npm start in root's clone does not say where the data can go",
      refused.printed
    )
    const bare = await other.command(["test"], { cwd: clone("bare") })
    must(
      bare.code !== 0 && bare.printed.includes("may not write to") && !bare.printed.includes("EACCES"),
      "npm test in root's clone does not say who may install the packages",
      bare.printed
    )
    say("another user in root's clone")
  }

  // Two at a time, which is what two processors can do.
  await Promise.all([
    (async () => {
      const rootsClone = await fromNothing(make(16, 8), "16 8")
      if (isRoot) await anotherUser(rootsClone)
      if (every) {
        await fromNothing(make(20, 10), "20 10")
        await fromNothing(make(24, 11), "24 11")
      }
    })(),
    (async () => {
      await fromNothing(make(24, 12, user), "24 12", user)
      if (every) {
        await fromNothing(make(18, 9, user), "18 9", user)
        await fromNothing(make(22, 10, user), "22 10", user)
      }
      await tooOld()
    })()
  ])
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  if (existsSync(base)) rmSync(base, { recursive: true, force: true })
}
