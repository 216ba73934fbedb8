/** Turns failures of the ports Records and Queue into problems, in one place. A failure that should not happen becomes a defect. */

import * as Effect from "effect/Effect"
import type { Access } from "../../domain/access/access.ts"
import { compilePattern } from "../../domain/filter/pattern.ts"
import { quote } from "../../domain/filter/scope.ts"
import type { FilterTree } from "../../domain/filter/tree.ts"
import { conditionsOf } from "../../domain/filter/tree.ts"
import type { ChangeOperation } from "../../domain/model/event.ts"
import type { Model } from "../../domain/model/model.ts"
import { outageProblem } from "../../domain/outage.ts"
import { because, invalidParameter, problem } from "../../domain/problem.ts"
import type { Problem, ProblemError, Span } from "../../domain/problem.ts"
import type { QueueError } from "../../ports/queue.ts"
import type { RecordsError } from "../../ports/records.ts"

const invalidRecord = (message: string): Problem =>
  problem("invalid-record", message, { errors: [{ code: "invalid", message }] })

const statementTimeout = (): Problem =>
  problem("statement-timeout", "The database did not finish in time. Narrow the filter or ask for fewer rows.")

/** Something unexpected in an operation of a batch: still a defect, with the members that tell the caller which operation it was. */
export class OperationDefect {
  readonly defect: unknown
  readonly members: { readonly operation: number; readonly op: string; readonly resource: string }
  constructor(defect: unknown, members: OperationDefect["members"]) {
    this.defect = defect
    this.members = members
  }
}

/** An answer that would be larger than `options.maxAnswerBytes` and cannot end early. `hint` says what makes it smaller. */
export const answerTooLarge = (hint: string): Problem => {
  const message = "The answer would be larger than the service's limit."
  return problem("answer-too-large", message, { errors: [{ message, hint }] })
}

/** Most conditions that one answer points at. */
const mostNamed = 20

const conditionErrors = (
  code: string,
  message: string,
  hint: string,
  conditions: ReadonlyArray<{ readonly span?: Span }>
): Problem =>
  problem("invalid-filter", message, {
    parameter: "filter",
    errors: conditions.slice(0, mostNamed).map(({ span }) =>
      span === undefined ? { code, message, hint } : { code, message, hint, span }
    )
  })

/** Most patterns of one filter that are compiled to find a wrong one. */
const mostTried = 10

/**
 * What the database lacks for a condition of the caller: an extension, or the ability to search in texts that its collation treats as equal
 * to others.
 */
const unsupported = (filter: FilterTree, error: RecordsError): Effect.Effect<never, Problem> => {
  const code = "unsupported-function"
  const calls = conditionsOf(filter, "similar")
  if (error.cause === undefined && calls.length > 0) {
    const message = "similar() is not available on this database."
    return Effect.fail(conditionErrors(code, message, "Install the extension pg_trgm.", calls))
  }
  const inside = (["match", "contains", "same", "search"] as const).some((op) => conditionsOf(filter, op).length > 0)
  const patterns = conditionsOf(filter, "regex")
  if (error.cause === undefined || (!inside && patterns.length === 0)) return Effect.die(error)
  const message = "The database cannot search within the texts of this field."
  const hint = "The column has a nondeterministic collation. Compare whole values."
  return Effect.fail(conditionErrors(code, message, hint, inside ? [{}] : patterns))
}

/**
 * The numbers of a filter that a column of single precision cannot hold: too large, or so small that it would read them as 0. Null where
 * there are none.
 */
export const imprecise = (filter: FilterTree, parameter = "filter"): Effect.Effect<never, Problem> | null => {
  const errors: ProblemError[] = []
  const conditions = [
    ...conditionsOf(filter, "compare"),
    ...conditionsOf(filter, "in"),
    ...conditionsOf(filter, "has")
  ]
  for (const condition of conditions) {
    for (const value of condition.op === "compare" ? [condition.value] : condition.values) {
      if (value.of !== "literal" || value.span === undefined || errors.length >= mostNamed) continue
      const single = Math.fround(Number(value.text))
      if (Number.isFinite(single) && (single === 0) === (Number(value.text) === 0)) continue
      const message = `${quote(value.text)} is not a value of the field ${quote(condition.field.name)}.`
      errors.push({ code: "value", message, hint: "Expected a number of single precision.", span: value.span })
    }
  }
  const [first] = errors
  return first === undefined
    ? null
    : Effect.fail(problem("invalid-filter", first.message, { parameter, errors }))
}

/**
 * A failure of a read under the caller's own filter. A failing pattern is the caller's only if it stands in that filter. A pattern of an
 * access rule is a defect, or slow like any other condition.
 */
export const filteredProblem = (filter: FilterTree) => (error: RecordsError): Effect.Effect<never, Problem> => {
  const { _tag } = error.reason
  if (_tag === "Unsupported") return unsupported(filter, error)
  if (_tag === "BadValue") return Effect.suspend(() => imprecise(filter) ?? recordsProblem(error))
  if (_tag !== "BadPattern" && _tag !== "SlowPattern") return recordsProblem(error)
  const calls = conditionsOf(filter, "regex")
  if (calls.length === 0) return recordsProblem(error)
  if (_tag === "SlowPattern") {
    return Effect.fail(
      conditionErrors(
        "slow-pattern",
        "The pattern of regex() took too long.",
        "Use a simpler pattern or narrow the filter.",
        calls
      )
    )
  }
  // The database does not say which of several patterns it refused. Patterns with counted repetitions are not tried, as those multiply the
  // cost of compiling.
  const refused = calls.slice(0, mostTried).filter(({ pattern }) =>
    !/\{\d/.test(pattern) && compilePattern(pattern) === null
  )
  return Effect.fail(conditionErrors(
    "invalid-pattern",
    "The pattern of regex() is not a valid regular expression.",
    "See the PostgreSQL documentation on POSIX regular expressions.",
    refused.length === 0 ? calls : refused
  ))
}

/**
 * A failure of a read of a model's rows. What a function of the database refuses by itself, or cannot calculate with, is a fault of its arguments; nothing that it says is
 * told. One that tries to write, or to do what no read may, is a defect.
 */
export const readProblem =
  (model: Model, filter: FilterTree) => (error: RecordsError): Effect.Effect<never, Problem> => {
    const { _tag } = error.reason
    if (model.function === undefined) return filteredProblem(filter)(error)
    if (_tag === "ReadOnly" && error.cause !== undefined) return Effect.die(error)
    if (_tag !== "Check" && _tag !== "BadValue") return filteredProblem(filter)(error)
    const wrong = _tag === "BadValue" ? imprecise(filter) : null
    return wrong ?? Effect.fail(invalidParameter("args", "The function refuses these arguments."))
  }

/** The problem of a failed read or write; null: the failure is a defect. */
const problemOf = ({ reason: { _tag } }: RecordsError): Problem | null => {
  switch (_tag) {
    case "Timeout":
    case "SlowPattern":
      return statementTimeout()
    case "Unavailable":
    case "NoConnections":
    case "Overloaded":
    case "Preempted":
    case "ReadOnly":
    case "DiskFull":
      return outageProblem(_tag)
    case "OutcomeUnknown":
      return problem(
        "unavailable",
        "The connection to the database broke during the commit. Read the record to see whether the change was made.",
        { outcome: "unknown" },
        { "retry-after": "2" }
      )
    case "Unique":
      return problem("conflict", "Another record already has these values.")
    case "ForeignKey":
      return invalidRecord("A referenced record does not exist, or other records still refer to this one.")
    case "NotNull":
      return invalidRecord("A required value is missing.")
    case "Check":
      return invalidRecord("The record breaks a rule of the database.")
    case "NoPartition":
      return invalidRecord("The table has no partition for the record.")
    case "BadValue":
      return invalidRecord("The database refuses one of the values.")
    case "TooLarge":
      return answerTooLarge("Ask for less: fewer records, fields, relations or values.")
    case "Conflict":
      return problem("conflict", "Another change was made at the same time. Try again.")
    case "Contended":
    case "BadPattern":
    case "Unsupported":
      // `Contended` is tried again before this. `filteredProblem` answers for callers' filters, so this pattern comes from a declared rule.
      return null
  }
}

/** The problem that the caller gets for a failed read or write. No name or value from the database stands in it. */
export const recordsProblem = (error: RecordsError): Effect.Effect<never, Problem> => {
  const refusal = problemOf(error)
  return refusal === null ? Effect.die(error) : Effect.fail(because(refusal, error.reason._tag, error))
}

/** What each kind of constraint says about a field of it. */
const violations: { readonly [reason: string]: { readonly code: string; readonly message: string } } = {
  Unique: { code: "invalid", message: "Another record already has this value." },
  ForeignKey: { code: "invalid", message: "There is no such record." },
  NotNull: { code: "required", message: "A value is required." },
  Check: { code: "invalid", message: "The value breaks a rule of the database." }
}

/**
 * The problem that a failed write of one record is for the caller. Where they may read every field of the violated constraint, `errors` names them,
 * never a value. What keeps a record from being deleted is not told.
 */
export const writeProblem =
  (access: Access, op: ChangeOperation) => (error: RecordsError): Effect.Effect<never, Problem> => {
    const { columns, reason: { _tag } } = error
    if (op === "delete" && _tag === "ForeignKey") {
      return Effect.fail(because(problem("still-referenced", "Other records still refer to this one."), _tag, error))
    }
    const violation = violations[_tag]
    if (columns === undefined || violation === undefined || access.decisions.read.of === "deny") {
      return recordsProblem(error)
    }
    const fields = columns.map((name) => access.restricted.fields.find(({ column }) => column === name))
    if (fields.includes(undefined)) return recordsProblem(error)
    const errors = fields.map((field) => ({ field: field!.name, ...violation }))
    return Effect.catch(
      recordsProblem(error),
      ({ detail, headers, members, slug }) =>
        Effect.fail(because(problem(slug, detail, { ...members, errors }, headers), _tag, error))
    )
  }

/** The problem document for a failure of the queue. */
export const queueProblem = (error: QueueError): Problem => {
  const { reason } = error
  switch (reason._tag) {
    case "Refused":
      return because(problem("conflict", reason.message), reason._tag, error)
    case "Conflict":
      return because(problem("conflict", "Another change was made at the same time. Try again."), reason._tag, error)
    default:
      return outageProblem(reason._tag, error)
  }
}
