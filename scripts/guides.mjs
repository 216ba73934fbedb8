// The guides and references of docs/ as parts of the admin app: a module lists them, and a module each holds one page as a tree (web/admin/guide/tree.ts).
// The app shows such a tree with its own components, so that no text ever becomes markup there.
import { lexer } from "marked"
import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const docs = join(dirname(dirname(fileURLToPath(import.meta.url))), "docs")

const inFolder = (folder) =>
  readdirSync(join(docs, folder)).filter((name) => name.endsWith(".md")).map((name) => join(docs, folder, name))

/** The pages of the docs that the app has, by their names in its addresses. Those of the reference are told apart by the beginning of the name. */
export const guideFiles = () =>
  new Map([
    ["contents", join(docs, "README.md")],
    ...inFolder("guides").map((file) => [basename(file, ".md"), file]),
    ...inFolder("reference").map((file) => [`reference-${basename(file, ".md")}`, file])
  ])

/** The anchor of a heading, as code hosts make it: words in small letters, joined by hyphens. */
const anchorOf = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-")

/** Anchors of one page: of equal ones the later have a number. */
const makeAnchors = () => {
  const seen = new Map()
  return (text) => {
    const anchor = anchorOf(text)
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  }
}

/** The text of a page before anything reads it: comments are for those who edit. */
const read = (file) => readFileSync(file, "utf8").replaceAll(/<!--.*?-->\n?/gs, "")

/**
 * A page of Markdown as a tree. `pictures` collects the files of its pictures: a picture in the tree has its number there.
 * It throws on what the app could not show, so that no page loses a part unseen.
 */
const treeOf = (file, text, pictures) => {
  const names = new Map(Array.from(guideFiles(), ([name, path]) => [path, name]))
  const anchor = makeAnchors()

  /** Where a link leads in the app; null if only a checkout has its target. */
  const addressOf = (href) => {
    if (/^https?:/.test(href) || href.startsWith("#")) return href
    const [path = "", part] = href.split("#")
    const name = names.get(resolve(dirname(file), path))
    return name === undefined ? null : `/-/guides/${name}${part === undefined ? "" : `#${part}`}`
  }

  const inlineOf = (tokens) =>
    tokens.flatMap((token) => {
      switch (token.type) {
        case "text":
          return token.tokens === undefined ? [token.text] : inlineOf(token.tokens)
        case "escape":
          return [token.text]
        case "br":
          return ["\n"]
        case "strong":
        case "em":
          return [{ of: token.type, inline: inlineOf(token.tokens) }]
        case "codespan":
          return [{ of: "code", text: token.text }]
        case "link": {
          const to = addressOf(token.href)
          return to === null ? inlineOf(token.tokens) : [{ of: "link", to, inline: inlineOf(token.tokens) }]
        }
        case "image":
          pictures.push(resolve(dirname(file), token.href))
          return [{ of: "picture", picture: pictures.length - 1, text: token.text }]
        default:
          throw new Error(`${relative(docs, file)}: the app cannot show ${token.type}: ${token.raw}`)
      }
    })

  const textOf = (inline) =>
    inline.map((each) => typeof each === "string" ? each : each.text ?? textOf(each.inline)).join("")

  const blocksOf = (tokens) =>
    tokens.flatMap((token) => {
      switch (token.type) {
        case "space":
        case "def":
          return []
        case "heading": {
          const inline = inlineOf(token.tokens)
          return [{ of: "heading", level: token.depth, anchor: anchor(textOf(inline)), inline }]
        }
        case "paragraph":
        case "text":
          return [{ of: "paragraph", inline: inlineOf(token.tokens ?? [token]) }]
        case "code":
          return [{ of: "code", text: token.text }]
        case "blockquote":
          return [{ of: "quote", blocks: blocksOf(token.tokens) }]
        case "list":
          return [{ of: "list", ordered: token.ordered, items: token.items.map(({ tokens }) => blocksOf(tokens)) }]
        case "table":
          return [{
            of: "table",
            head: token.header.map(({ tokens }) => inlineOf(tokens)),
            rows: token.rows.map((row) => row.map(({ tokens }) => inlineOf(tokens)))
          }]
        default:
          throw new Error(`${relative(docs, file)}: the app cannot show ${token.type}: ${token.raw}`)
      }
    })

  return blocksOf(lexer(text))
}

/** A page: its title, its tree, and the files of its pictures. */
export const readGuide = (file) => {
  const pictures = []
  const blocks = treeOf(file, read(file), pictures)
  const title = /^# (.*)$/m.exec(read(file))?.[1] ?? basename(file, ".md")
  return { title, blocks, pictures }
}

const list = "virtual:guides"
const page = "virtual:guide/"

/** The bundler's part: it makes the modules. A page that changes is read again. */
export const guides = () => ({
  name: "guides",
  resolveId: (id) => id === list || id.startsWith(page) ? `\0${id}` : null,
  load(id) {
    if (id === `\0${list}`) {
      const entries = Array.from(
        guideFiles().keys(),
        (name) => `${JSON.stringify(name)}: () => import(${JSON.stringify(page + name)})`
      )
      return `export const guides = { ${entries.join(", ")} }`
    }
    if (!id.startsWith(`\0${page}`)) return null
    const file = guideFiles().get(id.slice(page.length + 1))
    if (file === undefined) return null
    this.addWatchFile(file)
    const { blocks, pictures, title } = readGuide(file)
    return [
      ...pictures.map((file, at) => `import picture${at} from ${JSON.stringify(file)}`),
      `export const guide = ${JSON.stringify({ title, blocks })}`,
      `export const pictures = [${pictures.map((_, at) => `picture${at}`).join(", ")}]`
    ].join("\n")
  }
})
