/** What the client does beyond records, as one script for every place it runs in: Node calls it, and a browser's page does. It holds no expectation. */

import type * as Library from "../../web/client/index.ts"
import type { Whole } from "./whole.ts"

/** Writes, and what is heard and kept of it: changes as they come, versions, one of them written back. */
export const follow = async (client: Library.Client<Whole>, { ProblemError }: typeof Library) => {
  const records = client.resource("notes")
  const ending = new AbortController()
  const heard: string[] = []
  let opened = (): void => {}
  const open = new Promise<void>((resolve) => opened = resolve)
  const listening = (async () => {
    for await (const event of records.watch({ signal: ending.signal })) {
      if (event.event === "open") opened()
      else if (event.event === "change") heard.push(`${event.data.operation} ${event.data.key}`)
    }
  })()
  await open
  const note = await records.create({ text: "one", secret: "kept from versions" })
  const changed = await records.update(note.id, { text: "two" }, { etag: note.etag })
  const versions = await client.resource("notes_history").list({
    filter: (version) => version.id.eq(note.id),
    order_by: "history_id"
  })
  const [first] = versions.items
  const stale = await records.restore(note.id, first!.history_id, { etag: note.etag }).catch((error: unknown) => error)
  const restored = await records.restore(note.id, first!.history_id, { etag: changed.etag })
  await records.delete(note.id, { etag: restored.etag })
  for (let n = 0; n < 1_200 && heard.length < 4; n++) await new Promise((resolve) => setTimeout(resolve, 50))
  ending.abort()
  await listening
  return {
    heard: heard.map((text) => text.replace(/ \d+$/, "")),
    sameKey: heard.every((text) => text.endsWith(` ${note.id}`)),
    versions: versions.items.map(({ history_operation, text }) => [history_operation, text]),
    sensitive: versions.items.some((version) => "secret" in version),
    stale: stale instanceof ProblemError ? [stale.status, stale.slug] : String(stale),
    restored: restored.text
  }
}

/** Calls functions of the API. */
export const call = async (client: Library.Client<Whole>, { ProblemError }: typeof Library) => {
  const greeted = await client.call<{ readonly input: unknown; readonly user: string }>("greet", { name: "Eva" })
  const unknown = await client.call("nothing").catch((error: unknown) => error)
  return {
    input: greeted.input,
    user: greeted.user === (await client.auth.session())?.user.id,
    unknown: unknown instanceof ProblemError ? [unknown.status, unknown.slug] : String(unknown)
  }
}

/** Sets up a second factor: gives the address of its codes. The first code is asked for by `verify`. */
export const enableFactor = async (client: Library.Client<Whole>, password: string): Promise<string> =>
  (await client.auth.post<{ readonly totpURI: string }>("/two-factor/enable", { password })).totpURI

/** Signs in with password and code; gives what each step said. */
export const signInTwice = async (
  client: Library.Client<Whole>,
  { ProblemError }: typeof Library,
  credentials: { readonly email: string; readonly password: string },
  code: string
) => {
  await client.auth.signOut()
  const first = await client.auth.signIn(credentials)
  const early = await client.resource("notes").list().then(() => "read", (error: unknown) => error)
  const wrong = await client.auth.post("/two-factor/verify-totp", { code: "000000" }).catch((error: unknown) => error)
  await client.auth.post("/two-factor/verify-totp", { code })
  const page = await client.resource("notes").list({ page_size: 1 })
  return {
    asked: first.twoFactorRedirect === true,
    early: early instanceof ProblemError ? early.status : String(early),
    wrong: wrong instanceof ProblemError ? wrong.status : String(wrong),
    read: page.items.length
  }
}
