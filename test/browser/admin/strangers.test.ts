// Databases of others in a real browser: each list, records of it and, in deep runs, its form open without an error, and records have names where a text names them.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { loadConfig } from "../../../composition/config-file.ts"
import type { MetaModel } from "../../../core/domain/meta/meta.ts"
import { makeProject } from "../../cli/support.ts"
import { openShape, shapes } from "../../strangers/shapes.ts"
import { type Content, type Entity, keyOf, look, tokenOf } from "../../strangers/visit.ts"
import { deep } from "../../support/depth.ts"
import { chromiumPath } from "../chromium.ts"
import { goWithin } from "./pages/app.ts"
import { opener, type Stage, startStage } from "./stage.ts"

const quick = new Set(["northwind", "rails"])

const shown = shapes.filter(({ name }) => deep || quick.has(name))

/** Keys that stand for records without a name, in a resource and in what it points at. */
const unnamed = ({ lists, models, titleOf }: Content, model: MetaModel): ReadonlySet<string> =>
  new Set(
    models
      .filter(({ fields, name }) =>
        name === model.name || model.fields.some(({ relation }) => relation === name) ||
        fields.some(({ relation }) => relation === model.name)
      )
      .flatMap((each) =>
        (lists.get(each.name) ?? []).flatMap((record: Entity) =>
          titleOf(each, record) === "" ? [`#${decodeURIComponent(keyOf(each, record)).replaceAll(",", ", ")}`] : []
        )
      )
  )

/** Numbers in place of names that the page shows. Of a key that is no number, the text has its beginning. */
const numbersOn = async (page: Page, allowed: ReadonlySet<string>): Promise<readonly string[]> =>
  [...(await page.locator("body").innerText()).matchAll(/#\d+/g)].flatMap(([text]) =>
    [...allowed].some((key) => key === text || (key.startsWith(text) && /\D/.test(key.charAt(text.length))))
      ? []
      : [text]
  )

describe.skipIf(chromiumPath === null).each(shown)("a database as of $name", (shape) => {
  let stage: Stage
  let content: Content

  beforeAll(async () => {
    const database = await openShape(shape)
    const project = makeProject({ DATABASE_URL: database.url })
    try {
      expect(await project.quick("introspect")).toMatchObject({ code: 0, stderr: "" })
      const { config } = await loadConfig(`${project.folder}/admin.config.ts`)
      const schemas = shape.foreignAuth === true ? { auth: "admin_auth" } : {}
      stage = await startStage({ project: { config: { ...config, schemas }, database } })
    } catch (error) {
      // The stage that would drop it is not there.
      await database.drop()
      throw error
    } finally {
      await project.dispose()
    }
    content = await look(stage.url, await tokenOf(stage.url, stage.emailOf("admin"), stage.password))
  })
  afterAll(() => stage?.stop())

  const using = opener(() => stage, () => [])

  it("shows each list and records of it", async () => {
    await using({}, async (page, _, quiet) => {
      const wrong: string[] = []
      let at = ""
      page.on("response", (response) => {
        if (response.status() >= 400) wrong.push(`${at}: ${response.status()} ${response.url()}`)
      })
      const check = async (model: MetaModel): Promise<void> => {
        await quiet()
        await page.getByRole("main").getByRole("heading").first().waitFor()
        const failed = await page.getByText(/Something went wrong|Not found/).count()
        if (failed > 0) wrong.push(`${at}: it failed`)
        for (const number of await numbersOn(page, unnamed(content, model))) wrong.push(`${at}: ${number}`)
        const folder = process.env["SCREENSHOTS"]
        if (folder !== undefined) {
          await page.screenshot({ path: `${folder}/${shape.name} ${at.replaceAll("/", " ").trim()}.png` })
        }
      }
      const open = async (path: string, model: MetaModel): Promise<void> => {
        at = path
        await (deep ? page.goto(`${stage.url}${at}`) : goWithin(page, at))
        await check(model)
      }
      await page.goto(`${stage.url}/`)
      for (const model of content.models) {
        const list = `/${model.name}`
        at = list
        await page.getByRole("navigation", { name: "Navigation" }).locator(`a[href="${list}"]`).click()
        await page.waitForURL((url) => url.pathname === list)
        await check(model)
        for (const record of (content.lists.get(model.name) ?? []).slice(0, deep ? 2 : 1)) {
          await open(`${list}/${keyOf(model, record)}`, model)
        }
        if (deep && content.permissions[model.name]!.create) await open(`${list}/new`, model)
      }
      expect(wrong).toEqual([])
    })
  })
})
