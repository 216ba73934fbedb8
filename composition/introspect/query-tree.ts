/**
 * What a view's query is made of, read from PostgreSQL's own tree of it (`pg_rewrite.ev_action`): the tables that it reads, the one that drives it first,
 * and for each of its columns the column of a table that it shows. It knows no key and no rule. A tree that it does not understand says nothing.
 */

/** A column of a table, by the numbers of the catalogue. */
export interface Origin {
  readonly table: string
  readonly column: number
}

/** What is known of a view's query. */
export interface ViewQuery {
  /** Numbers of the tables and views that it reads, the driving one first. */
  readonly tables: readonly string[]
  /** By name of the view's column: where its values come from; null where they are computed. */
  readonly columns: ReadonlyMap<string, Origin | null>
  /** The columns that it groups by, where it shows all of them; null where it does not group, or by something else. */
  readonly groups: readonly string[] | null
}

/** A node of the tree: its members hold one value or several. A list is a node without members. */
interface Node {
  readonly members: Map<string, Value[]>
  readonly items: Value[]
}
type Value = string | Node

const tokens = function*(text: string): Generator<string> {
  for (const [token] of text.matchAll(/[(){}]|(?:\\[^]|[^\s(){}\\])+/g)) yield token
}

/** Reads a tree without recursion: conditions of any depth are no reason to fail. */
const read = (text: string): Value | null => {
  const root: Node = { members: new Map(), items: [] }
  const open: Array<{ readonly node: Node; readonly braces: boolean; label: Value[] }> = [
    { node: root, braces: false, label: root.items }
  ]
  for (const token of tokens(text)) {
    const top = open.at(-1)!
    if (token === "{" || token === "(") {
      const node: Node = { members: new Map(), items: [] }
      top.label.push(node)
      open.push({ node, braces: token === "{", label: node.items })
    } else if (token === "}" || token === ")") {
      if (open.length === 1) return null
      open.pop()
    } else if (top.braces && token.startsWith(":")) {
      top.label = []
      top.node.members.set(token.slice(1), top.label)
    } else top.label.push(token)
  }
  return root.items[0] ?? null
}

const text = (value: Value | undefined): string | null => typeof value === "string" && value !== "<>" ? value : null
const node = (value: Value | undefined): Node | null => typeof value === "object" ? value : null
const first = (of: Node | null, member: string): Value | undefined => of?.members.get(member)?.[0]
const list = (of: Node | null, member: string): readonly Value[] => node(first(of, member))?.items ?? []
const typeOf = (of: Node | null): string | null => text(of?.items[0])

/** A name as the tree writes it: blanks and brackets have a backslash in front. */
const unescaped = (name: string): string => name.replaceAll(/\\([^])/g, "$1")

/** PostgreSQL's numbers of joins. */
const rightJoin = "3"

/** The places in the range table in the order in which a join keeps rows: the outer side first. */
const driven = (item: Node | null): readonly number[] => {
  const places: number[] = []
  const stack: Array<Node | null> = [item]
  while (stack.length > 0) {
    const at = stack.pop()!
    if (typeOf(at) === "RANGETBLREF") places.push(Number(first(at, "rtindex")))
    else if (typeOf(at) === "JOINEXPR") {
      const sides = [node(first(at, "larg")), node(first(at, "rarg"))]
      stack.push(...(first(at, "jointype") === rightJoin ? sides : sides.toReversed()))
    }
  }
  return places
}

/** Reads `ev_action` of a view's rule; null where it is no query that can be read. */
export const readViewQuery = (tree: string): ViewQuery | null => {
  const top = node(read(tree) ?? undefined)
  const query = typeOf(top) === "QUERY" ? top : node(top?.items[0])
  if (typeOf(query) !== "QUERY") return null
  const range = list(query, "rtable").map(node)
  const tables = list(node(first(query, "jointree")), "fromlist").flatMap((item) => driven(node(item)))
    .flatMap((place) => {
      const entry = range[place - 1] ?? null
      const id = first(entry, "rtekind") === "0" ? text(first(entry, "relid")) : null
      return id === null ? [] : [id]
    })
  const columns = new Map<string, Origin | null>()
  /** Names of shown columns by the reference that clauses use; null for what is not shown. */
  const byReference = new Map<string, string | null>()
  for (const each of list(query, "targetList")) {
    const entry = node(each)
    const name = text(first(entry, "resname"))
    const hidden = first(entry, "resjunk") === "true"
    const reference = text(first(entry, "ressortgroupref"))
    if (reference !== null && reference !== "0") {
      byReference.set(reference, hidden || name === null ? null : unescaped(name))
    }
    if (hidden || name === null) continue
    const [table, column] = [text(first(entry, "resorigtbl")), text(first(entry, "resorigcol"))]
    columns.set(
      unescaped(name),
      table === null || table === "0" || column === null ? null : { table, column: Number(column) }
    )
  }
  const named = (member: string): readonly string[] | null => {
    const names = list(query, member).map((clause) =>
      byReference.get(text(first(node(clause), "tleSortGroupRef")) ?? "")
    )
    return names.length > 0 && names.every((name) => typeof name === "string") ? names : null
  }
  const plain = list(query, "groupingSets").length === 0
  return { tables, columns, groups: plain ? named("groupClause") ?? named("distinctClause") : null }
}
