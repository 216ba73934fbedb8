// Decides whether node_modules is what package-lock.json asks for, and installs it when it is not. npm runs it before
// `npm start` and `npm test`, so a fresh clone needs no other command. It must run on any Node since 16, because the
// Node 24 that everything else runs on is itself one of the packages installed here. It never runs install scripts.
import { spawn, spawnSync } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
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
const wantedMajor = 24
const windows = process.platform === "win32"

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
    if (path === "") continue
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
  mkdirSync(draft)
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

const install = (token) =>
  new Promise((resolve, reject) => {
    const { file, first, shell } = npmCommand()
    const options = ["ci", "--ignore-scripts", "--include=dev", "--include=optional", "--no-audit", "--no-fund"]
    // Until the new Node is there an older one runs npm; that some packages want a newer one is expected, not news.
    options.push("--loglevel=error", "--no-dry-run", "--no-global")
    const child = spawn(file, [...first, ...options], { cwd: root, stdio: ["ignore", "inherit", "inherit"], shell })
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

const majorOf = (version) => Number(/^v?(\d+)\./.exec(version)?.[1] ?? 0)

const bundledNodes = () =>
  (windows ? ["node.exe", "node.cmd", "node"] : ["node"]).map((name) => join(modules, ".bin", name)).filter(existsSync)

const checkNode = () => {
  const [bundled] = bundledNodes()
  if (bundled !== undefined) {
    const asked = spawnSync(windows ? `"${bundled}"` : bundled, ["--version"], { encoding: "utf8", shell: windows })
    if (majorOf(asked.stdout ?? "") >= wantedMajor) return
  }
  const host = process.versions.node
  if (majorOf(host) >= wantedMajor) {
    // A bundled Node that does not start here (another C library) would hide the host's: npm looks in .bin first.
    for (const path of bundledNodes()) unlinkSync(path)
    return
  }
  const why = bundled === undefined
    ? `no Node ${wantedMajor} is packaged for ${process.platform}-${process.arch}`
    : `the packaged Node ${wantedMajor} does not run on this system`
  throw new Failure(
    `Node ${wantedMajor} or newer is needed: ${why}, and the one installed here is ${host}. Install Node ${wantedMajor}`
  )
}

const main = async () => {
  const wanted = wantedState()
  if (isReady(wanted)) {
    // Where no Node is packaged, the host's may have been exchanged for an older one since.
    if (majorOf(process.versions.node) < wantedMajor) checkNode()
    return
  }
  const token = randomUUID()
  if (!await acquire(token, wanted)) return
  try {
    if (isReady(wanted)) return
    if (isInstalledByHand()) {
      checkNode()
    } else {
      say("Installing the dependencies: about 550 MB on disk, usually 15 to 60 seconds, once …")
      rmSync(readyFile, { force: true })
      const seconds = await install(token)
      checkNode()
      say(`Dependencies installed in ${seconds} s.`)
    }
    // npm ran from a file that may have been edited meanwhile: only what it was started for counts as ready.
    writeFileSync(readyFile, wanted)
  } finally {
    release(token)
  }
}

main().catch((error) => {
  const text = error instanceof Failure || error.code !== undefined ? error.message : error.stack
  say(`Cannot prepare the project: ${text}.`)
  process.exitCode = 1
})
