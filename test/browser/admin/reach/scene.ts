/** A scene: what somebody does on some pages by keyboard alone, and the states of these pages that are looked at on the way. */

import type { Locator, Page } from "playwright-core"
import { expect } from "vitest"
import type { OpenOptions, Stage, Watched } from "../stage.ts"
import { keyboard } from "./keyboard.ts"
import { seen } from "./looks.ts"

export interface Visit {
  readonly stage: Stage
  readonly page: Page
  readonly keys: ReturnType<typeof keyboard>
  /** Everything that the page sent. */
  readonly sent: readonly string[]
  /** Loads a page of the app, and goes past its sidebar once something is there. */
  readonly open: (path: string, there: Locator) => Promise<void>
  /** Fails for what is wrong with the page as it is. A quick run takes one look after the other, and of a state whose parts other states have, `known`, the shape only. */
  readonly seen: (state: string, known?: "known") => Promise<void>
}

export interface Scene {
  readonly name: string
  readonly options?: OpenOptions
  readonly work: (visit: Visit) => Promise<void>
}

/** `place`: the scene's among all scenes. Scenes begin with different looks, so that each look sees first pages as well as last dialogs. */
export const visitOf = (
  stage: Stage,
  page: Page,
  sent: readonly string[],
  quiet: Watched["quiet"],
  place: number
): Visit => {
  const keys = keyboard(page)
  let turn = place
  return {
    stage,
    page,
    keys,
    sent,
    open: async (path, there) => {
      await page.goto(stage.url + path)
      await there.waitFor()
      await keys.skip()
    },
    seen: async (state, known) => {
      await quiet()
      await seen(page, state, known ?? turn++)
    }
  }
}

/** A new order of the admin's. */
export const newOrder = async (
  stage: Stage,
  more: object = {}
): Promise<{ readonly id: string; readonly etag: string }> => {
  const first = async (path: string): Promise<unknown> => {
    const { body } = await stage.call("admin", "GET", path)
    return (body["items"] as readonly Record<string, unknown>[])[0]!["id"]
  }
  const { body, status } = await stage.call("admin", "POST", "/orders", {
    customer_id: await first("/customers?page_size=1"),
    owner_id: await first("/staff?page_size=1&filter=active%20%3D%20true"),
    ship_country: "DE",
    total: "100.00",
    ...more
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return { id: String(body["id"]), etag: String(body["etag"]) }
}
