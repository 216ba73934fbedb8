/** Scenes of those who run the service: jobs, webhooks, sources, and what is not there or does not work. */

import { jobsPage } from "../pages/jobs.ts"
import { listPage } from "../pages/list.ts"
import { sourcesPage } from "../pages/sources.ts"
import { webhooksPage } from "../pages/webhooks.ts"
import type { Stranger } from "../stranger.ts"
import { newOrder, type Scene } from "./scene.ts"

/** What stands beside the service: a receiver of webhooks, and a source. */
export interface Surroundings {
  readonly receiver: { readonly url: string; status: number }
  readonly stranger: Stranger
}

const failure = {
  status: 500,
  contentType: "application/problem+json",
  body: JSON.stringify({ status: 500, title: "Broken" })
}

export const operations = (around: () => Surroundings): readonly Scene[] => [
  {
    name: "a failed job is tried again and another one deleted",
    work: async ({ keys, open, page, seen, stage }) => {
      const jobs = jobsPage(page, stage.url)
      // Jobs that have used up their tries, of names that no worker here knows.
      await stage.database.execute(`
        select jobs.enqueue('test/broken', '{"order":"17"}'), jobs.enqueue('test/ordered', '{"n":1}', group_key => 'customer 7');
        select jobs.enqueue('test/ordered', '{"n":2}', group_key => 'customer 7');
        update jobs._private_jobs set attempts = max_attempts, last_error = 'SMTP 550: mailbox unavailable', updated_at = now() where id > 0`)
      await open("/-/jobs", jobs.row("test/broken"))
      await keys.press(page.getByRole("button", { name: "test/ordered" }))
      await jobs.detail.getByText(/run one after the other/).waitFor()
      await seen("failed jobs")
      await keys.press(jobs.button("Retry"))
      await jobs.toast("1 job is tried again now").waitFor()
      await keys.press(page.getByRole("button", { name: "test/broken" }))
      await keys.press(jobs.button("Delete"))
      const question = page.getByRole("alertdialog")
      await question.waitFor()
      await seen("question before a job is deleted", "known")
      await keys.press(question.getByRole("button", { name: "Delete" }))
      await jobs.toast("1 job deleted").waitFor()
      await stage.database.execute(`select jobs.enqueue('test/long', '{"order":"23"}');
        update jobs._private_jobs set attempts = 1, locked_by = 'web-1:17 pool-x', locked_at = now() where payload->>'order' = '23';
        insert into jobs.progress (id, attempt, done, total, note)
        select id, 1, 1200, 5000, 'warehouse 12 of the north' from jobs._private_jobs where payload->>'order' = '23'`)
      await open("/-/audit", page.getByRole("button", { name: "Jobs retried" }).first())
      await keys.press(page.getByRole("button", { name: "Jobs retried" }).first())
      await jobs.detail.getByText("test/ordered").waitFor()
      await seen("audit")
      await open("/-/jobs/waiting?state=running", jobs.row("test/long"))
      await keys.press(page.getByRole("button", { name: "test/long" }))
      await jobs.detail.getByText("web-1:17").waitFor()
      await seen("running jobs", "known")
      await stage.database.execute(
        "update jobs.definitions set paused_at = now() where task_id = (select id from jobs._private_tasks where identifier = 'test/ordered')"
      )
      for (const [tab, row] of [["Queues", "test/ordered"], ["Schedules", "orders/report"]] as const) {
        await keys.press(page.getByRole("navigation", { name: "Jobs" }).getByRole("link", { name: tab }))
        await jobs.row(row).waitFor()
        await seen(tab.toLowerCase())
      }
    }
  },
  {
    name: "a subscription is made, tested, given a new secret, and what failed is looked up",
    options: { allow: /4(00|12)/ },
    work: async ({ keys, open, page, seen, stage }) => {
      const hooks = webhooksPage(page, stage.url)
      const { receiver } = around()
      await open("/-/webhooks", page.getByRole("heading", { name: "A receiver" }))
      await seen("no subscription yet")
      await page.keyboard.press("n")
      await keys.type(hooks.dialog.getByLabel("Name"), "Warehouse")
      await keys.press(hooks.dialog.getByRole("checkbox", { name: "orders.updated", exact: true }), "Space")
      await keys.type(hooks.dialog.getByLabel("URL"), receiver.url)
      await keys.type(hooks.dialog.getByLabel("Filter"), "stattus = paid")
      await page.keyboard.press("Enter")
      await hooks.dialog.getByText(/Did you mean/).waitFor()
      await seen("subscription that is refused")
      await keys.type(hooks.dialog.getByLabel("Filter"), "total > 0")
      await keys.press(hooks.dialog.getByRole("button", { name: "Save" }))
      await hooks.row("Warehouse").getByText("enabled").waitFor()
      await keys.press(hooks.button("Send a test event"))
      await hooks.detail.getByText("delivered", { exact: true }).waitFor()
      await keys.press(hooks.button("Show the secret"))
      await hooks.detail.getByRole("status", { name: "Secret" }).waitFor()
      await seen("subscription")
      await keys.press(hooks.button("Rotate the secret"))
      const question = page.getByRole("alertdialog")
      await question.waitFor()
      await seen("question before a new secret", "known")
      await keys.press(question.getByRole("button", { name: "Rotate the secret" }))
      await hooks.toast("There is a new secret.").waitFor()

      receiver.status = 500
      const { etag, id } = await newOrder(stage)
      await stage.call("admin", "PATCH", `/orders/${id}`, { note: "told" }, etag)
      const tab = (name: string) => page.getByRole("navigation", { name: "Webhooks" }).getByRole("link", { name })
      await keys.press(tab("Deliveries"))
      await hooks.row("orders.updated").getByText("retrying").waitFor()
      await keys.press(hooks.row("orders.updated").getByRole("button"))
      await hooks.detail.getByText("The receiver answered 500.").first().waitFor()
      await seen("deliveries")
      await keys.press(tab("Log"))
      await keys.press(hooks.row("500").getByRole("button").first())
      await page.getByLabel("Answer", { exact: true }).waitFor()
      await keys.press(hooks.button("Show what was sent"))
      await page.getByLabel("What was sent").waitFor()
      await seen("log of deliveries")

      await keys.press(tab("Subscriptions"))
      await keys.press(hooks.row("Warehouse").getByRole("button"))
      await keys.press(hooks.button("Edit"))
      await keys.type(hooks.dialog.getByLabel("Name"), "Mine")
      const [kept] = (await stage.call("admin", "GET", "/webhook_subscriptions")).body["items"] as ReadonlyArray<
        { readonly id: string; readonly etag: string }
      >
      await stage.call("admin", "PATCH", `/webhook_subscriptions/${kept!.id}`, { name: "Theirs" }, kept!.etag)
      await keys.press(hooks.dialog.getByRole("button", { name: "Save" }))
      await hooks.dialog.getByRole("button", { name: "Theirs" }).waitFor()
      await seen("subscription that another saved", "known")
      await keys.press(hooks.dialog.getByRole("button", { name: "Back to editing" }))
      await hooks.dialog.getByLabel("Name").waitFor()
      await page.keyboard.press("Escape")
      await question.waitFor()
      await seen("question before a form closes", "known")
      await keys.press(question.getByRole("button", { name: "Discard" }))
    }
  },
  {
    name: "a source goes away and comes back",
    options: { role: "viewer", allow: /500/ },
    work: async ({ keys, open, page, seen, stage }) => {
      const { stranger } = around()
      const list = listPage(page, stage.url)
      const sources = sourcesPage(page, stage.url)
      await open("/gadgets", list.row(0))
      await seen("list of a source", "known")
      const meta = stranger.answers.get("/api/meta")!
      stranger.answers.set("/api/meta", {
        status: 500,
        body: { status: 500, title: "Broken", detail: "It is broken." }
      })
      await open("/gadgets", sources.notice)
      await seen("source that is away")
      stranger.answers.set("/api/meta", meta)
      await keys.press(sources.notice.getByRole("button", { name: "Try again" }))
      await list.row(0).waitFor()
    }
  },
  {
    name: "what is not there, not allowed, or does not work leaves a way on",
    options: { role: "sales", allow: /40[34]|500|ERR_FAILED/ },
    work: async ({ keys, open, page, seen, stage }) => {
      const list = listPage(page, stage.url)
      const missing = page.getByRole("heading", { name: "Not found" })
      await open("/-/users", missing)
      await seen("page for others")
      await open("/orders/4711000", missing)
      await seen("record that is not there", "known")
      await open("/nothing/at/all", missing)
      await keys.press(page.getByRole("link", { name: "Go to the start page" }))
      await list.row(0).waitFor()

      const customers = /\/api\/v1\/customers(?![_/])/
      await page.route(customers, (route) => route.fulfill(failure))
      await open("/customers", page.getByRole("main").getByRole("alert"))
      await seen("list that failed")
      await page.unroute(customers)
      await keys.press(page.getByRole("main").getByRole("button", { name: "Try again" }))
      await list.row(0).waitFor()

      await page.route("**/api/**", (route) => route.abort())
      await page.goto(`${stage.url}/orders`)
      await page.getByRole("heading", { name: "The service cannot be reached." }).waitFor()
      await seen("service that is away")
      await page.unroute("**/api/**")
      await keys.press(page.getByRole("button", { name: "Try again" }))
      await list.row(0).waitFor()
    }
  }
]
