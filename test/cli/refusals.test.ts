import { describe, expect, it } from "vitest"
import { config, notes, notesProject } from "./notes.ts"
import { makeProject } from "./support.ts"

// They share nothing, and one of them waits for ten seconds.
describe.concurrent("what is wrong is said plainly", () => {
  it("exits with 2 for a wrong use, with 1 for everything else", async () => {
    await using project = makeProject()
    expect(await project.service("--help")).toMatchObject({ code: 0, stdout: expect.stringContaining("introspect") })
    expect((await project.quick("users", "create", "--help")).code).toBe(0)
    expect((await project.quick("--version")).stdout).toMatch(/[0-9]+\.[0-9]+\.[0-9]+/)
    expect((await project.service("frobnicate")).code).toBe(2)
    expect((await project.quick("serve", "--port", "many")).code).toBe(2)
    expect((await project.quick("token")).code).toBe(2)
    expect(await project.service("serve")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no admin.config.ts")
    })
  })

  it("names the place in a configuration that cannot be loaded", async () => {
    await using project = makeProject()
    project.write("admin.config.ts", "export const a = 1\n")
    expect((await project.quick("serve")).stderr).toContain("admin.config.ts has no default export")
    project.write("admin.config.ts", "import { x } from \"./part.ts\"\nexport default x\n")
    project.write("part.ts", "interface A { b: string }\n\nexport const x = 1\nthrow new TypeError(\"boom\")\n")
    expect((await project.quick("serve")).stderr).toMatch(/TypeError: boom\n {4}at .*part\.ts:4:7/)
    project.write(
      "part.ts",
      "import { defineResource, f } from \"resource-admin\"\n\nexport const x = defineResource(\"parts\", {\n  table: \"parts\",\n"
        + "  primaryKey: \"id\",\n  fields: { id: (f as any).serial() }\n})\n"
    )
    expect((await project.quick("serve")).stderr).toContain("In the resource \"parts\": TypeError")
    project.write("part.ts", "export const x: number = ;\n")
    expect((await project.quick("serve")).stderr).toContain("part.ts:1:26")
    project.write("part.ts", "import * as none from \"nobody-has-this\"\nexport const x = none\n")
    expect((await project.quick("serve")).stderr).toContain("Run: npm install nobody-has-this")
    project.write("admin.config.ts", "export default (async () => { throw new Error(\"late\") })()\n")
    expect((await project.quick("serve")).stderr).toContain("late")
    project.write("admin.config.ts", "export default (async () => ({ resources: 7 }))()\n")
    expect((await project.quick("serve")).stderr).toContain("resources is 7, not a list")
  })

  it("reports environment, configuration and port together with what to do", async () => {
    await using project = makeProject({
      DATABASE_URL: "mysql://root:hunter2@db/x",
      AUTH_SECRET: "short",
      PORT: "99999",
      SERVICE_TRUSTED_PROXIES: "-1",
      SERVICE_CORS_ORIGINS: "https://a.example, *",
      AUTH_URL: "admin.example.com"
    })
    project.write("admin.config.ts", config())
    project.write("notes.ts", notes.replace(".dbDefault()", "").replace("filterable()", "filterable().alias(\"body\")"))
    const { code, stderr } = await project.quick("serve")
    expect(code).toBe(1)
    for (
      const part of [
        "DATABASE_URL is not",
        "AUTH_SECRET is shorter",
        "PORT is \"99999\"",
        "SERVICE_TRUSTED_PROXIES is \"-1\"",
        "SERVICE_CORS_ORIGINS has \"*\"",
        "AUTH_URL is \"admin.example.com\"",
        "The alias \"body\" is the field's own name"
      ]
    ) expect(stderr).toContain(part)
    expect(stderr).not.toContain("hunter2")
  })

  it("reports a database's URL that leaves encryption in doubt, to every command, without its password", async () => {
    await using project = notesProject({ DATABASE_URL: "postgres://app:hunter2@127.0.0.1:1/none?sslmode=prefer" })
    for (const command of [["serve"], ["users", "list"], ["introspect"], ["migration", "--apply"], ["doctor"]]) {
      const { code, stderr } = await project.quick(...command)
      expect({ command, code }).toEqual({ command, code: 1 })
      expect(stderr).toContain("DATABASE_URL has sslmode=prefer")
      expect(stderr).toContain("Write sslmode=verify-full or require")
      expect(stderr).not.toContain("hunter2")
    }
  })

  it("does not wait forever for a database that is not there", async () => {
    await using project = notesProject({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" })
    const [users, serve] = await Promise.all([
      project.service("users", "list"),
      project.service("serve", "--port", "0")
    ])
    expect(users).toMatchObject({ code: 1, stderr: expect.stringContaining("127.0.0.1:1 cannot be reached") })
    expect(serve).toMatchObject({ code: 1, stderr: expect.stringContaining("Check DATABASE_URL") })
    expect(serve.stdout).toContain("database-unreachable")
  })

  it("says of every command that its database is not there, with what to check and without a stack", async () => {
    await using project = notesProject({ DATABASE_URL: "postgres://nobody:hunter2@127.0.0.1:1/none" })
    for (const command of [["doctor"], ["introspect"], ["migration", "--apply"], ["token", "ann@example.com"]]) {
      const { code, stderr } = await project.quick(...command)
      expect({ command, code }).toEqual({ command, code: 1 })
      expect(stderr).toContain("The database at 127.0.0.1:1 cannot be reached.")
      expect(stderr).toContain("Check DATABASE_URL")
      expect(stderr).not.toMatch(/hunter2|^ {4}at /m)
    }
  })

  it("names the file or folder that cannot be made or written, without a stack", async () => {
    await using project = notesProject({ SERVICE_DATA: "notes.ts/data", AUTH_SECRET: "" })
    for (const command of [["doctor"], ["serve"], ["init", "notes.ts/inside"]]) {
      const { code, stderr } = await project.quick(...command)
      expect({ command, code }).toEqual({ command, code: 1 })
      expect(stderr).toMatch(/ENOTDIR.*notes\.ts/)
      expect(stderr).toContain("Check that the folder")
      expect(stderr).not.toMatch(/^ {4}at /m)
    }
  })
})
