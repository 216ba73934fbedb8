// Proves the rules about imports and files: each one refuses a planted violation and lets its neighbour through. It runs
// the commands that `npm run lint` runs, with the project's own tables. The project keeps to the boundaries; what the
// linter says of it is for `npm run lint` to say, which takes longer than all of this.
import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

interface Ended {
  readonly code: number
  readonly output: string
}

const run = (folder: string, args: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: folder, maxBuffer: 1 << 26 }, (_, output, complaints) => {
      resolve({ code: child.exitCode ?? -1, output: output + complaints })
    })
  })

const boundaries = (folder: string) => run(folder, [join(root, "scripts", "boundaries.mjs")])
const oxlint = (folder: string) =>
  run(folder, [join(root, "node_modules", "oxlint", "bin", "oxlint"), "--deny-warnings", "--format=unix"])

const temporary: Array<string> = []
/** A folder with the project's settings and the given files. */
const plant = (files: ReadonlyMap<string, string>): string => {
  const folder = mkdtempSync(join(tmpdir(), "resource-admin-lint-"))
  temporary.push(folder)
  for (const name of ["package.json", "tsconfig.json", ".oxlintrc.json"]) cpSync(join(root, name), join(folder, name))
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction")
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}
afterAll(() => {
  for (const folder of temporary) rmSync(folder, { recursive: true, force: true })
})

const from = (specifier: string) => `import * as x from "${specifier}"\nexport const y = x\n`

/** Who must not import what: the path of the planted file without its number, and the specifier. */
const refused: ReadonlyArray<readonly [string, string]> = [
  // domain: itself and effect's data
  ["core/domain/read/a", "../../ports/records.ts"],
  ["core/domain/read/a", "../../app/read/list.ts"],
  ["core/domain/read/a", "../../../adapters/postgres/records.ts"],
  ["core/domain/read/a", "../../../composition/index.ts"],
  ["core/domain/read/a", "../../../test/support/rows.ts"],
  ["core/domain/read/a", "resource-admin"],
  ["core/domain/read/a", "node:fs"],
  ["core/domain/read/a", "fs"],
  ["core/domain/read/a", "node:crypto"],
  ["core/domain/read/a", "effect/Effect"],
  ["core/domain/read/a", "effect/Clock"],
  ["core/domain/read/a", "effect/Random"],
  ["core/domain/read/a", "effect/Context"],
  ["core/domain/read/a", "effect/http/HttpRouter"],
  ["core/domain/read/a", "zod"],
  ["core/domain/read/a", "vitest"],
  // the floors of the domain: never up, never to a neighbour, types included
  ["core/domain/a", "./value/kind.ts"],
  ["core/domain/value/a", "../model/model.ts"],
  ["core/domain/account/a", "../model/model.ts"],
  ["core/domain/model/a", "../account/roles.ts"],
  ["core/domain/model/a", "../filter/tree.ts"],
  ["core/domain/filter/a", "../access/caller.ts"],
  ["core/domain/access/a", "../read/plan.ts"],
  ["core/domain/file/a", "../job/job.ts"],
  ["core/domain/file/a", "../read/plan.ts"],
  ["core/domain/read/a", "../write/body.ts"],
  ["core/domain/write/a", "../event/envelope.ts"],
  ["core/domain/event/a", "../form/submission.ts"],
  ["core/domain/event/a", "../declare/config.ts"],
  ["core/domain/declare/a", "../compile/compile.ts"],
  ["core/domain/compile/a", "../meta/meta.ts"],
  // ports: domain and the words of a signature
  ["core/ports/a", "../app/read/list.ts"],
  ["core/ports/a", "../../adapters/mail/mail.ts"],
  ["core/ports/a", "../../composition/index.ts"],
  ["core/ports/a", "effect/Layer"],
  ["core/ports/a", "node:stream"],
  ["core/ports/a", "pg"],
  // app: domain, ports, effect without the outside world
  ["core/app/read/a", "../../../adapters/http/routes.ts"],
  ["core/app/read/a", "../../../composition/index.ts"],
  ["core/app/read/a", "../../../test/fakes/records.ts"],
  ["core/app/read/a", "effect/FileSystem"],
  ["core/app/read/a", "effect/sql/SqlClient"],
  ["core/app/read/a", "effect/http"],
  ["core/app/read/a", "effect/crypto/Digest"],
  ["core/app/read/a", "@effect/platform-node/NodeServices"],
  ["core/app/read/a", "node:path"],
  // the floors of the use cases
  ["core/app/ground/a", "../read/list.ts"],
  ["core/app/ground/a", "../app.ts"],
  ["core/app/read/a", "../write/single.ts"],
  ["core/app/read/a", "../make-app.ts"],
  ["core/app/write/a", "../file/upload.ts"],
  ["core/app/form/a", "../function/function.ts"],
  ["core/app/function/a", "../event/delivery-attempt.ts"],
  ["core/app/event/a", "../job/queue.ts"],
  ["core/app/job/a", "../task/tasks.ts"],
  // adapters: never each other, and only http sees app
  ["adapters/postgres/a", "../../core/app/read/list.ts"],
  ["adapters/queue/a", "../../core/app/read/list.ts"],
  ["adapters/postgres/a", "../queue/queue.ts"],
  ["adapters/http/a", "../auth/tokens.ts"],
  ["adapters/http/deep/a", "../../mail/mail.ts"],
  ["adapters/storage-s3/a", "../storage-local/storage.ts"],
  ["adapters/mail/a", "../../composition/config.ts"],
  ["adapters/mail/a", "../../test/fakes/mail.ts"],
  ["adapters/mail/a", "../../../outside.ts"],
  // each technology in its place
  ["adapters/http/a", "pg"],
  ["adapters/auth/a", "pg"],
  ["adapters/auth/a", "pg-protocol"],
  ["adapters/http/a", "@effect/sql-pg/PgClient"],
  ["composition/a", "@effect/sql-pg"],
  ["adapters/mail/a", "effect/sql"],
  ["composition/a", "effect/sql/SqlClient"],
  ["adapters/http/a", "jose"],
  ["composition/a", "jose"],
  ["adapters/http/a", "better-auth"],
  ["composition/a", "better-auth/plugins"],
  ["adapters/http/a", "@better-auth/core"],
  ["adapters/postgres/a", "kysely"],
  ["adapters/postgres/a", "effect/http"],
  ["adapters/outbound/a", "effect/http/HttpClient"],
  ["adapters/outbound/a", "effect/http-api/HttpApi"],
  ["adapters/queue/a", "@effect/platform-node/NodeRuntime"],
  ["adapters/http/a", "effect/cli/Command"],
  ["adapters/http/a", "swagger-ui"],
  ["adapters/postgres/a", "swagger-ui-dist"],
  // copied by the build, installed for development only
  ["adapters/http/a", "swagger-ui-dist"],
  // a technology without a row belongs to nobody in core and adapters
  ["core/domain/read/a", "vite"],
  ["core/ports/a", "vite"],
  ["core/app/read/a", "vite"],
  ["adapters/http/a", "vite"],
  ["adapters/mail/a", "vite"],
  ["core/domain/read/a", "re2js"],
  ["core/app/read/a", "re2js"],
  ["adapters/postgres/a", "re2js"],
  ["composition/a", "re2js"],
  ["core/app/read/a", "sharp"],
  ["adapters/storage-local/a", "thumbhash"],
  ["adapters/storage-local/a", "@aws-sdk/client-s3"],
  ["core/domain/file/a", "file-type"],
  ["adapters/images/a", "@fastify/busboy"],
  ["core/domain/filter/a", "croner"],
  ["adapters/queue/a", "croner"],
  ["core/app/read/a", "graphile-worker"],
  ["adapters/postgres/a", "graphile-worker"],
  ["composition/a", "graphile-worker"],
  ["adapters/auth/a", "nodemailer"],
  ["composition/a", "nodemailer"],
  // what the package does not declare or does not ship, the barrel, and what only tests need
  ["composition/a", "undici"],
  ["composition/a", "typescript"],
  ["composition/a", "#core/problem"],
  ["composition/a", "../test/fakes/records.ts"],
  ["composition/a", "../examples/shop/start.ts"],
  ["composition/a", "../core/domain/problem.test.ts"],
  ["composition/a", "effect"],
  ["adapters/http/a", "effect"],
  ["composition/a", "effect/testing/TestClock"],
  // web: model, filter and meta
  ["web/client/a", "../../core/domain/access/rules.ts"],
  ["web/client/a", "../../core/domain/problem.ts"],
  ["web/client/a", "../../core/ports/records.ts"],
  ["web/client/a", "../../composition/index.ts"],
  ["web/client/a", "../admin/main.ts"],
  ["web/client/a", "node:fs"],
  ["web/admin/a", "pg"],
  ["web/admin/a", "effect/Effect"],
  ["web/admin/a", "effect/encoding/Base64"],
  ["web/admin/a", "../../adapters/http/routes.ts"],
  ["web/client/a", "react"],
  ["web/client/a", "react-dom/client"],
  ["web/client/a", "@tanstack/react-query"],
  ["web/client/a", "lucide-react"],
  ["composition/a", "react-aria-components"],
  ["web/react/a", "../admin/main.tsx"],
  ["web/admin/list/a", "@codemirror/state"],
  ["web/admin/list/a", "virtual:guides"],
  // rooms of the admin app: floors above and neighbours
  ["web/admin/a", "./messages/locale.tsx"],
  ["web/admin/style/a", "../messages/locale.tsx"],
  ["web/admin/messages/a", "../model/client.ts"],
  ["web/admin/model/a", "../sources/follow.ts"],
  ["web/admin/sources/a", "../ground/app.ts"],
  ["web/admin/ground/a", "../sign-in/sign-in.tsx"],
  ["web/admin/plugin/a", "../field/input-props.ts"],
  ["web/admin/place/a", "../plugin/page.tsx"],
  ["web/admin/field/a", "../filter/bar.tsx"],
  ["web/admin/task/a", "../list/page.tsx"],
  ["web/admin/list/a", "../record/page.tsx"],
  ["web/admin/users/a", "../account/page.tsx"],
  ["web/admin/account/a", "../shell/shell.tsx"],
  ["web/admin/shell/a", "../main.tsx"],
  // a test beside the code keeps to its layer but for tools and test/
  ["core/domain/read/a.test", "../../app/read/list.ts"],
  ["core/domain/read/a.test", "pg"],
  ["core/domain/read/a.test", "../../../adapters/postgres/records.ts"],
  ["adapters/http/a.test", "../postgres/records.ts"],
  ["adapters/http/a.test", "jose"]
]

const allowed: ReadonlyArray<readonly [string, string]> = [
  ["core/domain/read/b", "../filter/tree.ts"],
  ["core/domain/read/b", "effect/Result"],
  ["core/domain/read/b", "effect/Option"],
  ["core/domain/read/b", "effect/Data"],
  ["core/domain/filter/b", "re2js"],
  ["core/domain/value/b", "../bag.ts"],
  ["core/domain/value/b", "./cell.ts"],
  ["core/domain/model/b", "../value/kind.ts"],
  ["core/domain/file/b", "../model/model.ts"],
  ["core/domain/write/b", "../read/key.ts"],
  ["core/domain/declare/b", "../event/envelope.ts"],
  ["core/domain/compile/b", "../declare/config.ts"],
  ["core/domain/compile/b", "../account/passkey.ts"],
  ["core/domain/meta/b", "../compile/options.ts"],
  ["core/domain/value/b.test", "../model/model.ts"],
  ["core/domain/job/b", "croner"],
  ["adapters/queue/b", "graphile-worker"],
  ["adapters/mail/b", "nodemailer"],
  ["core/ports/b", "../domain/problem.ts"],
  ["core/ports/b", "effect/Effect"],
  ["core/ports/b", "effect/Context"],
  ["core/app/read/b", "../../domain/problem.ts"],
  ["core/app/read/b", "../../ports/records.ts"],
  ["core/app/function/b", "../app.ts"],
  ["core/app/file/b", "../write/transaction.ts"],
  ["core/app/event/b", "../function/function.ts"],
  ["core/app/task/b", "../job/queue.ts"],
  ["core/app/read/b", "effect/Effect"],
  ["core/app/read/b", "effect/Layer"],
  ["adapters/http/b", "../../core/app/read/list.ts"],
  ["adapters/http/b", "effect/http/HttpRouter"],
  ["adapters/http/b", "@effect/platform-node/NodeHttpServer"],
  ["adapters/postgres/deep/b", "../records.ts"],
  ["adapters/mail/b", "effect/encoding/Base64"],
  ["adapters/postgres/b", "../../core/domain/read/plan.ts"],
  ["adapters/postgres/b", "../../core/ports/records.ts"],
  ["adapters/postgres/b", "pg"],
  ["adapters/postgres/b", "@effect/sql-pg/PgClient"],
  ["adapters/queue/b", "effect/sql/SqlClient"],
  ["adapters/auth/b", "jose"],
  ["adapters/auth/b", "better-auth/plugins"],
  ["adapters/auth/b", "@better-auth/passkey"],
  ["adapters/auth/b", "kysely"],
  ["adapters/storage-local/b", "node:fs/promises"],
  ["composition/b", "../core/app/read/list.ts"],
  ["composition/b", "../adapters/postgres/records.ts"],
  ["composition/b", "../package.json"],
  ["composition/b", "pg"],
  ["composition/b", "vite"],
  ["composition/b", "effect/http"],
  ["composition/b", "effect/cli/Command"],
  ["composition/b", "node:child_process"],
  ["web/client/b", "../../core/domain/model/model.ts"],
  ["web/client/b", "../../core/domain/filter/tree.ts"],
  ["web/client/b", "../../core/domain/value/kind.ts"],
  ["web/client/b", "../../core/domain/declare/record.ts"],
  ["web/client/b", "../../core/domain/meta/meta.ts"],
  ["web/client/b", "effect/Result"],
  ["web/admin/guide/b", "virtual:guides"],
  ["web/admin/b", "../client/client.ts"],
  ["web/admin/b", "react-aria-components"],
  ["web/admin/messages/b", "../config.ts"],
  ["web/admin/model/b", "../messages/locale.tsx"],
  ["web/admin/ground/b", "../style/frame.module.css"],
  ["web/admin/field/b", "../plugin/part.tsx"],
  ["web/admin/list/b", "../task/change.tsx"],
  ["web/admin/record/b", "../list/copied.ts"],
  ["web/admin/account/b", "../users/accounts.ts"],
  ["web/admin/shell/b", "../account/page.tsx"],
  ["web/react/b", "@tanstack/react-query"],
  ["core/domain/read/b.test", "vitest"],
  ["core/domain/read/b.test", "@effect/vitest"],
  ["core/domain/read/b.test", "../../../test/support/rows.ts"],
  ["core/app/read/b.test", "../../../test/fakes/records.ts"],
  ["core/app/read/b.test", "effect/testing/TestClock"],
  ["test/http/b", "../../adapters/postgres/records.ts"],
  ["test/http/b", "jose"],
  ["test/http/b", "undici"],
  ["examples/shop/b", "resource-admin"]
]

/** The other ways to write an import; each in core/app/read, where `pg` is refused. */
const forms: ReadonlyArray<readonly [string, string]> = [
  ["import type", "import type { Pool } from \"pg\"\nexport type P = Pool\n"],
  ["a type's import()", "export type P = import(\"pg\").Pool\n"],
  ["import()", "export const p = () => import(\"pg\")\n"],
  ["import() of a template", "export const p = () => import(`pg`)\n"],
  ["import() of a computed name", "export const p = (name: string) => import(name)\n"],
  ["export from", "export { Pool } from \"pg\"\n"],
  ["export type from", "export type { Pool } from \"pg\"\n"],
  ["export * as", "export * as pg from \"pg\"\n"],
  ["a side effect", "import \"pg\"\n"],
  ["import = require", "import pg = require(\"pg\")\nexport const p = pg\n"],
  ["require", "declare const require: (name: string) => unknown\nexport const p = require(\"pg\")\n"]
]

/** Rules about a file and not an import: rule, path, text, and whether the file is refused. */
const whole: ReadonlyArray<readonly [string, string, string, boolean]> = [
  ["file-name", "core/domain/utils.ts", "export const a = 1\n", true],
  ["file-name", "core/domain/helpers.ts", "export const a = 1\n", true],
  ["file-name", "adapters/http/common.ts", "export const a = 1\n", true],
  ["file-name", "adapters/http/types/routes.ts", "export const a = 1\n", true],
  ["file-name", "composition/manager.test.ts", "export const a = 1\n", true],
  ["file-name", "test/support/service.ts", "export const a = 1\n", true],
  ["file-name", "composition/services.ts", "export const a = 1\n", false],
  ["export-all", "core/domain/all.ts", "export * from \"./problem.ts\"\n", true],
  ["export-all", "composition/all.ts", "export type * from \"../core/domain/problem.ts\"\n", true],
  ["export-all", "composition/index.ts", "export * from \"./all.ts\"\n", false],
  ["clock", "core/domain/clock-a.ts", "export const a = new Date()\n", true],
  ["clock", "core/app/read/clock-b.ts", "export const a = Date()\n", true],
  ["clock", "core/app/read/clock-c.ts", "export const a = new Date(0)\n", false],
  ["clock", "core/app/read/clock-d.test.ts", "export const a = new Date()\n", false],
  ["clock", "adapters/http/clock-e.ts", "export const a = new Date()\n", false],
  ["layer", "core/loose.ts", "export const a = 1\n", true],
  ["layer", "adapters/loose.ts", "export const a = 1\n", true],
  ["floor", "core/domain/attic/box.ts", "export const a = 1\n", true],
  ["floor", "core/domain/floorless.ts", "export const a = 1\n", false],
  ["floor", "core/app/attic/box.ts", "export const a = 1\n", true],
  ["floor", "core/app/floorless.ts", "export const a = 1\n", true],
  ["floor", "web/admin/attic/box.tsx", "export const a = 1\n", true],
  ["floor", "web/admin/floorless.ts", "export const a = 1\n", false],
  ["floor", "core/app/roof.test.ts", "export const a = 1\n", false],
  ["syntax", "composition/broken.ts", "export const = 1\n", true]
]

/**
 * Files that import each other, each as its path and what it imports, and the circle that is reported; null: there is none. All stand in one tree, so
 * no two have a path in common.
 */
const rings: ReadonlyArray<
  readonly [name: string, files: ReadonlyArray<readonly [path: string, text: string]>, circle: string | null]
> = [
  ["two files", [
    ["core/app/read/two-a.ts", "import { b } from \"./two-b.ts\"\nexport const a = () => b\n"],
    ["core/app/read/two-b.ts", "import { a } from \"./two-a.ts\"\nexport const b = () => a\n"]
  ], "core/app/read/two-a.ts -> core/app/read/two-b.ts -> core/app/read/two-a.ts"],
  ["a type", [
    ["adapters/http/type-a.ts", "import type { B } from \"./type-b.ts\"\nexport type A = B[]\n"],
    ["adapters/http/type-b.ts", "export type B = import(\"./type-a.ts\").A | null\n"]
  ], "adapters/http/type-a.ts -> adapters/http/type-b.ts -> adapters/http/type-a.ts"],
  ["three files of two folders, beside a shorter way that leads nowhere", [
    ["composition/ring/a.ts", "import \"./end.ts\"\nexport { b } from \"../ring-b.ts\"\n"],
    ["composition/ring-b.ts", "import { c } from \"./ring/c.ts\"\nexport const b = c\n"],
    ["composition/ring/c.ts", "export const c = () => import(\"./a.ts\")\n"],
    ["composition/ring/end.ts", "export const end = 1\n"]
  ], "composition/ring/a.ts -> composition/ring-b.ts -> composition/ring/c.ts -> composition/ring/a.ts"],
  ["the package's own name", [
    ["composition/index.ts", "export * from \"./named.ts\"\n"],
    ["composition/named.ts", "import * as own from \"resource-admin\"\nexport const n = own\n"]
  ], "composition/index.ts -> composition/named.ts -> composition/index.ts"],
  ["a file and itself", [
    ["bench/self.ts", "import * as own from \"./self.ts\"\nexport const s = own\n"]
  ], "bench/self.ts -> bench/self.ts"],
  ["two that share a third", [
    ["test/support/left.ts", "import { base } from \"./base.ts\"\nexport const left = base\n"],
    [
      "test/support/right.ts",
      "import { base } from \"./base.ts\"\nimport { left } from \"./left.ts\"\nexport const r = [base, left]\n"
    ],
    ["test/support/base.ts", "export const base = 1\n"]
  ], null]
]

const unique = (path: string, index: number) => path.replace(/(\.test)?$/, `${index}$1.ts`)

describe("boundaries", () => {
  let found: ReadonlyMap<string, ReadonlyArray<string>>
  let ended: Ended

  beforeAll(async () => {
    const files = new Map<string, string>()
    refused.forEach(([path, specifier], index) => files.set(unique(path, index), from(specifier)))
    allowed.forEach(([path, specifier], index) => files.set(unique(path, index), from(specifier)))
    forms.forEach(([, text], index) => files.set(`core/app/read/form${index}.ts`, text))
    whole.forEach(([, path, text]) => files.set(path, text))
    ended = await boundaries(plant(files))
    const lines = new Map<string, Array<string>>()
    for (const [, path, rule] of ended.output.matchAll(/^(\S+?):\d+:\d+ ([a-z-]+): .+$/gm)) {
      lines.set(path!, [...(lines.get(path!) ?? []), rule!])
    }
    found = lines
  })

  it("ends with an error and counts every planted file", () => {
    expect(ended.code).toBe(1)
    const planted = refused.length + allowed.length + forms.length + whole.length
    expect(ended.output).toMatch(new RegExp(`^boundaries: ${planted} files, [1-9]\\d* violations$`, "m"))
  })
  it.each(refused.map(([path, specifier], index) => ({ path, specifier, index })))(
    "$path must not import $specifier",
    ({ path, index }) => expect(found.get(unique(path, index))).toEqual(["import"])
  )
  it.each(allowed.map(([path, specifier], index) => ({ path, specifier, index })))(
    "$path may import $specifier",
    ({ path, index }) => expect(found.get(unique(path, index))).toBeUndefined()
  )
  it.each(forms.map(([form], index) => ({ form, index })))(
    "sees $form",
    ({ index }) => expect(found.get(`core/app/read/form${index}.ts`)).toEqual(["import"])
  )
  it.each(whole.map(([rule, path, , isRefused]) => ({ rule, path, isRefused })))(
    "$rule in $path: refused $isRefused",
    ({ rule, path, isRefused }) => expect(found.get(path) ?? []).toEqual(isRefused ? [rule] : [])
  )
  it("fails on a tree without files, which proves nothing", async () => {
    expect(await boundaries(plant(new Map()))).toMatchObject({ code: 1, output: "boundaries: 0 files, 0 violations\n" })
  })
  it("lets a tree without violations pass", async () => {
    const files = new Map(allowed.map(([path, specifier], index) => [unique(path, index), from(specifier)]))
    expect(await boundaries(plant(files))).toEqual({
      code: 0,
      output: `boundaries: ${allowed.length} files, 0 violations\n`
    })
  })
  it("finds the project clean", async () => {
    const project = await boundaries(root)
    expect(project.output).toMatch(/^boundaries: [1-9]\d* files, 0 violations\n$/)
    expect(project.code).toBe(0)
  })
})

describe("circles", () => {
  const circles: Array<readonly [path: string, circle: string]> = []

  beforeAll(async () => {
    const files = rings.flatMap(([, files]) => files)
    expect(new Set(files.map(([path]) => path)).size).toBe(files.length)
    const { code, output } = await boundaries(plant(new Map(files)))
    expect(code).toBe(1)
    for (const [, path, circle] of output.matchAll(/^(\S+?):\d+:\d+ circle: (.+): move /gm)) {
      circles.push([path!, circle!])
    }
  })

  it.each(rings.map(([name, files, circle]) => ({ name, files, circle })))(
    "of $name: reported as it is, and nothing else",
    ({ files, circle }) => {
      const own = circles.filter(([path, way]) => files.some(([each]) => each === path || way.includes(each)))
      expect(own).toEqual(circle === null ? [] : [[circle.split(" -> ")[0], circle]])
    }
  )
})

/** A function of so many lines. */
const functionOf = (lines: number): string =>
  `export const a = (): number => {\n${"\n".repeat(lines - 3)}  return 1\n}\n`

/** Rule, path, text, and whether the linter refuses the file. */
const linted: ReadonlyArray<readonly [string, string, string, boolean]> = [
  ["no-floating-promises", "core/app/float.ts", "const f = async () => 1\nexport const a = () => {\n  f()\n}\n", true],
  [
    "no-misused-promises",
    "adapters/http/misuse.ts",
    "const f = async () => true\nexport const a = () => (f() ? 1 : 2)\n",
    true
  ],
  ["no-explicit-any", "core/app/any.ts", "export const a = (x: any): string => String(x)\n", true],
  ["no-default-export", "core/app/standard.ts", "export default 1\n", true],
  ["no-default-export", "examples/shop/admin.config.ts", "export default 1\n", false],
  ["no-focused-tests", "core/app/focus.test.ts", "import { it } from \"vitest\"\nit.only(\"a\", () => {})\n", true],
  ["no-restricted-properties", "core/domain/now.ts", "export const a = Date.now()\n", true],
  ["no-restricted-properties", "core/app/chance.ts", "export const a = Math.random()\n", true],
  ["no-restricted-properties", "core/app/identity.ts", "export const a = crypto.randomUUID()\n", true],
  [
    "no-restricted-properties",
    "core/app/bytes.ts",
    "export const a = crypto.getRandomValues(new Uint8Array(1))\n",
    true
  ],
  [
    "no-restricted-properties",
    "core/app/today.ts",
    "import * as DateTime from \"effect/DateTime\"\nexport const a = DateTime.nowUnsafe()\n",
    true
  ],
  ["no-restricted-properties", "adapters/http/now.ts", "export const a = Date.now()\n", false],
  ["no-restricted-globals", "core/ports/env.ts", "export const a = process.env\n", true],
  ["no-restricted-globals", "core/app/print.ts", "export const a = () => console.log(1)\n", true],
  ["no-restricted-globals", "core/app/reach.ts", "export const a = () => fetch(\"http://localhost\")\n", true],
  ["no-restricted-globals", "core/app/around.ts", "export const a = globalThis\n", true],
  ["no-restricted-globals", "core/domain/wait.ts", "export const a = () => setTimeout(() => {}, 1)\n", true],
  ["no-restricted-globals", "core/domain/repeat.ts", "export const a = () => setInterval(() => {}, 1)\n", true],
  ["no-restricted-globals", "core/domain/soon.ts", "export const a = () => setImmediate(() => {})\n", true],
  ["no-restricted-globals", "core/domain/measure.ts", "export const a = performance.now()\n", true],
  ["no-restricted-globals", "core/domain/local.ts", "export const a = (process: number) => process\n", false],
  ["no-restricted-globals", "core/app/time.test.ts", "export const a = performance.now()\n", false],
  ["no-restricted-globals", "composition/print.ts", "export const a = () => console.log(1)\n", false],
  ["max-lines-per-function", "web/admin/list/long.tsx", functionOf(151), true],
  ["max-lines-per-function", "web/admin/list/short.tsx", functionOf(150), false],
  ["max-lines-per-function", "composition/long.ts", functionOf(151), false]
]

describe("linter", () => {
  let found: ReadonlyMap<string, ReadonlyArray<string>>

  beforeAll(async () => {
    const { code, output } = await oxlint(plant(new Map(linted.map(([, path, text]) => [path, text]))))
    expect(code).toBe(1)
    const lines = new Map<string, Array<string>>()
    for (const [, path, rule] of output.matchAll(/^(\S+?):\d+:\d+: .*\(([a-z-]+)\)\]$/gm)) {
      lines.set(path!, [...(lines.get(path!) ?? []), rule!])
    }
    found = lines
  })

  it.each(linted.map(([rule, path, , isRefused]) => ({ rule, path, isRefused })))(
    "$rule in $path: refused $isRefused",
    ({ rule, path, isRefused }) => expect(found.get(path) ?? []).toEqual(isRefused ? [rule] : [])
  )
})
