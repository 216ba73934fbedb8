// Casts are counted, because each says what the compiler does not know: the code outside of tests has at most so many. A cast of a constant (`as const`) is
// none. Assertions that a value is there (`!`) are counted too, so that no cast becomes one.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync } from "vite"
import { expect, it } from "vitest"
import { type Bag, isBag, isList } from "../../core/domain/bag.ts"

/** Where the counts stand. Lower a number when it falls. */
const most = { casts: 149, assertions: 768 }

const instead = `Do without the cast:
- a value from outside: a type guard (isBag, isList, isFunction of core/domain/bag.ts; isJsonObject, isJsonList of core/domain/value/json-kind.ts), or a schema;
- JSON that the service itself has written: ownJson of core/domain/own-json.ts;
- a name in a table or list of constants: isKeyOf, isOneOf, keysOf of core/domain/value/table.ts;
- a literal that has to fit a type: an annotation, or satisfies;
- the same cast in several places: a narrower type where the value comes from, a type parameter, or one function with a name.`

const root = join(import.meta.dirname, "..", "..")
const folders = ["adapters", "bench", "composition", "core", "examples", "scripts", "tools", "web"]

const sources = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.[cm]?tsx?$/.test(path) && !/\.test\.tsx?$|(?:^|[\\/])(?:node_modules|dist)[\\/]/.test(path))
    .map((path) => join(folder, path))
)

/** The casts of a text, each with its place; those whose value is a cast itself, as in `as unknown as T`; and how many assertions it has. */
const castsIn = (path: string, text: string) => {
  const casts: string[] = []
  const blind: string[] = []
  let assertions = 0
  const placeOf = (node: Bag): string => `${path}:${text.slice(0, Number(node["start"])).split("\n").length}`
  const waiting: unknown[] = [
    parseSync(path, text, { lang: path.endsWith("x") ? "tsx" : "ts", sourceType: "module" }).program
  ]
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (isList(node)) waiting.push(...node)
    if (!isBag(node)) continue
    if (node["type"] === "TSNonNullExpression") assertions++
    if (node["type"] === "TSAsExpression" || node["type"] === "TSTypeAssertion") {
      const { expression, typeAnnotation } = node
      const type = isBag(typeAnnotation)
        ? text.slice(Number(typeAnnotation["start"]), Number(typeAnnotation["end"]))
        : ""
      if (type !== "const") casts.push(placeOf(node))
      if (isBag(expression) && expression["type"] === "TSAsExpression") blind.push(placeOf(node))
    }
    waiting.push(...Object.values(node))
  }
  return { casts, blind, assertions }
}

it("tells casts from constants, names of imports, texts and comments", () => {
  const text = `import { a as b } from "c"
// 1 as string
const text = "1 as string"
const list = [b, text] as const
const first = list[0]! as string
const blind = first as unknown as number
export { blind as d, text as e }
`
  expect(castsIn("x.ts", text)).toEqual({
    casts: ["x.ts:6", "x.ts:6", "x.ts:5"],
    blind: ["x.ts:6"],
    assertions: 1
  })
})

it("are no more than they were", () => {
  const found = sources.map((path) => castsIn(path, readFileSync(join(root, path), "utf8")))
  const casts = found.flatMap((each) => each.casts)
  expect(found.flatMap(({ blind }) => blind), instead).toEqual([])
  expect(casts.length, `${instead}\n\nThe casts there are:\n${casts.join("\n")}\n`).toBeLessThanOrEqual(most.casts)
  const assertions = found.reduce((sum, each) => sum + each.assertions, 0)
  expect(assertions, "An assertion (!) hides what may be missing: ask for it, or give the type that has it.")
    .toBeLessThanOrEqual(most.assertions)
})
