// Decides whether node_modules is what package-lock.json asks for, and installs it when it is not. It also decides
// which Node the project runs on. Every script of package.json asks it first, so a fresh clone needs no other command.
// It must run on any Node since 16, because the Node 24 that everything else runs on is one of the packages installed
// here. It never runs install scripts.
import { spawn, spawnSync } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, "node_modules")
const readyFile = join(modules, ".ready")
const lockFolder = join(root, ".install.lock")
/** The oldest Node that can run the project: major and minor version, as `engines` of package.json has it. */
const oldest = [24, 2]
const windows = process.platform === "win32"

const isNewEnough = (version) => {
  const [major, minor] = version.replace(/^v/, "").split(".").map(Number)
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
}

/** How long a lock may show no sign of life before another process takes it over. */
const abandonedAfter = 10_000
/** How long to wait for an install that another process runs. */
const patience = 15 * 60_000

const interruptions = ["SIGINT", "SIGTERM", "SIGHUP"]

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const say = (text) => process.stderr.write(`${text}\n`)

class Failure extends Error {}

const readJson = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch (error) {
    if (error.code === "ENOENT") return undefined
    throw new Failure(`${path} cannot be read: ${error.message}`)
  }
}

/** What node_modules must have been installed from: both files, and the platform that the binaries are for. */
const wantedState = () => {
  const hash = createHash("sha256")
  for (const name of ["package-lock.json", "package.json"]) hash.update(readFileSync(join(root, name))).update("\0")
  return hash.update(`${process.platform}-${process.arch}`).digest("hex")
}

const isReady = (wanted) => {
  try {
    return readFileSync(readyFile, "utf8") === wanted
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return false
    throw error
  }
}

/** Errors that say: this user may not write here. */
const isUnwritable = (error) => ["EACCES", "EPERM", "EROFS"].includes(error.code)

const markReady = (wanted) => {
  try {
    writeFileSync(readyFile, wanted)
  } catch (error) {
    // Somebody else's clone: the check is then made again the next time.
    if (!isUnwritable(error)) throw error
  }
}

/**
 * Whether npm itself finished installing exactly this lock file here: npm writes its own list last, so a list that
 * agrees is proof. Saves a second install after `npm ci` by hand, and after a change of package.json that touches no
 * dependency.
 */
const isInstalledByHand = () => {
  const installed = readJson(join(modules, ".package-lock.json"))?.packages
  const locked = readJson(join(root, "package-lock.json"))?.packages
  const declared = readJson(join(root, "package.json"))
  if (installed === undefined || locked === undefined) return false

  // Which optional packages npm leaves out depends on more than we can see (the C library, what needs them). But one
  // that names this platform and no C library must be there: the packaged Node and PostgreSQL are of that kind.
  const isForHere = ({ os, cpu, libc }) =>
    [].concat(os ?? []).includes(process.platform) && [].concat(cpu ?? []).includes(process.arch) && libc === undefined
  for (const [path, entry] of Object.entries(locked)) {
    // The folders of the project itself: they are there with the clone.
    if (entry.link || !path.includes("node_modules/")) continue
    const found = installed[path]
    if (found === undefined) {
      if (entry.optional && !isForHere(entry)) continue
      return false
    }
    if (found.version !== entry.version || found.integrity !== entry.integrity) return false
    if (readJson(join(root, path, "package.json"))?.version !== entry.version) return false
  }
  const asked = { ...declared.dependencies, ...declared.devDependencies, ...declared.optionalDependencies }
  return Object.entries(asked).every(([name, version]) => locked[`node_modules/${name}`]?.version === version)
}

// ---- one install at a time -------------------------------------------------------------------------------------
// The lock is a folder holding one file named after its owner. It appears with its owner in one rename, and changes
// hands by renaming that file, which only one of several takers can do. The owner touches the file every second; a
// file that stays untouched while somebody watches belongs to a process that was killed. No two clocks are compared.

const ownerFile = (token) => join(lockFolder, `owner-${token}`)

const claim = (token) => {
  const draft = `${lockFolder}-${token}`
  try {
    mkdirSync(draft)
  } catch (error) {
    if (!isUnwritable(error)) throw error
    const advice = "Run `npm test` once as the owner of the folder, or use a clone of your own"
    throw new Failure(`the packages must be installed, and this user may not write to ${root}. ${advice}`)
  }
  closeSync(openSync(join(draft, `owner-${token}`), "w"))
  try {
    renameSync(draft, lockFolder)
    return true
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (["ENOTEMPTY", "EEXIST", "EPERM", "EACCES"].includes(error.code) && existsSync(lockFolder)) return false
    throw error
  }
}

/** The owner's file as it is now: name, time of the last touch, and the npm process it started, if any. */
const readOwner = () => {
  try {
    const name = readdirSync(lockFolder).find((entry) => entry.startsWith("owner-"))
    if (name === undefined) return undefined
    const path = join(lockFolder, name)
    return { path, mark: `${name} ${statSync(path).mtimeMs}`, npm: Number(readFileSync(path, "utf8")) }
  } catch (error) {
    if (error.code === "ENOENT") return undefined
    throw error
  }
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

const takeOver = (owner, token) => {
  // The npm of a killed owner may still be writing: taking over then would mix two installs.
  if (owner !== undefined && owner.npm > 0 && isAlive(owner.npm)) return false
  try {
    if (owner === undefined) {
      rmdirSync(lockFolder)
      return false
    }
    renameSync(owner.path, ownerFile(token))
    utimesSync(ownerFile(token), new Date(), new Date())
    return true
  } catch (error) {
    if (["ENOENT", "ENOTEMPTY", "EEXIST"].includes(error.code)) return false
    throw error
  }
}

/** Waits for the lock. Gives false when another process finished the install meanwhile. */
const acquire = async (token, wanted) => {
  const started = Date.now()
  let seen = ""
  let since = started
  while (!claim(token)) {
    if (seen === "") say("Waiting for another process that is installing the dependencies …")
    const owner = readOwner()
    const mark = owner === undefined ? "none" : owner.mark
    if (mark !== seen) {
      seen = mark
      since = Date.now()
    } else if (Date.now() - since > abandonedAfter && takeOver(owner, token)) {
      say("An earlier install was interrupted; starting it again.")
      return true
    }
    if (Date.now() - started > patience) {
      throw new Failure(`another install has been running for too long. If none is running, delete ${lockFolder}`)
    }
    await sleep(200)
    if (isReady(wanted)) return false
  }
  return true
}

const release = (token) => {
  try {
    unlinkSync(ownerFile(token))
    rmdirSync(lockFolder)
  } catch (error) {
    // Taken over already, or claimed by the next in line while the folder was empty.
    if (!["ENOENT", "ENOTEMPTY", "EEXIST", "EPERM"].includes(error.code)) throw error
  }
}

// ---- install ---------------------------------------------------------------------------------------------------

/** The npm that runs us, on the Node that runs it; else the one on the PATH. */
const npmCommand = () => {
  const script = process.env.npm_execpath
  if (script !== undefined && basename(script) === "npm-cli.js" && existsSync(script)) {
    const host = process.env.npm_node_execpath
    return { file: host !== undefined && existsSync(host) ? host : process.execPath, first: [script], shell: false }
  }
  return { file: windows ? "npm.cmd" : "npm", first: [], shell: windows }
}

/** The options of Node for npm on a Node that is too old for the packages: see engine.cjs. */
const withEngine = () => {
  const path = join(root, "scripts", "engine.cjs").replace(/["\\]/g, "\\$&")
  return [process.env.NODE_OPTIONS, `--require "${path}"`].join(" ").trim()
}

const install = (token) =>
  new Promise((resolve, reject) => {
    const { file, first, shell } = npmCommand()
    const options = ["ci", "--ignore-scripts", "--include=dev", "--include=optional", "--no-audit", "--no-fund"]
    options.push("--loglevel=error", "--no-dry-run", "--no-global")
    const env = isNewEnough(process.versions.node) ? process.env : { ...process.env, NODE_OPTIONS: withEngine() }
    const child = spawn(file, [...first, ...options], {
      cwd: root,
      env,
      stdio: ["ignore", "inherit", "inherit"],
      shell
    })
    const started = Date.now()
    if (child.pid !== undefined) writeFileSync(ownerFile(token), String(child.pid), { flag: "r+" })

    const beat = setInterval(() => {
      try {
        utimesSync(ownerFile(token), new Date(), new Date())
      } catch {
        say("Another process took this install over; stopping.")
        child.kill()
      }
    }, 1000)
    const progress = setInterval(
      () => say(`  still installing (${Math.round((Date.now() - started) / 1000)} s)`),
      15_000
    )
    let stopped = false
    const stop = () => {
      stopped = true
      child.kill()
    }
    for (const signal of interruptions) process.on(signal, stop)
    const settle = () => {
      clearInterval(beat)
      clearInterval(progress)
      for (const signal of interruptions) process.off(signal, stop)
    }
    child.on("error", (error) => {
      settle()
      reject(new Failure(`npm cannot be started (${error.message}). Install npm, or start this through npm`))
    })
    child.on("close", (code, signal) => {
      settle()
      if (code === 0) resolve(Math.round((Date.now() - started) / 1000))
      else if (stopped || signal !== null) {
        reject(new Failure("the install was interrupted. Run the same command again"))
      } else reject(new Failure(`npm ci ended with code ${code}; its own message stands above`))
    })
  })

// ---- the Node that everything else runs on -----------------------------------------------------------------------

/**
 * The packaged Node of this platform. Its path says where it is: `node_modules/.bin/node` is no guide, because the
 * packages of all platforms share that link, and npm before 11 removes it along with the package of another platform.
 */
const packagedNode = join(
  modules,
  `node-${windows ? "win" : process.platform}-${process.arch}`,
  "bin",
  windows ? "node.exe" : "node"
)

/** Links to a packaged Node that does not start here would hide the host's Node, because npm looks in .bin first. */
const removeLinks = () => {
  for (const name of ["node", "node.exe", "node.cmd", "node.ps1"]) {
    try {
      unlinkSync(join(modules, ".bin", name))
    } catch (error) {
      if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error
    }
  }
}

/** The Node to run the project on, as a path: the packaged one where it starts, else the one that runs this. */
const chooseNode = () => {
  // Already running on it: no need to ask.
  if (existsSync(packagedNode) && realpathSync(packagedNode) === realpathSync(process.execPath)) return packagedNode
  const packaged = existsSync(packagedNode)
  if (packaged) {
    const asked = spawnSync(packagedNode, ["--version"], { encoding: "utf8" })
    if (isNewEnough(asked.stdout ?? "")) return packagedNode
  }
  const host = process.versions.node
  if (isNewEnough(host)) {
    if (packaged) removeLinks()
    return process.execPath
  }
  const wanted = oldest.join(".")
  const why = packaged
    ? "the packaged Node does not run on this system"
    : `no Node is packaged for ${process.platform}-${process.arch}`
  throw new Failure(
    `Node ${wanted} or newer is needed: ${why}, and the one installed here is ${host}. Install Node ${oldest[0]}`
  )
}

/** Installs what is missing. Gives the path of the Node that the project runs on. Throws a `Failure` that says what to do. */
const prepare = async () => {
  const wanted = wantedState()
  if (isReady(wanted)) return chooseNode()
  if (isInstalledByHand()) {
    const node = chooseNode()
    markReady(wanted)
    return node
  }
  const token = randomUUID()
  if (!await acquire(token, wanted)) return chooseNode()
  try {
    if (isReady(wanted)) return chooseNode()
    say("Installing the dependencies: about 800 MB on disk, usually 15 to 60 seconds, once …")
    rmSync(readyFile, { force: true })
    const seconds = await install(token)
    const node = chooseNode()
    say(`Dependencies installed in ${seconds} s.`)
    // npm ran from a file that may have been edited meanwhile: only what it was started for counts as ready.
    markReady(wanted)
    return node
  } finally {
    release(token)
  }
}

/** Like `prepare`, but says what is wrong and gives null where it cannot be done. */
export const ensureNode = () =>
  prepare().catch((error) => {
    const text = error instanceof Failure || error.code !== undefined ? error.message : error.stack
    say(`Cannot prepare the project: ${text}.`)
    return null
  })
