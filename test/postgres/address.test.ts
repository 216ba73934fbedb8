// What a database's URL says, and what it may not leave open. What the connections make of it is in tls.test.ts.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { AddressError, readAddress, tlsOptionsOf } from "../../adapters/postgres/address.ts"
import { makeAuthority } from "../support/certificate.ts"

const folder = mkdtempSync(join(tmpdir(), "address-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const problemOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(AddressError)
    return (error as AddressError).message
  }
  return "none"
}

describe("the URL of a database", () => {
  it.each([
    ["postgres://app:p%40ss@db.example.org:6543/shop", {
      host: "db.example.org",
      port: 6543,
      user: "app",
      password: "p@ss",
      database: "shop"
    }],
    ["postgresql://db", { host: "db", port: 5432, user: null, password: null, database: null }],
    ["postgres://app@[::1]/shop", { host: "::1" }],
    ["postgres://app@/shop?host=/run/pg", { host: "/run/pg", user: "app", database: "shop" }],
    ["postgres:///shop?host=/run/pg&port=5433&user=app&password=x", { port: 5433, user: "app", password: "x" }],
    ["postgres://%2Frun%2Fpg/shop", { host: "/run/pg" }],
    ["postgres://app@db/shop?host=other&dbname=more", { host: "other", database: "more" }],
    ["postgres://app@db/shop?options=-c%20search_path%3Dshop&application_name=x&channel_binding=prefer", {
      options: "-c search_path=shop",
      encryption: null
    }],
    ["postgres://app@db1:5433,[::1]:5434,[::2],db3/shop", {
      host: "db1",
      port: 5433,
      places: [
        { host: "db1", port: 5433 },
        { host: "::1", port: 5434 },
        { host: "::2", port: 5432 },
        { host: "db3", port: 5432 }
      ],
      target: "read-write",
      database: "shop"
    }],
    ["postgres://app:p%2Cw@/shop?host=db1,db2&port=5433&target_session_attrs=any", {
      places: [{ host: "db1", port: 5433 }, { host: "db2", port: 5433 }],
      target: "any",
      password: "p,w"
    }],
    ["postgres:///shop?host=db1,/run/pg&port=1,2", {
      places: [{ host: "db1", port: 1 }, { host: "/run/pg", port: 2 }]
    }],
    ["postgres://app@db/shop?target_session_attrs=primary", {
      places: [{ host: "db", port: 5432 }],
      target: "primary"
    }],
    ["postgres://app@db/shop", { target: "any" }]
  ])("%s", (url, expected) => {
    expect(readAddress(url)).toMatchObject(expected)
  })

  it.each([
    ["", null],
    ["?sslmode=disable", null],
    ["?sslmode=require", { verify: "full", root: null, own: null }],
    ["?sslmode=verify-full&sslrootcert=/ca.pem", { verify: "full", root: "/ca.pem", own: null }],
    ["?sslmode=verify-ca", { verify: "ca", root: null, own: null }],
    ["?sslmode=no-verify", { verify: "none", root: null, own: null }],
    ["?sslmode=require&sslcert=a&sslkey=b", { verify: "full", root: null, own: { certificate: "a", key: "b" } }],
    // PostgreSQL has no TLS on sockets of the same machine.
    ["?sslmode=require&host=/run/pg", null]
  ])("is encrypted as it says: %s", (query, expected) => {
    expect(readAddress(`postgres://app@db/shop${query}`).encryption).toEqual(expected)
  })

  it.each([
    ["?sslmode=prefer", "sslmode=prefer, which leaves it to the network"],
    ["?sslmode=allow", "sslmode=allow, which leaves it to the network"],
    ["?sslmode=Require", "an sslmode that is not understood"],
    ["?sslmode=", "an sslmode that is not understood"],
    ["?sslmode=toString", "an sslmode that is not understood"],
    ["?sslmode=disable&sslmode=require", "sslmode more than once"],
    ["?ssl=true", "the parameter ssl, which is not understood"],
    ["?SSLMODE=require", "the parameter SSLMODE, which is not understood"],
    ["?sslmode=require&sslcrl=/crl", "the parameter sslcrl, which is not understood"],
    ["?sslrootcert=/ca.pem", "does not ask for TLS"],
    ["?sslmode=disable&sslcert=a&sslkey=b", "does not ask for TLS"],
    ["?sslmode=no-verify&sslrootcert=/ca.pem", "which checks no certificate"],
    ["?sslmode=require&sslkey=b", "only one of sslcert and sslkey"],
    ["?sslmode=require&host=/run/pg&ssl=1", "the parameter ssl"],
    ["?sslmode=require&channel_binding=require", "channel_binding=require, which no connection of the service can do"],
    ["?port=0", "a port that is none"],
    ["?host=a,b&port=1,0", "a port that is none"],
    ["?host=a,b,c&port=1,2", "not as many ports as hosts"],
    [`?host=${Array.from({ length: 17 }, (_, at) => `h${at}`).join(",")}`, "names 17 hosts"],
    ["?target_session_attrs=master", "a target_session_attrs that is not understood"],
    ["?schema=shop", "the parameter schema, which PostgreSQL does not know"]
  ])("is refused where it leaves a doubt: %s", (query, problem) => {
    const said = problemOf(() => readAddress(`postgres://app:s3cret@db/shop${query}`))
    expect(said).toContain(problem)
    expect(said).not.toContain("s3cret")
  })

  it.each([
    ["postgres://app:xq1@yq2/zq3#wq4@db/shop"],
    ["postgres://app:xq1@yq2/zq3@db/shop"],
    ["postgres://app:xq1@yq2/zq3/wq4"],
    ["postgres://app:xq1@yq2?zq3@db/shop"],
    ["postgres://app:xq1#yq2@db/shop"]
  ])("is refused, and nothing of it repeated, where a password cuts it short: %s", (url) => {
    const said = problemOf(() => readAddress(url))
    expect(said).toContain("percent-encode special characters")
    expect(said).not.toMatch(/[w-z]q[1-4]/)
  })

  it.each([["mysql://db/shop"], ["db"], ["postgres://a b/shop"], ["postgres://app:100%@db/shop"]])(
    "is refused where it is none: %s",
    (url) => {
      expect(problemOf(() => readAddress(url))).toMatch(/is not the URL of a PostgreSQL database|encodes nothing/)
    }
  )
})

describe("the certificates that it names", () => {
  const authority = makeAuthority("An authority")
  const client = authority.forClient("app")
  const root = file("ca.pem", authority.certificate)
  const certificate = file("app.pem", client.certificate)
  const key = file("app.key", client.key)
  const options = (query: string) => tlsOptionsOf(readAddress(`postgres://app@db/shop${query}`))

  it("are read, and what is checked is said", () => {
    expect(options("")).toBeNull()
    expect(options("?sslmode=require")).toEqual({ host: "db", rejectUnauthorized: true })
    expect(options(`?sslmode=verify-full&sslrootcert=${root}&sslcert=${certificate}&sslkey=${key}`)).toEqual({
      host: "db",
      rejectUnauthorized: true,
      ca: authority.certificate,
      cert: client.certificate,
      key: client.key
    })
    expect(options("?sslmode=verify-ca")).toMatchObject({ rejectUnauthorized: true })
    expect(options("?sslmode=verify-ca")?.checkServerIdentity?.("db", {} as never)).toBeUndefined()
    expect(options("?sslmode=no-verify")).toMatchObject({ rejectUnauthorized: false })
    expect(options("?sslmode=require&sslrootcert=system")?.ca?.length).toBeGreaterThan(10)
  })

  it.each([
    ["sslrootcert=/no/such.pem", "sslrootcert=/no/such.pem, which cannot be read (ENOENT)"],
    [`sslrootcert=${key}`, "which holds no certificate"],
    [`sslcert=${key}&sslkey=${key}`, "which holds no certificate"],
    [`sslcert=${certificate}&sslkey=${certificate}`, "which holds no private key"]
  ])("are refused where they are none: %s", (query, problem) => {
    expect(problemOf(() => options(`?sslmode=require&${query}`))).toContain(problem)
  })
})
