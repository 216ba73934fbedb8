// Files of tenants whose text is no plain name, on a real disk: up and down again, within one tenant only, and gone without leaving folders.
import * as Effect from "effect/Effect"
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { makeLocalStorage } from "../../adapters/storage-local/storage.ts"
import { defineConfig } from "../../core/domain/declare/config.ts"
import { f } from "../../core/domain/declare/field.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { entryName, writeEntry } from "../../core/domain/file/cleanup.ts"
import { startService } from "../support/composed.ts"

const config = defineConfig({
  resources: [defineResource("docs", {
    primaryKey: "id",
    tenant: "tenant_id",
    fields: { id: f.integer().bits(64).readOnly().dbDefault(), file: f.file().optional() }
  })]
})

it("tenants of any text up to 200 bytes have files", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tenants-"))
  const service = await startService("fake", { config, schema: "", rows: {} }, {
    parts: { fileSettings: { folder, data: folder, keys: () => null, retention: null } }
  })
  const root = join(folder, "files", "private")
  try {
    for (const tenant of ["ü".repeat(100), "x".repeat(200), `${"/".repeat(199)}.`, "..", "a b", "~61"]) {
      const caller = { id: "ann", roles: ["admin"], tenant }
      const sent = await service.call(caller, "POST", "/api/v1/docs:upload?field=file&name=a.txt", { raw: tenant })
      expect(sent.status, sent.text).toBe(201)
      const made = await service.call(caller, "POST", "/api/v1/docs", { body: { file: sent.json["value"] } })
      const { uri, url } = made.json["file"] as unknown as { readonly uri: string; readonly url: string }
      const opened = await service.call(null, "GET", url)
      expect([opened.status, opened.text]).toEqual([200, tenant])
      const path = uri.slice("private:".length, uri.indexOf("?"))
      await Effect.runPromise(makeLocalStorage({ dir: root, public: false }).remove(path))
      expect((await service.call(null, "GET", url)).status).toBe(404)
    }
    expect((await readdir(root)).filter((name) => !name.startsWith("."))).toEqual([])
  } finally {
    await service.close()
    await rm(folder, { recursive: true, force: true })
  }
})

it("a file is held by records of any tenant, as SQL may have moved or copied them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tenants-"))
  let now = Date.now()
  const rows = {
    docs: [{ id: "1", tenant_id: "b", file: "private:a/copied.txt" }, {
      id: "2",
      tenant_id: "b",
      file: "private:_/shared.txt"
    }]
  }
  const service = await startService("fake", { config, schema: "", rows }, {
    parts: { fileSettings: { folder, data: folder, keys: () => null, retention: null } },
    files: { now: () => now }
  })
  const root = join(folder, "files", "private")
  const schedule = (path: string) =>
    mkdir(join(root, path.slice(0, path.lastIndexOf("/"))), { recursive: true }).then(async () => {
      await writeFile(join(root, path), "bytes")
      await mkdir(join(root, ".cleanup"), { recursive: true })
      const entry = { provider: "private", path, variants: [], whole: true, due: now }
      await writeFile(join(root, entryName(now, path.replaceAll(/\W/g, "-"))), writeEntry(entry))
    })
  try {
    for (const path of ["a/copied.txt", "_/shared.txt", "b/own.txt"]) await schedule(path)
    now += 86_400_000
    const caller = { id: "ann", roles: ["admin"], tenant: "a" }
    const cleaned = await service.call(caller, "POST", "/api/files:cleanup")
    expect([cleaned.status, cleaned.json], cleaned.text).toEqual([200, { deleted: 1, kept: 2 }])
    expect(await readdir(join(root, "_"))).toEqual(["shared.txt"])
    expect(await readdir(join(root, "a"))).toEqual(["copied.txt"])
  } finally {
    await service.close()
    await rm(folder, { recursive: true, force: true })
  }
})
