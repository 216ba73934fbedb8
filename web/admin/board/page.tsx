/** A composed page: blocks in order. Each block reads its own data, so one that fails does not affect the others. */

import { House } from "lucide-react"
import { type ReactNode, useMemo } from "react"
import type { MetaPage } from "../../client/index.ts"
import { PlainChart } from "../chart/strip.tsx"
import { NowProvider } from "../field/value.tsx"
import { useApp } from "../ground/app.ts"
import { Boundary } from "../ground/boundary.tsx"
import { go } from "../ground/location.ts"
import { useTitle } from "../ground/title.ts"
import { useLocale, useMessages } from "../messages/locale.tsx"
import { setPreferences, usePreferences } from "../messages/preferences.ts"
import type { Resource } from "../model/catalogue.ts"
import { client } from "../model/client.ts"
import { PluginPart } from "../plugin/part.tsx"
import shell from "../style/frame.module.css"
import { type BlockOf, listOf } from "./block-source.ts"
import style from "./board.module.css"
import { ListBlock } from "./list.tsx"
import { NumberBlock } from "./number.tsx"
import { TextBlock } from "./text.tsx"

type Block = NonNullable<MetaPage["blocks"]>[number]

const ChartBlock = (
  { block, resource }: { readonly block: BlockOf<"chart">; readonly resource: Resource }
): ReactNode => {
  // `PlainChart` draws the chart of a view, so the block becomes one.
  const drawn = useMemo(
    (): Resource => ({
      ...resource,
      view: { ...resource.view, chart: block.chart, label: { singular: block.label, plural: block.label } }
    }),
    [
      block,
      resource
    ]
  )
  return (
    <div className={style.block} data-wide="" role="group" aria-label={block.label}>
      <h2 className={style.label}>{block.label}</h2>
      <PlainChart
        resource={drawn}
        filter={block.filter}
        deleted={false}
        onFilter={(filter) => go(listOf({ resource: block.resource, filter }))}
      />
    </div>
  )
}

const BlockOfPage = ({ block }: { readonly block: Block }): ReactNode => {
  const { catalogue } = useApp()
  const w = useMessages().board
  if (block.of === "text") return <TextBlock text={block.text} />
  if (block.of === "component") {
    return (
      <div className={style.block} data-wide="">
        {block.label !== null && <h2 className={style.label}>{block.label}</h2>}
        <PluginPart
          kind="pages"
          name={block.component}
          props={{ client, props: block.props }}
          at={block.component}
          fallback={<p className="dim">{w.noComponent(block.component)}</p>}
        />
      </div>
    )
  }
  const resource = catalogue.resources.get(block.resource)
  if (resource === undefined) return null
  switch (block.of) {
    case "number":
      return <NumberBlock block={block} resource={resource} />
    case "chart":
      return <ChartBlock block={block} resource={resource} />
    case "list":
      return <ListBlock block={block} resource={resource} />
  }
}

export const BoardPage = ({ page }: { readonly page: MetaPage }): ReactNode => {
  const { t } = useLocale()
  const { start } = usePreferences()
  useTitle(page.label)
  return (
    <NowProvider>
      <header className={shell.top}>
        <h1 className="grow">{page.label}</h1>
        {start !== page.href && (
          <button
            type="button"
            className="btn quiet"
            onClick={() => setPreferences({ start: page.href })}
          >
            <House className="icon" aria-hidden="true" /> {t.shell.startHere}
          </button>
        )}
      </header>
      <div className={style.board}>
        {page.blocks?.map((block, at) => (
          <Boundary key={at} at={`${page.name}:${at}`}>
            <BlockOfPage block={block} />
          </Boundary>
        ))}
      </div>
    </NowProvider>
  )
}
