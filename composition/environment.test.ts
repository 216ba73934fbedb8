import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { loadEnvFile, portOf, readSettings } from "./environment.ts"
import { openLog } from "./log.ts"

describe("settings", () => {
  it("have defaults, and take empty variables for missing ones", () => {
    const { refusals, settings } = readSettings({ DATABASE_URL: " ", PORT: "" }, "/project")
    expect(refusals).toEqual([])
    expect(settings).toMatchObject({
      folder: "/project",
      data: "/project/data",
      databaseUrl: null,
      host: "127.0.0.1",
      port: null,
      connections: { read: 10, write: 10, auth: 5, jobs: 10 },
      drainSeconds: null,
      log: null,
      pooler: null
    })
  })

  it.each([
    "postgres://u:p%40@db:5432/x?sslmode=require",
    "postgresql://postgres@/postgres?host=%2Ftmp%2Fsock&port=5432",
    "postgres:///x?host=/tmp"
  ])("take %s for a database", (url) => {
    expect(readSettings({ DATABASE_URL: url }, "/").settings.databaseUrl).toBe(url)
  })

  it.each<readonly [string, string]>([
    ["DATABASE_URL", "mysql://root:secret@db"],
    ["ADMIN_DATABASE_URL", "db:5432"],
    ["AUTH_SECRET", "x".repeat(31)],
    ["AUTH_SECRET_ACCEPTED", `${"x".repeat(32)},${"y".repeat(31)}`],
    ["SERVICE_FILES_SECRET_ACCEPTED", "x".repeat(31)],
    ["AUTH_URL", "ftp://x"],
    ["AUTH_URL", "https://admin:secret@a.example"],
    ["AUTH_URL", "https://a.example/?x=1"],
    ["AUTH_URL", "https://a.example/#x"],
    ["PORT", "65536"],
    ["PORT", "1e3"],
    ["TRUSTED_ORIGINS", "https://a.example/path"],
    ["TRUSTED_ORIGINS", "https://admin:secret@a.example"],
    ["SERVICE_CORS_ORIGINS", "https://admin:secret@a.example"],
    ["TRUSTED_ORIGINS", "*"],
    ["TRUSTED_ORIGINS", "https://*"],
    ["TRUSTED_ORIGINS", "https://*example.org"],
    ["TRUSTED_ORIGINS", "https://a*.example.org"],
    ["TRUSTED_ORIGINS", "https://*.*.org"],
    ["SERVICE_TRUSTED_PROXIES", "two"],
    ["SERVICE_CORS_ORIGINS", "https://*.example"],
    ["SERVICE_POOLER", "maybe"],
    ["SERVICE_READ_CONNECTIONS", "0"],
    ["SERVICE_CONNECTIONS", "11"],
    ["SERVICE_REPLICA_CONNECTIONS", "0"],
    ["SERVICE_READ_LAG_SECONDS", "601"],
    ["SERVICE_DRAIN_SECONDS", "5s"],
    ["SERVICE_LOG", "xml"]
  ])("refuse %s=%s by its name, without a secret", (name, value) => {
    const { refusals, settings } = readSettings({ [name]: value }, "/")
    expect(refusals).toHaveLength(1)
    // Nothing goes on with an address that was refused.
    expect(settings).toMatchObject({ url: null, trustedOrigins: [], corsOrigins: [] })
    expect(refusals[0]?.message).toContain(name)
    expect(JSON.stringify(refusals)).not.toContain("secret@")
  })

  it("take replicas separated by spaces and lines, and count their connections", () => {
    const DATABASE_READ_URLS = " postgres://app@r1/shop?weight=2\n\tpostgres://app@r2/shop "
    const { refusals, settings } = readSettings({ DATABASE_READ_URLS, SERVICE_REPLICA_CONNECTIONS: "3" }, "/")
    expect(refusals).toEqual([])
    expect(settings.readUrls).toEqual(["postgres://app@r1/shop?weight=2", "postgres://app@r2/shop"])
    expect(settings.connections).toMatchObject({ replica: 3, replicas: 2 })
    expect(readSettings({ DATABASE_READ_URLS, SERVICE_CONNECTIONS: "19" }, "/").refusals[0]?.message).toContain(
      "at least 20"
    )
  })

  it("take a secret of 32 characters", () => {
    expect(readSettings({ AUTH_SECRET: "x".repeat(32) }, "/").refusals).toEqual([])
  })

  it("take the port from PORT, else from the public URL", () => {
    expect(portOf({ port: 80 }, "http://localhost:5173")).toBe(80)
    expect(portOf({ port: null }, "http://localhost:8080/")).toBe(8080)
    expect(portOf({ port: null }, "https://admin.example.com")).toBe(5173)
  })

  it("come from the file only where nothing is set, and change with it", () => {
    const folder = mkdtempSync(join(tmpdir(), "service-env-"))
    const names = ["SERVICE_TEST_A", "SERVICE_TEST_B"] as const
    try {
      process.env["SERVICE_TEST_A"] = "real"
      writeFileSync(join(folder, ".env"), "SERVICE_TEST_A=file\nSERVICE_TEST_B=\"one # two\"\n")
      loadEnvFile(folder)
      expect(names.map((name) => process.env[name])).toEqual(["real", "one # two"])
      // As some editors write it.
      writeFileSync(join(folder, ".env"), "\uFEFFSERVICE_TEST_B=three\n")
      loadEnvFile(folder)
      expect(names.map((name) => process.env[name])).toEqual(["real", "three"])
      rmSync(join(folder, ".env"))
      loadEnvFile(folder)
      expect(names.map((name) => process.env[name])).toEqual(["real", undefined])
      // What somebody else has set since is not the file's to take away.
      process.env["SERVICE_TEST_B"] = "own"
      loadEnvFile(folder)
      expect(names.map((name) => process.env[name])).toEqual(["real", "own"])
    } finally {
      for (const name of names) delete process.env[name]
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe("log lines", () => {
  const request =
    "{\"level\":\"info\",\"time\":\"2026-11-21T09:00:01.000Z\",\"event\":\"request\",\"id\":\"1\",\"method\":\"GET\",\"path\":\"/x\",\"status\":200,\"ms\":1.5,\"bytes\":2,\"user\":\"ann\"}"
  it("are JSON for machines, short for people, or nothing", () => {
    const written = (format: "json" | "pretty" | "off"): string => {
      let text = ""
      const sink = openLog(format, (part) => {
        text += part
      })
      sink.line(request)
      sink.event("warn", "odd", { count: 2, error: "E" })
      expect(text).toBe("")
      sink.flush()
      return text
    }
    const lines = written("json").trimEnd().split("\n")
    expect(lines[0]).toBe(request)
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ level: "warn", event: "odd", count: 2, error: "E" })
    expect(written("pretty")).toMatch(/^09:00:01 GET \/x 200 1\.5 ms ann\n..:..:.. WARN odd count=2 error=E\n$/)
    expect(written("off")).toBe("")
  })
})
