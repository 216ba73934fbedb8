/** The test page's script: the client as the page's scripts see it, and a few React components over it. */

import { createElement, useState } from "react"
import type { ReactElement } from "react"
import { createRoot } from "react-dom/client"
import * as library from "../../web/client/index.ts"
import type { Client } from "../../web/client/index.ts"
import {
  AdminProvider,
  useClient,
  useList,
  useMeta,
  useRecord,
  useResourceClient,
  useSave
} from "../../web/react/index.ts"

const Sources = (): ReactElement => {
  const { data, sources } = useMeta()
  return createElement(
    "pre",
    { id: "meta" },
    JSON.stringify({
      models: data?.models.map(({ name }) => name) ?? null,
      sources: sources.map(({ error, source, state }) => [source.label, state, error?.name ?? null])
    })
  )
}

const Stock = (): ReactElement => {
  const { fetchNextPage, hasNextPage, items, page } = useList("stock", {
    page_size: 100,
    order_by: "id",
    fields: ["id"]
  })
  return createElement(
    "div",
    null,
    createElement("pre", { id: "stock" }, JSON.stringify([items.length, page?.total_size_estimate ?? null])),
    createElement("button", { id: "more", disabled: !hasNextPage, onClick: fetchNextPage }, "More")
  )
}

const Hooks = (): ReactElement => {
  const client = useClient()
  const orders = useResourceClient("orders")
  return createElement(
    "pre",
    { id: "hooks" },
    JSON.stringify([typeof client.batch === "function", client.baseUrl, typeof orders.list === "function"])
  )
}

const Edit = ({ id }: { readonly id: string }): ReactElement => {
  const { data } = useRecord("orders", id)
  const { conflict, error, isSaving, save } = useSave("orders")
  const [saved, setSaved] = useState("")
  const press = (): void => {
    if (data === undefined) return
    void save(id, { note: "mine" }, data).then((record) => setSaved(record === null ? "conflict" : "saved"))
  }
  return createElement(
    "div",
    null,
    createElement("pre", { id: "record" }, JSON.stringify(data?.["note"] ?? null)),
    createElement("pre", { id: "conflict" }, JSON.stringify([saved, isSaving, error?.message ?? null, conflict])),
    createElement("button", { id: "save", onClick: press }, "Save")
  )
}

const mount = (client: Client, order: string): void => {
  const element = (globalThis as unknown as { readonly document: { getElementById: (id: string) => never } })
    .document.getElementById("app")
  createRoot(element).render(
    createElement(
      AdminProvider,
      { client },
      createElement(Sources),
      createElement(Hooks),
      createElement(Stock),
      createElement(Edit, { id: order })
    )
  )
}

Object.assign(globalThis, { library, mount })
