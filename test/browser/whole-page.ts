/** The test page's script: the client, the calls that Node makes, too, and a component that follows a filter. */

import { createElement } from "react"
import type { ReactElement } from "react"
import { createRoot } from "react-dom/client"
import * as library from "../../web/client/index.ts"
import type { Client } from "../../web/client/index.ts"
import { AdminProvider, useWatch } from "../../web/react/index.ts"
import * as calls from "../web/calls.ts"

const Followed = (): ReactElement => {
  const { changed, clear, entered, error, left, missed } = useWatch("notes", {
    filter: (note) => note["text"]!.eq("open")
  })
  const state = { entered: [...entered], changed: [...changed], left: [...left], missed, error: error?.message ?? null }
  return createElement(
    "div",
    null,
    createElement("pre", { id: "followed" }, JSON.stringify(state)),
    createElement("button", { id: "clear", onClick: clear }, "Clear")
  )
}

const mount = (client: Client): void => {
  const element = (globalThis as unknown as { readonly document: { getElementById: (id: string) => never } })
    .document.getElementById("app")
  createRoot(element).render(createElement(AdminProvider, { client }, createElement(Followed)))
}

Object.assign(globalThis, { library, calls, mount })
