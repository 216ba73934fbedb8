/** A service with file fields for scenarios: pictures that anyone may open, papers of tenants and owners, on storages in memory with a clock of their own. */

import { afterAll, beforeAll, describe, expect } from "vitest"
import { sharpImages } from "../../../adapters/images/images.ts"
import { defineConfig } from "../../../core/domain/declare/config.ts"
import { f } from "../../../core/domain/declare/field.ts"
import { aspectRatio, fileSize, fileType, imageSize, processor } from "../../../core/domain/declare/file.ts"
import { history } from "../../../core/domain/declare/history.ts"
import { defineResource } from "../../../core/domain/declare/resource.ts"
import { defineRoles } from "../../../core/domain/declare/roles.ts"
import { localFiles } from "../../../core/domain/file/provider.ts"
import type { ProcessedFile } from "../../../core/domain/model/file.ts"
import { makeFakeImages } from "../../fakes/images.ts"
import { makeFakeStorage } from "../../fakes/storage.ts"
import type { FakeStorage } from "../../fakes/storage.ts"
import { startService } from "../../support/composed.ts"
import type { Answer, Answered, CallOptions, Fixture, TestCaller, TestService } from "../../support/composed.ts"

export const admin: TestCaller = { id: "root", roles: ["admin"], tenant: "t1" }
export const ann: TestCaller = { id: "ann", roles: ["clerk"], tenant: "t1" }
export const bob: TestCaller = { id: "bob", roles: ["clerk"], tenant: "t1" }
export const tom: TestCaller = { id: "tom", roles: ["clerk"], tenant: "t2" }
/** May create labels and change none. */
export const abe: TestCaller = { id: "abe", roles: ["adder"], tenant: "t1" }
export const eve: TestCaller = { id: "eve", roles: ["reader"], tenant: "t1" }

const products = defineResource("products", {
  primaryKey: "id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().sortable(),
    name: f.text(),
    image: f.file().optional().public().accept(["image/*"]).maxSize("300 kB").placeholder("image_hash")
      .derive({
        image_width: imageSize("width"),
        image_height: imageSize("height"),
        image_ratio: aspectRatio({ decimals: 2 })
      })
      .variants({ card: { width: 40, height: 40, fit: "cover" }, full: { width: 200, format: "jpeg" } }),
    image_hash: f.text().readOnly().optional(),
    image_width: f.integer().readOnly().optional(),
    image_height: f.integer().readOnly().optional(),
    image_ratio: f.decimal({ precision: 10, scale: 2 }).readOnly().optional(),
    logo: f.file().optional().public().accept(["image/*"]).variants({}, { original: { width: 50, format: "webp" } })
  }
})

/** What the custom processor does next; tests change it. */
export const behaviour: { run: (file: ProcessedFile) => unknown } = { run: ({ name }) => name.length }

const papers = defineResource("papers", {
  primaryKey: "id",
  tenant: "tenant_id",
  owner: "owner_id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().sortable(),
    title: f.text().filterable(),
    owner_id: f.text(),
    invoice: f.file().optional().accept(["application/pdf"]).maxSize("100 kB"),
    scan: f.file().optional().storage("archive").externalUrls().maxSize("25 MB").derive({
      scan_size: fileSize(),
      scan_type: fileType(),
      scan_note: processor({ accepts: ["text/*"], run: (file) => behaviour.run(file) as never })
    }),
    scan_size: f.integer().bits(64).readOnly().optional(),
    scan_type: f.text().readOnly().optional(),
    scan_note: f.integer().readOnly().optional(),
    confidential: f.file().optional().linkLifetime("10 minutes")
  },
  access: { fields: { confidential: { read: ["admin"], write: ["admin"] } } }
})

const bins = defineResource("bins", {
  primaryKey: "id",
  softDelete: "gone_at",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault(),
    blob: f.file().storage("small").optional()
  }
})

const galleries = defineResource("galleries", {
  primaryKey: "id",
  tenant: "tenant_id",
  owner: "owner_id",
  fields: {
    id: f.integer().bits(64).readOnly().dbDefault().sortable(),
    title: f.text().filterable(),
    owner_id: f.text(),
    photos: f.files().max(5).accept(["image/*"]).maxSize("300 kB").variants({ card: { width: 40 } }),
    notes: f.files().optional().storage("archive").externalUrls().column("note_files"),
    secrets: f.files()
  },
  access: { fields: { secrets: { read: ["admin"], write: ["admin"] } } }
})

/** Keys that callers choose. */
const labels = defineResource("labels", {
  primaryKey: "code",
  fields: { code: f.text().max(20), sheet: f.file().optional() }
})

export const config = defineConfig({
  resources: [products, papers, bins, galleries, labels],
  roles: defineRoles({
    admin: ["*"],
    clerk: [
      "products.*",
      "papers.read",
      "papers.create",
      "papers.update.own",
      "papers.delete.own",
      "bins.*",
      "galleries.*",
      "labels.*"
    ],
    adder: ["labels.read", "labels.create"],
    reader: ["products.read", "papers.read", "galleries.read"]
  }),
  extends: [history({ resources: ["papers", "galleries"] })],
  files: {
    imageProcessor: sharpImages(),
    trustedHosts: ["images.example.com"],
    providers: {
      archive: localFiles({ dir: "archive", retention: "2d" }),
      small: localFiles({ dir: "small", maxBytes: 1_000, maxFiles: 3, retention: 0 })
    }
  }
})

const columns =
  `title text not null, owner_id text not null, invoice text, scan text, scan_size bigint, scan_type text, scan_note integer,
  confidential text, tenant_id text not null`

const galleryColumns =
  "title text not null, owner_id text not null, photos text[] not null, note_files text[], secrets text[] not null, tenant_id text not null"

const versionColumns = `history_id bigint generated by default as identity primary key, history_operation text not null,
    history_at timestamptz not null default clock_timestamp(), history_by text, history_changed text, id bigint`

const fixture: Fixture = {
  config,
  schema:
    `create table products (id bigint generated by default as identity primary key, name text not null, image text, image_hash text,
    image_width integer, image_height integer, image_ratio numeric(10, 2), logo text);
  create table papers (id bigint generated by default as identity primary key, ${columns});
  create table bins (id bigint generated by default as identity primary key, blob text, gone_at timestamptz);
  create table labels (code text primary key, sheet text);
  create table galleries (id bigint generated by default as identity primary key, ${galleryColumns});
  create schema history;
  create table history.papers (${versionColumns}, ${columns.replaceAll(" not null", "")});
  create table history.galleries (${versionColumns}, ${galleryColumns.replaceAll(" not null", "")})`,
  rows: {},
  defaultOf: (_, field) => field.column === "history_at" ? "2026-11-23T00:00:00Z" : undefined as never
}

export interface Stage {
  readonly service: TestService
  readonly storages: { readonly [provider in "private" | "public" | "archive" | "small"]: FakeStorage }
  readonly images: ReturnType<typeof makeFakeImages>
  /** Milliseconds since 1970; tests move it. */
  readonly clock: { now: number }
}

/** Runs a suite over the stage on both backends. */
export const onStage = (
  name: string,
  suite: (stage: () => Stage) => void,
  backends: ReadonlyArray<"fake" | "postgres"> = ["fake", "postgres"],
  links = false,
  made = fixture
): void => {
  for (const backend of backends) {
    describe(`${name}, ${backend}`, () => {
      let stage: Stage | undefined
      beforeAll(async () => {
        const clock = { now: Date.now() }
        const storage = () => makeFakeStorage({ now: () => clock.now, links })
        const storages = { private: storage(), public: storage(), archive: storage(), small: storage() }
        const images = makeFakeImages()
        const service = await startService(backend, made, {
          files: {
            storages: new Map(Object.entries(storages).map(([provider, { service }]) => [provider, service])),
            images,
            now: () => clock.now
          }
        })
        stage = { service, storages, images, clock }
      })
      afterAll(async () => {
        await stage?.service.close()
        expect(stage?.service.unhandled).toEqual([])
      })
      suite(() => stage!)
    })
  }
}

export const base = "/api/v1"

/** Uploads bytes; answers what the service did. */
export const upload = async (
  { service }: Stage,
  caller: TestCaller | null,
  place: string,
  body: NonNullable<CallOptions["raw"]>,
  options: { readonly type?: string; readonly name?: string; readonly headers?: CallOptions["headers"] } = {}
): Promise<Answer> => {
  const [resource, field] = place.split(".")
  // A form as bytes: a request that makes them on the way cannot be stopped.
  const form = body instanceof FormData ? new Response(body) : null
  const query = new URLSearchParams({ field: field!, ...(options.name === undefined ? {} : { name: options.name }) })
  return service.call(caller, "POST", `${base}/${resource}:upload?${query.toString()}`, {
    raw: form === null ? body : await form.arrayBuffer(),
    headers: {
      ...(form === null ? {} : { "content-type": form.headers.get("content-type")! }),
      ...(options.type === undefined ? {} : { "content-type": options.type }),
      ...options.headers
    }
  })
}

/** Uploads and gives the ticket, or fails the test. */
export const ticketFor = async (...args: Parameters<typeof upload>): Promise<string> => {
  const answer = await upload(...args)
  expect(answer.status, answer.text).toBe(201)
  return (answer.json as Answered)["value"] as string
}

export const create = async (
  { service }: Stage,
  caller: TestCaller,
  resource: string,
  body: object
): Promise<Answered> => {
  const answer = await service.call(caller, "POST", `${base}/${resource}`, { body })
  expect(answer.status, answer.text).toBe(201)
  return answer.json
}

export const patch = (
  { service }: Stage,
  caller: TestCaller,
  path: string,
  body: object,
  headers: { readonly [name: string]: string } = { "if-match": "*" }
): Promise<Answer> => service.call(caller, "PATCH", `${base}/${path}`, { body, headers })

export const cleanup = async ({ service }: Stage): Promise<Answered> => {
  const answer = await service.call(admin, "POST", "/api/files:cleanup")
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}

/** A small PDF. */
export const pdf = (text = "one page"): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(
    `%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n% ${text}\n\u00e2\u00e3\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n`
  )

/** Files that a storage holds, without scheduled deletes. */
export const held = ({ files }: FakeStorage): readonly string[] =>
  [...files.keys()].filter((path) => !path.startsWith(".")).sort()
export const scheduled = ({ files }: FakeStorage): readonly string[] =>
  [...files.keys()].filter((path) => path.startsWith(".cleanup/")).sort()
