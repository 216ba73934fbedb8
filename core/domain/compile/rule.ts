/**
 * Compiles access rules and validations of one resource, once its fields are known. A rule that is absent stays absent. A malformed rule is
 * refused, so no rule can fail open. What a rule means for a caller is decided elsewhere.
 */

import * as Result from "effect/Result"
import type { CompiledFieldRules, CompiledRule, CompiledRules, Operation, RuleFunction } from "../access/rules.ts"
import { operations } from "../access/rules.ts"
import { isBag, isFunction, isTextList } from "../bag.ts"
import { didYouMean, quoteValue, type Report } from "../declare/refusal.ts"
import type { FilterScope } from "../filter/read.ts"
import { readFilter } from "../filter/read.ts"
import { type FilterTree, relatedOf } from "../filter/tree.ts"
import type { Field, ValidateRule } from "../model/model.ts"
import { isAsync, refuseUnknownKeys } from "./check.ts"
import { type KnownRoles, refuseUnknownRoles } from "./roles.ts"

/** What a rule is checked against. */
export interface RuleScope {
  readonly resource: string
  /** Declared fields by name. */
  readonly fields: ReadonlyMap<string, Field>
  /** Every column with its aliases, system columns included. */
  readonly scope: FilterScope
  /** Names of fields about which something was refused already. */
  readonly broken: ReadonlySet<string>
  readonly roles: KnownRoles
  readonly softDelete: boolean
  readonly report: Report
}

/** What access rules are checked against besides. */
export interface AccessScope extends RuleScope {
  /** The names of the scope, and those that are reached through relations. */
  readonly related: FilterScope
  /** Whether events tell of its changes. */
  readonly told: boolean
}

/** Whether a text mentions a field that was refused already. Then a problem with the text may only follow from that one. */
export const mentions = (text: string, names: ReadonlySet<string>): boolean =>
  names.size > 0 && (text.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? []).some((word) => names.has(word))

/** Checks a filter text; null when it was refused (or follows from something refused). */
export const checkFilterText = (
  text: unknown,
  scope: FilterScope,
  broken: ReadonlySet<string>,
  path: string,
  say: (message: string, fix: string) => void
): FilterTree | null => {
  if (typeof text !== "string") {
    say(`The filter of ${path} is ${quoteValue(text)}, not a text.`, "Write a filter, such as status = \"draft\".")
    return null
  }
  if (text.trim() === "") {
    say(`The filter of ${path} is empty.`, "Write a condition, or true for every record.")
    return null
  }
  const checked = readFilter(text, scope)
  if (Result.isSuccess(checked)) return checked.success
  if (!mentions(text, broken)) {
    for (const error of checked.failure) {
      const part = error.span === undefined ? "" : text.slice(error.span.start, error.span.end)
      const at = part === "" || part === text ? "" : `, at ${quoteValue(part)}`
      say(
        `The filter ${quoteValue(text)} of ${path} does not check${at}: ${error.message}`,
        error.hint ?? "Correct the filter; the reference of the filter language has its functions and forms."
      )
    }
  }
  return null
}

/** Compiles one rule. Null: it was refused. */
const compileRule = (raw: unknown, path: string, field: string | null, of: AccessScope): CompiledRule | null => {
  const say = (message: string, fix: string): void => of.report(of.resource, field, message, fix)
  const forms = field === null
    ? "Write true, false, a list of roles, where`…` or a function."
    : "Write true, false, a list of roles or a function."
  if (typeof raw === "boolean") return { of: "constant", allow: raw }
  if (isFunction<RuleFunction>(raw)) {
    if (isAsync(raw)) {
      say(
        `${path} is an async function, which could only deny.`,
        "Decide from the caller and the record, without waiting."
      )
      return null
    }
    return { of: "function", run: raw }
  }
  if (Array.isArray(raw)) {
    if (!isTextList(raw)) {
      say(
        `${path} is a list with something else than role names.`,
        "List the names of roles: [\"sales\", \"finance\"]."
      )
      return null
    }
    refuseUnknownRoles(raw, of.roles, path, say)
    return { of: "roles", roles: [...raw] }
  }
  if (isBag(raw) && raw["_tag"] === "Where") {
    if (field !== null) {
      say(`${path} is a filter; a field cannot be allowed for some records by a filter.`, forms)
      return null
    }
    const tree = checkFilterText(raw["text"], of.related, of.broken, path, say)
    if (tree !== null && path === "access.read" && of.told && relatedOf(tree).length > 0) {
      say(
        `${path} goes through a relation, and the resource declares events. An event is judged by the record's own values, so nobody could tell who may get it.`,
        "Ask for fields of the record itself, or declare no events."
      )
      return null
    }
    return tree === null ? null : { of: "filter", tree }
  }
  if (typeof raw === "string") {
    say(
      `${path} is the text ${quoteValue(raw)}, which is neither a filter nor a list of roles.`,
      `Write where\`${raw.includes("`") ? "…" : raw}\` for a filter, or [${JSON.stringify(raw)}] for a role.`
    )
    return null
  }
  say(`${path} is ${quoteValue(raw)}, which is not a rule.`, forms)
  return null
}

/** The rule of refreshes: no record decides, so no function and no filter does. */
const compileRefresh = (raw: unknown, of: AccessScope): CompiledRule | null => {
  if (typeof raw === "boolean" || isTextList(raw)) return compileRule(raw, "access.refresh", null, of)
  of.report(of.resource, null, `access.refresh is ${quoteValue(raw)}.`, "Write true, false or a list of roles.")
  return null
}

const fieldOperations = ["read", "write"] as const

/** Compiles `access`. */
export const compileRules = (raw: unknown, of: AccessScope): CompiledRules => {
  const say = (message: string, fix: string): void => of.report(of.resource, null, message, fix)
  const rules: { [operation in Operation]: CompiledRule | null } = {
    read: null,
    create: null,
    update: null,
    delete: null
  }
  let refresh: CompiledRule | null = null
  const fields = new Map<string, CompiledFieldRules>()
  if (isBag(raw)) {
    refuseUnknownKeys(raw, [...operations, "refresh", "fields"], "access", say)
    if (raw["refresh"] !== undefined) refresh = compileRefresh(raw["refresh"], of)
    for (const operation of operations) {
      const rule = raw[operation]
      if (rule !== undefined) rules[operation] = compileRule(rule, `access.${operation}`, null, of)
    }
    const ofFields = raw["fields"]
    if (isBag(ofFields)) {
      for (const name of Object.keys(ofFields)) {
        const path = `access.fields.${name}`
        const sayField = (message: string, fix: string): void => of.report(of.resource, name, message, fix)
        if (!of.fields.has(name)) {
          sayField(`${path} is a rule of a field that the resource does not have.`, didYouMean(name, of.fields.keys()))
          continue
        }
        const rule = ofFields[name]
        if (!isBag(rule)) {
          sayField(`${path} is ${quoteValue(rule)}, not an object.`, `Write ${name}: { read: …, write: … }.`)
          continue
        }
        refuseUnknownKeys(rule, fieldOperations, path, sayField)
        const compiled: { [Name in typeof fieldOperations[number]]: CompiledRule | null } = { read: null, write: null }
        for (const operation of fieldOperations) {
          if (rule[operation] !== undefined) {
            compiled[operation] = compileRule(rule[operation], `${path}.${operation}`, name, of)
          }
        }
        fields.set(name, compiled)
      }
    } else if (ofFields !== undefined) {
      say(
        `access.fields is ${quoteValue(ofFields)}, not an object.`,
        "Write fields: { total: { write: [\"finance\"] } }."
      )
    }
  } else if (raw !== undefined) {
    say(`access is ${quoteValue(raw)}, not an object.`, "Write access: { read: …, create: …, update: …, delete: … }.")
  }
  const checkIn = (scope: FilterScope) => (text: string): FilterTree | null => {
    if (text.trim() === "") return null
    const checked = readFilter(text, scope)
    return Result.isSuccess(checked) ? checked.success : null
  }
  const check = checkIn(of.scope)
  const write = checkIn(of.related)
  const related = { read: of.told ? check : write, write }
  return { ...rules, ...(refresh === null ? {} : { refresh }), fields, check, related }
}

/** Compiles `validate`. */
export const compileValidate = (raw: unknown, of: RuleScope): readonly ValidateRule[] => {
  if (raw === undefined) return []
  const say = (message: string, fix: string): void => of.report(of.resource, null, message, fix)
  const fix = "Write validate: [(record) => …], each giving a list of { field, message } or nothing."
  if (!Array.isArray(raw)) {
    say(`validate is ${quoteValue(raw)}, not a list of functions.`, fix)
    return []
  }
  const rules: ValidateRule[] = []
  for (const [index, rule] of raw.entries()) {
    if (!isFunction<ValidateRule>(rule)) say(`validate[${index}] is ${quoteValue(rule)}, not a function.`, fix)
    else if (isAsync(rule)) {
      say(
        `validate[${index}] is an async function; nobody would wait for its problems.`,
        "Check the record without waiting."
      )
    } else rules.push(rule)
  }
  return rules
}
