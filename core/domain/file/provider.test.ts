import { describe, expect, it } from "vitest"
import { localFiles, providerVariable, readProvider, readProviderAddress, s3Files } from "./provider.ts"

const read = (address: string, name = "archive") => {
  const said: string[] = []
  const provider = readProviderAddress(
    name,
    address,
    providerVariable(name),
    (message, fix) => said.push(`${message} ${fix}`)
  )
  return { provider, said }
}

describe("providers", () => {
  it("come from addresses of folders", () => {
    expect(
      read("file:///srv/files?public=1&public_url=https://cdn.example&retention=2d&max_bytes=20+GB&max_files=10")
        .provider
    ).toEqual({
      name: "archive",
      place: { of: "local", dir: "/srv/files" },
      public: true,
      publicUrl: "https://cdn.example",
      retention: 172_800_000,
      maxBytes: 20_000_000_000,
      maxFiles: 10,
      linkLifetime: null
    })
    expect(read("file://data/my%20files").provider).toMatchObject({
      place: { dir: "data/my files" },
      public: false,
      retention: null
    })
    expect(read("file://data/public", "public").provider).toMatchObject({ public: true })
    expect(read("file://data/public?public=0", "public").provider).toMatchObject({ public: false })
  })

  it("come from addresses of buckets", () => {
    expect(
      read("s3://my-bucket/shop/files/?endpoint=http://127.0.0.1:7480&region=eu-central-1&retention=0&path_style=1")
        .provider
    ).toEqual({
      name: "archive",
      place: {
        of: "s3",
        bucket: "my-bucket",
        prefix: "shop/files/",
        endpoint: "http://127.0.0.1:7480",
        region: "eu-central-1",
        pathStyle: true,
        accessKeyId: null,
        secretAccessKey: null
      },
      public: false,
      publicUrl: null,
      retention: 0,
      maxBytes: null,
      maxFiles: null,
      linkLifetime: null
    })
    expect(read("s3://my-bucket?link_lifetime=5m").provider).toMatchObject({ linkLifetime: 300 })
    expect(read("s3://my-bucket").provider).toMatchObject({
      linkLifetime: null,
      place: { prefix: "", region: "us-east-1", endpoint: null }
    })
  })

  it.each([
    ["", "no address"],
    ["ftp://host/x", "no address"],
    ["/srv/files", "no address"],
    ["file://", "dir"],
    ["file:///x?colour=red", "unknown option"],
    ["file:///x?public=perhaps", "public"],
    ["file:///x?max_bytes=lots", "maxBytes"],
    ["file:///x?max_files=-1", "maxFiles"],
    ["file:///x?retention=soon", "retention"],
    ["file:///x?link_lifetime=1m", "linkLifetime"],
    ["file:///x?link_lifetime=3h", "linkLifetime"],
    ["file:///x?link_lifetime=10m&public=1", "linkLifetime"],
    ["file:///x?endpoint=http://h", "unknown option"],
    ["file:///%zz", "percent-encoded"],
    ["s3://", "bucket"],
    ["s3://b/x", "bucket"],
    ["s3://my-bucket/../x", "prefix"],
    ["s3://my-bucket/a//b", "prefix"],
    ["s3://my-bucket?endpoint=host", "endpoint"],
    ["s3://my-bucket?endpoint=http://user:pw@host", "endpoint"],
    ["s3://my-bucket?secret=hunter2", "credential"],
    ["s3://my-bucket?access_key_id=hunter2", "credential"],
    ["s3://KEY:hunter2@my-bucket/x", "credential"]
  ])("refuse %j, and repeat no credential", (address, what) => {
    const { provider, said } = read(address)
    expect(provider).toBeNull()
    expect(said.join(" ")).toContain(what)
    expect(said.join(" ")).not.toContain("hunter2")
    expect(said.join(" ")).not.toContain("pw@")
  })

  it("are declared in code", () => {
    const said: string[] = []
    const say = (message: string): void => void said.push(message)
    expect(
      readProvider(
        "private",
        localFiles({ dir: "data", retention: "12 hours", maxBytes: "1 GiB", linkLifetime: "10 minutes" }),
        say
      )
    )
      .toMatchObject({
        linkLifetime: 600,
        place: { of: "local", dir: "data" },
        retention: 43_200_000,
        maxBytes: 2 ** 30
      })
    const pair = { accessKeyId: "A", secretAccessKey: "B" }
    expect(readProvider("cloud", s3Files({ bucket: "my-bucket", prefix: "/a/b", public: true, ...pair }), say))
      .toMatchObject({
        public: true,
        place: { prefix: "a/b/", accessKeyId: "A", secretAccessKey: "B" }
      })
    expect(said).toEqual([])
    for (
      const wrong of [
        null,
        {},
        localFiles({} as never),
        localFiles({ dir: 5 } as never),
        localFiles({ dir: "x", colour: 1 } as never),
        s3Files({ bucket: "my-bucket", accessKeyId: "A" }),
        s3Files({ bucket: "x/y" })
      ]
    ) expect(readProvider("cloud", wrong, say)).toBeNull()
    expect(said.length).toBeGreaterThanOrEqual(7)
  })

  it("have a variable each", () => {
    expect(providerVariable("my-archive_2")).toBe("SERVICE_FILES_MY_ARCHIVE_2")
  })
})
