/** A text block of a composed page. All its content becomes text nodes; nothing is parsed as HTML. */

import type { ReactNode } from "react"
import { Link } from "../ground/link.tsx"
import { withinApp } from "../ground/location.ts"
import style from "./board.module.css"
import { type Inline, readMarkdown } from "./markdown.ts"

const Line = ({ inline }: { readonly inline: readonly Inline[] }): ReactNode =>
  inline.map((each, at) => {
    switch (each.of) {
      case "text":
        return each.text
      case "strong":
        return <strong key={at}>{each.text}</strong>
      case "em":
        return <em key={at}>{each.text}</em>
      case "code":
        return <code key={at}>{each.text}</code>
      case "link": {
        const inside = withinApp(each.href)
        return inside === null
          ? <a key={at} href={each.href} target="_blank" rel="noreferrer">{each.text}</a>
          : <Link key={at} to={inside}>{each.text}</Link>
      }
    }
  })

export const TextBlock = ({ text }: { readonly text: string }): ReactNode => (
  <section className={style.prose}>
    {readMarkdown(text).map((part, at) => {
      switch (part.of) {
        case "heading": {
          const Heading = `h${part.level}` as const
          return (
            <Heading key={at}>
              <Line inline={part.inline} />
            </Heading>
          )
        }
        case "paragraph":
          return (
            <p key={at}>
              <Line inline={part.inline} />
            </p>
          )
        case "code":
          return <pre key={at} className="code">{part.text}</pre>
        case "list": {
          const List = part.ordered ? "ol" : "ul"
          return (
            <List key={at}>
              {part.items.map((inline, item) => (
                <li key={item}>
                  <Line inline={inline} />
                </li>
              ))}
            </List>
          )
        }
      }
    })}
  </section>
)
