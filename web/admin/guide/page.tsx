/** The guides of the version that runs, within the app: `/-/guides` is their list, and `/-/guides/<name>` is one of them. They are in English. */

import { Fragment, type ReactNode, use, useEffect, useRef } from "react"
import { guides } from "virtual:guides"
import { Link } from "../ground/link.tsx"
import { usePlace } from "../ground/location.ts"
import { Missing } from "../ground/problem.tsx"
import { useMessages } from "../messages/locale.tsx"
import { type PageProps, Top } from "../place/parts.tsx"
import place from "../place/place.module.css"
import style from "./guide.module.css"
import { type Block, type GuideModule, type Inline, plainText } from "./tree.ts"

/** The page whose links are the list of all pages. */
const contents = "contents"

const loaded = new Map<string, Promise<GuideModule>>()

/** A page, asked for once. One that did not come is asked for again. */
const load = (name: string, ask: () => Promise<GuideModule>): Promise<GuideModule> => {
  let guide = loaded.get(name)
  if (guide === undefined) {
    loaded.set(name, guide = ask())
    guide.catch(() => loaded.delete(name))
  }
  return guide
}

interface LineProps {
  readonly inline: readonly Inline[]
  /** Addresses of the page's pictures. */
  readonly pictures: readonly string[]
}

const Line = ({ inline, pictures }: LineProps): ReactNode => {
  const { path } = usePlace()
  return inline.map((each, at) => {
    if (typeof each === "string") return each
    switch (each.of) {
      case "strong":
      case "em": {
        const Mark = each.of
        return (
          <Mark key={at}>
            <Line inline={each.inline} pictures={pictures} />
          </Mark>
        )
      }
      case "code":
        return <code key={at}>{each.text}</code>
      case "picture":
        return <img key={at} src={pictures[each.picture]} alt={each.text} loading="lazy" />
      case "link": {
        const line = <Line inline={each.inline} pictures={pictures} />
        return /^https?:/.test(each.to)
          ? <a key={at} href={each.to} target="_blank" rel="noreferrer">{line}</a>
          : <Link key={at} to={each.to.startsWith("#") ? path + each.to : each.to}>{line}</Link>
      }
    }
  })
}

interface BlocksProps {
  readonly blocks: readonly Block[]
  readonly pictures: readonly string[]
}

const Table = ({ head, pictures, rows }: Extract<Block, { readonly of: "table" }> & LineRest): ReactNode => (
  <div className={style.wide} role="region" aria-label={head.map(plainText).join(", ")} tabIndex={0}>
    <table>
      <thead>
        <tr>
          {head.map((inline, at) => (
            <th key={at} scope="col">
              <Line inline={inline} pictures={pictures} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((inline, at) => (
              <td key={at}>
                <Line inline={inline} pictures={pictures} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

type LineRest = Pick<LineProps, "pictures">

const Blocks = ({ blocks, pictures }: BlocksProps): ReactNode =>
  blocks.map((block, at) => {
    switch (block.of) {
      case "heading": {
        // The title is the heading of the page's top.
        if (block.level === 1) return null
        const Heading = `h${block.level}` as const
        return (
          <Heading key={at} id={block.anchor} tabIndex={-1}>
            <Line inline={block.inline} pictures={pictures} />
          </Heading>
        )
      }
      case "paragraph":
        return (
          <p key={at}>
            <Line inline={block.inline} pictures={pictures} />
          </p>
        )
      case "code":
        return <pre key={at} className="code" tabIndex={0}>{block.text}</pre>
      case "quote":
        return (
          <blockquote key={at}>
            <Blocks blocks={block.blocks} pictures={pictures} />
          </blockquote>
        )
      case "list": {
        const List = block.ordered ? "ol" : "ul"
        return (
          <List key={at}>
            {block.items.map((blocks, item) => (
              <li key={item}>
                <Blocks blocks={blocks} pictures={pictures} />
              </li>
            ))}
          </List>
        )
      }
      case "table":
        return <Table key={at} {...block} pictures={pictures} />
    }
  })

/** The parts of a page, for whoever looks for one. */
const Parts = ({ blocks }: Pick<BlocksProps, "blocks">): ReactNode => {
  const w = useMessages().guide
  const { path } = usePlace()
  const parts = blocks.flatMap((block) => block.of === "heading" && block.level === 2 ? [block] : [])
  if (parts.length < 3) return null
  return (
    <nav className={style.parts} aria-label={w.onThisPage}>
      {parts.map(({ anchor, inline }) => <Link key={anchor} to={`${path}#${anchor}`}>{plainText(inline)}</Link>)}
    </nav>
  )
}

const GuideOf = ({ name, ask }: { readonly name: string; readonly ask: () => Promise<GuideModule> }): ReactNode => {
  const w = useMessages().guide
  const { guide: { blocks, title }, pictures } = use(load(name, ask))
  const { turn } = usePlace()
  const text = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const anchor = decodeURIComponent(location.hash.slice(1))
    const part = anchor === "" ? null : document.getElementById(anchor)
    if (part === null) text.current?.scrollTo(0, 0)
    else {
      part.scrollIntoView()
      part.focus({ preventScroll: true })
    }
  }, [name, turn])
  return (
    <>
      <Top title={name === contents ? w.title : title}>
        {name !== contents && <Link to="/-/guides" className="btn quiet">{w.all}</Link>}
      </Top>
      <div className={place.sheet} ref={text} role="region" aria-label={title} tabIndex={0}>
        <Parts blocks={blocks} />
        <article className={style.text} lang="en" dir="ltr">
          <Blocks blocks={blocks} pictures={pictures} />
        </article>
      </div>
    </>
  )
}

export const GuidesPage = ({ part }: PageProps): ReactNode => {
  const name = part ?? contents
  const ask = Object.hasOwn(guides, name) ? guides[name] : undefined
  return ask === undefined ? <Missing /> : (
    <Fragment key={name}>
      <GuideOf name={name} ask={ask} />
    </Fragment>
  )
}
