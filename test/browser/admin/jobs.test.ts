// The page of jobs in a real browser: who gets it, what it tells, what its buttons do, and that nothing in a payload or an error becomes markup.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { chromiumPath } from "../chromium.ts"
import { jobsPage } from "./pages/jobs.ts"
import { opener, type Stage, startStage } from "./stage.ts"

let stage: Stage

const markup = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** SQL that makes a job which has used up its tries, of a name that no worker here knows. Later ones failed later. */
const failed = (name: string, payload: unknown, error: string, group: string | null = null): string => `
  with made as (select jobs.enqueue(${quoted(name)}, ${quoted(JSON.stringify(payload))}${
  group === null ? "" : `, group_key => ${quoted(group)}`
}) as id) select set_config('test.made', id::text, false) from made;
  update jobs._private_jobs set attempts = max_attempts, last_error = ${quoted(error)}, updated_at = clock_timestamp()
    where id = current_setting('test.made')::bigint;`

const fail = (...job: Parameters<typeof failed>): Promise<void> => stage.database.execute(failed(...job))

beforeAll(async () => {
  if (chromiumPath !== null) stage = await startStage()
})
afterAll(() => stage?.stop())
beforeEach(async () => {
  if (chromiumPath === null) return
  await stage.database.execute([
    "delete from jobs.group_waiting; delete from jobs._private_jobs where id > 0; delete from jobs.groups; delete from jobs.errors;",
    failed("test/broken", { order: "17", note: markup }, `SMTP 550: ${markup}\nsecond line`),
    failed("test/broken", { order: "18" }, "SMTP 551: mailbox unavailable"),
    failed("test/ordered", { n: 1 }, "The receiver is away", "customer 7"),
    ...[2, 3].map((n) => `select jobs.enqueue('test/ordered', '{"n":${n}}', group_key => 'customer 7');`)
  ].join("\n"))
})

/** For a page whose clock goes ahead when the test says so. It is told so at its beginning, and nobody has it afterwards. */
const byHand = { fresh: true } as const
/** What the page reads again by itself, it reads each five seconds. */
const readAgain = (page: Page): Promise<void> => page.clock.fastForward(5_000)

const using = opener(() => stage, (page, url) => [jobsPage(page, url)])

describe.skipIf(chromiumPath === null)("jobs", () => {
  it("are for admins: others get no entry, no page and no request (61)", async () => {
    for (const role of ["sales", "viewer"] as const) {
      await using({ role, allow: /404/ }, async (page, jobs, sent) => {
        await page.goto(`${stage.url}/-/jobs`)
        await page.getByRole("heading", { name: "Not found" }).waitFor()
        expect(await jobs.count.count()).toBe(0)
        expect(sent.filter((each) => each.includes("/api/jobs"))).toEqual([])
      })
    }
    await using({}, async (page, jobs) => {
      await page.goto(`${stage.url}/customers`)
      await jobs.count.getByText("3").waitFor()
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox").waitFor()
      await page.keyboard.type("jobs")
      await page.getByRole("option", { name: "Jobs", exact: true }).click()
      await page.waitForURL(/\/-\/jobs$/)
    })
  })

  it("shows payload, error and tries as text, whatever is in them, and keeps none of it in the browser (61)", async () => {
    await using({}, async (page, jobs) => {
      await jobs.open()
      await jobs.row("SMTP 550").getByRole("button").click()
      expect(await jobs.error.innerText()).toBe(`SMTP 550: ${markup}\nsecond line`)
      expect(JSON.parse(await jobs.payload.innerText())).toEqual({ order: "17", note: markup })
      expect(await page.title()).toContain("Jobs")
      expect(await page.locator("img[src=x]").count()).toBe(0)
      const kept = await page.evaluate(() =>
        JSON.stringify([localStorage, sessionStorage, document.cookie, history.state])
      )
      expect(kept).not.toMatch(/SMTP|onerror/)
      expect(page.url()).not.toMatch(/SMTP|onerror/)
      // The address is the state: loaded again, the same job is open.
      await page.reload()
      await jobs.error.getByText("SMTP 550").waitFor()
      await page.keyboard.press("Escape")
      await jobs.detail.waitFor({ state: "detached" })
    })
  })

  it("shows the errors of earlier tries with their stacks in a fold, as text", async () => {
    await stage.database.execute(`insert into jobs.errors (id, number, attempt, message, stack)
      select id, n, n, 'try ' || n || ' <b>' , 'at deliver (mail.ts:' || n || ':1)' from jobs._private_jobs, generate_series(1, 2) n
      where payload->>'order' = '18'`)
    await using({}, async (page, jobs) => {
      await jobs.open()
      await jobs.openJob("test/broken")
      await page.getByText("The last 2 errors, with their stacks").click()
      await jobs.detail.getByRole("region", { name: "Try 2" }).getByText("try 2 <b>").waitFor()
      expect(await jobs.detail.getByLabel("Stack").allInnerTexts()).toEqual([
        "at deliver (mail.ts:2:1)",
        "at deliver (mail.ts:1:1)"
      ])
    })
  })

  it("says what waits behind a failed job of an ordered group (63)", async () => {
    await using({}, async (_, jobs) => {
      await jobs.open()
      await jobs.row("test/ordered").getByText("holds back 2").waitFor()
      await jobs.openJob("test/ordered")
      await jobs.detail.getByText(/group “customer 7” run one after the other\. 2 wait/).waitFor()
    })
  })

  it("tries one again, deletes one after asking, and both for all of a name (61)", async () => {
    await using({}, async (page, jobs) => {
      await jobs.open()
      await jobs.openJob("test/ordered")
      await jobs.button("Retry").click()
      await jobs.toast("1 job is tried again now").waitFor()
      await jobs.row("test/ordered").waitFor({ state: "detached" })
      await jobs.row("SMTP 551").getByRole("button").click()
      await jobs.button("Delete").click()
      await page.getByRole("alertdialog", { name: "Delete this test/broken?" }).waitFor()
      await jobs.confirm()
      await jobs.toast("1 job deleted").waitFor()
      await jobs.row("SMTP 551").waitFor({ state: "detached" })
      await fail("test/other", {}, "another one")
      await page.getByLabel("Job", { exact: true }).selectOption("test/broken")
      await expect.poll(() => new URL(page.url()).searchParams.get("name")).toBe("test/broken")
      await jobs.button("Retry all").click()
      await page.getByRole("heading", { name: "No job has failed" }).waitFor()
      await page.getByLabel("Job", { exact: true }).selectOption("")
      await jobs.row("test/other").waitFor()
      await jobs.button("Delete all").click()
      await jobs.confirm()
      await page.getByRole("heading", { name: "No job has failed" }).waitFor()
      const [left] = await stage.database.rows(
        "select count(*) filter (where attempts < max_attempts), count(*) from jobs._private_jobs where id > 0"
      )
      expect(left).toEqual(["2", "2"])
    })
  })

  it("goes from job to job by J and K, and notices new ones by itself", async () => {
    await using(byHand, async (page, jobs) => {
      await page.clock.install()
      await jobs.open()
      await jobs.row("SMTP 551").waitFor()
      await page.keyboard.press("j")
      const first = await jobs.error.innerText()
      await page.keyboard.press("j")
      await expect.poll(() => jobs.error.innerText()).not.toBe(first)
      await page.keyboard.press("k")
      await expect.poll(() => jobs.error.innerText()).toBe(first)
      await fail("test/later", {}, "it came later")
      await readAgain(page)
      await jobs.row("it came later").waitFor()
    })
  })

  it("shows older failures page by page", async () => {
    const many = Array.from({ length: 60 }, (_, n) => failed("test/many", { n }, `failure ${n + 100}`))
    await stage.database.execute(many.join("\n"))
    await using({}, async (_, jobs) => {
      await jobs.open("?name=test/many")
      await jobs.row("failure 159").waitFor()
      expect(await jobs.row("failure 103").count()).toBe(0)
      await jobs.button("Older ones").click()
      await jobs.row("failure 103").waitFor()
      expect(await jobs.button("Older ones").count()).toBe(0)
    })
  })

  it("counts the queues with the age of the oldest, and shows next and last runs of schedules", async () => {
    await stage.database.execute("select jobs.enqueue('test/old', run_at => now() - interval '1 second')")
    await using(byHand, async (page, jobs) => {
      await page.clock.install()
      await jobs.open("/queues")
      await jobs.row("test/old").getByText("just now").first().waitFor()
      await jobs.row("test/old").getByText("not declared here").waitFor()
      await jobs.row("test/broken").getByRole("link", { name: "2" }).click()
      await jobs.row("SMTP 550").waitFor()
      expect(await jobs.row("test/ordered").count()).toBe(0)
      await jobs.tab("Schedules")
      await jobs.row("orders/report").getByText("0 7 * * *").waitFor()
      await jobs.row("orders/report").getByText("Europe/Berlin").waitFor()
      await stage.database.execute("update jobs._private_jobs set run_at = now() where id < 0")
      await expect.poll(async () => {
        await readAgain(page)
        return jobs.row("orders/report").getByText(/failed|retrying/).count()
      }).toBeGreaterThan(0)
      expect(await page.locator("time").count()).toBeGreaterThan(0)
    })
  })

  it("pauses a queue, says since when, and resumes it", async () => {
    await using({}, async (_, jobs) => {
      await jobs.open("/queues")
      const paused = () =>
        stage.database.rows(
          "select paused_at is not null from jobs.definitions d join jobs._private_tasks t on t.id = d.task_id where identifier = 'test/broken'"
        )
      await jobs.button("Pause test/broken").click()
      await jobs.toast("test/broken is paused").waitFor()
      await jobs.row("test/broken").getByText(/paused since/).waitFor()
      expect([await paused(), await jobs.button("Pause test/ordered").count()]).toEqual([[["t"]], 1])
      await jobs.button("Resume test/broken").click()
      await jobs.toast("test/broken goes on").waitFor()
      await jobs.button("Pause test/broken").waitFor()
      expect(await paused()).toEqual([["f"]])
    })
  })

  it("shows jobs that run with their progress, as text", async () => {
    await stage.database.execute(
      `select jobs.enqueue('test/long', '{"order":"23"}');
      update jobs._private_jobs set attempts = 1, locked_by = 'web-1:17 pool-x', locked_at = now() where payload->>'order' = '23';
      insert into jobs.progress (id, attempt, done, total, note)
      select id, 1, 1200, 5000, ${quoted(markup)} from jobs._private_jobs where payload->>'order' = '23'`
    )
    await using({}, async (page, jobs) => {
      await jobs.open("/queues")
      await jobs.row("test/long").getByRole("link", { name: "1" }).click()
      await page.waitForURL(/\/-\/jobs\/waiting\?name=test%2Flong&state=running$/)
      await jobs.row("test/long").getByText("1,200 of 5,000").waitFor()
      await jobs.row("test/long").getByText(markup).waitFor()
      await jobs.openJob("test/long")
      await jobs.detail.getByText("web-1:17").waitFor()
      expect(JSON.parse(await jobs.payload.innerText())).toEqual({ order: "23" })
      expect(await page.locator("img[src=x]").count()).toBe(0)
      await page.getByLabel("State").selectOption("")
      await page.getByLabel("Job", { exact: true }).selectOption("")
      await jobs.row("test/broken").waitFor({ state: "detached" })
    })
  })

  it("shows why a waiting job failed and when it is tried, runs it now, and cancels it after asking", async () => {
    await stage.database.execute(
      `select jobs.enqueue('test/later', '{"order":"21"}', run_at => now() + interval '3 days');
      select jobs.enqueue('test/tried', '{"order":"22"}', run_at => now() + interval '2 days');
      update jobs._private_jobs set attempts = 3, last_error = ${
        quoted(`HTTP 500: ${markup}`)
      } where payload->>'order' = '22'`
    )
    await using(byHand, async (page, jobs) => {
      await page.clock.install()
      await jobs.open("/queues")
      await jobs.row("test/tried").getByRole("link", { name: "1" }).click()
      await page.waitForURL(/\/-\/jobs\/waiting\?name=test%2Ftried&state=retrying$/)
      await jobs.row("HTTP 500").getByText("3 of 25").waitFor()
      expect(await jobs.row("test/later").count()).toBe(0)
      await jobs.openJob("test/tried")
      expect(await jobs.error.innerText()).toBe(`HTTP 500: ${markup}`)
      expect(JSON.parse(await jobs.payload.innerText())).toEqual({ order: "22" })
      await jobs.button("Run now").click()
      await jobs.toast("The job is due now").waitFor()
      const due = async (name: string) =>
        await stage.database.rows(
          `select run_at <= now() from jobs._private_jobs j join jobs._private_tasks t on t.id = j.task_id where identifier = '${name}'`
        )
      expect(await due("test/tried")).toEqual([["t"]])

      await jobs.tab("Waiting")
      await jobs.openJob("test/later")
      await jobs.detail.getByText("It has not failed yet.").waitFor()
      await jobs.button("Cancel job").click()
      const dialog = page.getByRole("alertdialog", { name: "Cancel this test/later?" })
      await dialog.getByRole("button", { name: "Cancel job" }).click()
      await jobs.toast("Job cancelled").waitFor()
      await jobs.row("test/later").waitFor({ state: "detached" })
      expect(await due("test/later")).toEqual([])
      // One behind others of its group is not run before them.
      await stage.database.execute(
        "select jobs.enqueue('test/line', group_key => 'a', run_at => now() + interval '1 day') from generate_series(1, 2)"
      )
      await readAgain(page)
      await jobs.row("after others of its group").getByRole("button").click()
      await jobs.button("Cancel job").waitFor()
      expect(await jobs.button("Run now").count()).toBe(0)
    })
  })

  it("searches failed and waiting jobs, and keeps the search in the address", async () => {
    await stage.database.execute(
      `select jobs.enqueue('test/found', '{"order":"Lamp 77"}', run_at => now() + interval '1 day')`
    )
    await using({}, async (page, jobs) => {
      await jobs.open()
      await jobs.search("551")
      await jobs.row("SMTP 550").waitFor({ state: "detached" })
      await jobs.row("SMTP 551").waitFor()
      expect(new URL(page.url()).searchParams.get("search")).toBe("551")
      // What is done to all of a name is not offered for what was found.
      expect(await jobs.button("Delete all").count()).toBe(0)
      await jobs.search("nothing of this")
      await page.getByRole("heading", { name: "No job was found" }).waitFor()
      await jobs.search("")
      await jobs.row("SMTP 550").waitFor()
      await jobs.tab("Waiting")
      await jobs.search("lamp 77")
      await jobs.row("test/found").waitFor()
      expect(await jobs.row("orders/report").count()).toBe(0)
    })
  })

  it("retries, deletes, runs and cancels several at once; what has gone meanwhile is left out", async () => {
    await stage.database.execute(
      `select jobs.enqueue('test/several', to_json(n)::jsonb, run_at => now() + interval '1 day') from generate_series(1, 4) n`
    )
    await using({ allow: /404/ }, async (page, jobs) => {
      await jobs.open()
      await jobs.choose("test/broken", 0)
      await jobs.choose("test/broken", 1)
      await jobs.button("Retry 2").click()
      await jobs.toast("2 jobs are tried again now").waitFor()
      await jobs.row("test/broken").waitFor({ state: "detached" })
      await fail("test/broken", {}, "once more")
      await fail("test/broken", {}, "again")
      await jobs.open("?name=test/broken")
      await jobs.row("again").waitFor()
      await page.getByRole("checkbox", { name: "Choose all 2" }).focus()
      await page.keyboard.press("Space")
      await jobs.button("Delete 2").click()
      await page.getByRole("alertdialog", { name: "Delete 2 failed jobs?" }).waitFor()
      await jobs.confirm()
      await page.getByRole("heading", { name: "No job has failed" }).waitFor()

      await jobs.open("/waiting?name=test/several")
      for (const index of [0, 1, 2]) await jobs.choose("test/several", index)
      // The first of them goes when it is asked for.
      await page.route("**/api/jobs/pending/*:run", async (route) => {
        await stage.database.execute("delete from jobs._private_jobs where payload::text = '1'")
        await route.continue()
      }, { times: 1 })
      await jobs.button("Run 3 now").click()
      await jobs.toast("2 jobs are due now").waitFor()
      expect(
        await stage.database.rows(
          "select payload::text from jobs._private_jobs where run_at <= now() and payload::text in ('1', '2', '3', '4') order by 1"
        )
      ).toEqual([["2"], ["3"]])
      await page.getByRole("checkbox", { name: "Choose all 3" }).check()
      await jobs.button("Cancel 3").click()
      const dialog = page.getByRole("alertdialog", { name: "Cancel these 3 jobs?" })
      await dialog.getByRole("button", { name: "Cancel 3" }).click()
      await jobs.toast("3 jobs cancelled").waitFor()
      await page.getByRole("heading", { name: "No job is waiting" }).waitFor()
    })
  })

  it("draws what was done in the last hour, and says it in words", async () => {
    await stage.database.execute(
      `delete from jobs.completed; insert into jobs.completed (id, task_id, attempts, run_at, started_at, completed_at)
      select n, (select min(id) from jobs._private_tasks), 1, now(), now() - interval '2 minutes', now() - interval '2 minutes' + n * interval '1 second'
      from generate_series(1, 3) n`
    )
    await using({}, async (page, jobs) => {
      await jobs.open("/queues")
      await page.getByRole("img", { name: /^Jobs a minute, last hour\. 3 done, \d+ failed$/ }).waitFor()
      await page.getByRole("img", { name: /^Duration, last hour\. 2 s on average, 3 s at most$/ }).waitFor()
    })
  })

  it("are in the audit: who did what to them, narrowed by the address, with a way there", async () => {
    await using({}, async (page, jobs, sent) => {
      await jobs.open("/queues")
      await jobs.button("Pause test/broken").click()
      await jobs.toast("test/broken is paused").waitFor()
      await jobs.button("Resume test/broken").click()
      await jobs.toast("test/broken goes on").waitFor()
      await page.getByRole("link", { name: "Audit" }).click()
      await page.getByRole("heading", { name: "Audit", level: 1 }).waitFor()
      await page.getByRole("button", { name: "Jobs resumed" }).first().waitFor()
      await page.getByLabel("What", { exact: true }).selectOption({ label: "Jobs paused" })
      await page.getByRole("button", { name: "Jobs resumed" }).first().waitFor({ state: "detached" })
      await page.getByRole("button", { name: "Jobs paused" }).first().click()
      await jobs.detail.getByRole("link", { name: "test/broken" }).waitFor()
      await jobs.detail.getByRole("button", { name: "Only this person" }).click()
      await page.getByRole("button", { name: /^Only / }).waitFor()
      const { searchParams } = new URL(page.url())
      expect([searchParams.get("what"), searchParams.has("who"), searchParams.has("id")]).toEqual([
        "job.paused",
        true,
        false
      ])
      await page.getByRole("searchbox", { name: "Search the audit" }).fill("nothing like it")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Nothing was found" }).waitFor()
      await page.getByRole("button", { name: "Show everything" }).click()
      await page.getByRole("button", { name: "Jobs resumed" }).first().click()
      await jobs.detail.getByRole("link", { name: "test/broken" }).click()
      await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor()
      expect(sent.filter((each) => each.includes("/api/audit")).every((each) => each.startsWith("GET "))).toBe(true)
    })
    await using({ role: "sales", allow: /40[34]/ }, async (page, _, sent) => {
      await page.goto(`${stage.url}/-/audit`)
      await page.getByRole("heading", { name: "Not found" }).waitFor()
      expect(sent.filter((each) => each.includes("/api/audit"))).toEqual([])
    })
  })

  it("says what is wrong when the service refuses, with a way on", async () => {
    await using({ allow: /503/ }, async (page, jobs) => {
      await page.route("**/api/jobs/failed?**", (route) =>
        route.fulfill({
          status: 503,
          contentType: "application/problem+json",
          headers: { "x-request-id": "abcdef01" },
          body: JSON.stringify({
            type: "urn:service:problem:other",
            status: 503,
            title: "Away",
            detail: "Not at the moment."
          })
        }))
      await jobs.open()
      await page.getByRole("alert").getByText("Not at the moment.").waitFor()
      await page.unroute("**/api/jobs/failed?**")
      await jobs.button("Try again").click()
      await jobs.row("SMTP 551").waitFor()
    })
  })

  it("keeps what it says apart, and its buttons in sight on a phone", async () => {
    await using({ width: 1_000 }, async (page, jobs) => {
      await jobs.open()
      await jobs.row("test/ordered").getByRole("button").click()
      await page.getByRole("complementary").waitFor()
      const row = jobs.row("The receiver is away")
      const [badge, error] = await Promise.all([
        row.locator(".badge").boundingBox(),
        row.getByText("The receiver is away").boundingBox()
      ])
      expect(badge!.x + badge!.width).toBeLessThanOrEqual(error!.x)
    })
    await using({ width: 360, height: 740, touch: true }, async (page, jobs) => {
      await jobs.open()
      for (const name of ["Retry all", "Delete all"]) {
        const box = await page.getByRole("button", { name }).boundingBox()
        expect(box!.x + box!.width).toBeLessThanOrEqual(360)
      }
    })
  })
})
