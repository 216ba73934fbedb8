/**
 * Reads the planner's judgement from `explain (format json)`, with `verbose` where tables must be named with their schemas. It decides
 * which scans read a whole table. What is too expensive is decided by the guard.
 */

/** A node of a plan, as far as it matters here. */
export interface PlanNode {
  readonly "Node Type": string
  readonly "Startup Cost": number
  readonly "Total Cost": number
  readonly "Plan Rows": number
  readonly Schema?: string
  readonly "Relation Name"?: string
  readonly "Index Cond"?: string
  readonly Filter?: string
  readonly "Workers Planned"?: number
  readonly Plans?: readonly PlanNode[]
}

/** A table read from end to end, or up to where a LIMIT is expected to stop it. */
export interface Scan {
  readonly schema: string
  readonly table: string
  /** The part of the table that is read, 0 to 1. */
  readonly share: number
  /** Partitions of one table share a group. */
  readonly group: number
}

/** Nodes that give their first row only after they read all their input. A LIMIT above them saves nothing below. */
const blocking = new Set([
  "Sort",
  "Aggregate",
  "Hash",
  "Materialize",
  "WindowAgg",
  "SetOp",
  "BitmapAnd",
  "BitmapOr",
  "CTE Scan"
])

const joins = new Set(["Nested Loop", "Hash Join", "Merge Join"])

/** `joined`: it feeds a join, which filters what it gives. */
const isWholeScan = (node: PlanNode, joined: boolean): boolean => {
  switch (node["Node Type"]) {
    case "Seq Scan":
      return true
    // A scan of an index without a condition visits every row to filter it.
    case "Index Scan":
    case "Index Only Scan":
      return node["Index Cond"] === undefined && (joined || node.Filter !== undefined)
    default:
      return false
  }
}

/** All scans of whole tables in a plan. */
export const wholeScans = (root: PlanNode): readonly Scan[] => {
  const scans: Scan[] = []
  let groups = 0
  const walk = (node: PlanNode, share: number, group: number, joined: boolean): void => {
    const type = node["Node Type"]
    if (isWholeScan(node, joined) && node["Relation Name"] !== undefined) {
      scans.push({ schema: node.Schema ?? "public", table: node["Relation Name"], share, group })
    }
    const children = node.Plans ?? []
    const appends = type === "Append" || type === "Merge Append"
    const inner = appends ? ++groups : group
    for (const child of children) {
      const span = child["Total Cost"] - child["Startup Cost"]
      const below = type === "Limit"
        ? Math.min(1, span <= 0 ? 1 : Math.max(0, node["Total Cost"] - child["Startup Cost"]) / span)
        : blocking.has(type)
        ? 1
        : share
      walk(
        child,
        type === "Limit" ? Math.min(share, below) : below,
        appends ? inner : ++groups,
        joined || joins.has(type)
      )
    }
  }
  walk(root, 1, 0, false)
  return scans
}

/** Processes that share the work of a plan: one, and the workers of its nodes that gather. */
export const planProcesses = (node: PlanNode): number =>
  Math.max(1 + (node["Workers Planned"] ?? 0), ...(node.Plans ?? []).map(planProcesses))

const passing = new Set([
  "Limit",
  "Sort",
  "Incremental Sort",
  "Aggregate",
  "Result",
  "Subquery Scan",
  "Unique",
  "ProjectSet"
])

/** The cost of a plan if no limit at its top ended it early. */
export const throughCost = (root: PlanNode): number => {
  for (let node: PlanNode | undefined = root; node !== undefined; node = node.Plans?.[0]) {
    if (node["Node Type"] === "Limit") return Math.max(root["Total Cost"], node.Plans?.[0]?.["Total Cost"] ?? 0)
    if (!passing.has(node["Node Type"])) break
  }
  return root["Total Cost"]
}

/** The planner's estimate of rows that pass the condition: that of the first node that neither limits, sorts nor groups. */
export const passingRows = (root: PlanNode): number => {
  let node = root
  let workers = 1
  while (passing.has(node["Node Type"]) || node["Node Type"].startsWith("Gather")) {
    const child = node.Plans?.[0]
    if (child === undefined) break
    workers *= 1 + (node["Workers Planned"] ?? 0)
    node = child
  }
  return node["Plan Rows"] * workers
}
