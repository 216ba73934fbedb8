/**
 * Access resolution: makes one `Access` from a model, its rules, a verified caller and the declared roles, once per request and resource.
 * An answer that is missing, empty, malformed or thrown denies. It never reads a record itself and never asks a database.
 *
 * How an operation is decided (docs/guides/access.md):
 *
 * 1. An explicit rule decides alone. Capabilities of that operation then mean nothing.
 *
 * 2. `defaultAccess: "allow"` allows the rest.
 *
 * 3. A matching capability of one of the caller's roles grants. When one capability grants every row, those for own rows add nothing,
 * neither rows nor fields. The fields are the union over the capabilities that grant those rows. So no row shows a field that no single
 * capability gives for it.
 *
 * 4. With `defaultAccess: "deny"`, or when roles are declared, the rest is denied. When nothing is declared, it is allowed.
 *
 * A caller who may create but not read sees exactly the fields that a create accepts. Bodies are checked against them, and the answer to a
 * create shows them. They cannot list, filter or update anything.
 */

import { BoundedMap } from "../bounded.ts"
import { always, both, type FilterTree, never } from "../filter/tree.ts"
import { neverWritable } from "../model/model.ts"
import type { Field, Model, Models, WireRecord } from "../model/model.ts"
import type { Access, Decision } from "./access.ts"
import { type Caller, rolesKey } from "./caller.ts"
import { creatableBit, readableBit, restrictModel, updatableBit } from "./restrict.ts"
import { operations, type RulesByResource, Unread } from "./rules.ts"
import type {
  AccessDefaults,
  Capability,
  CompiledRule,
  CompiledRules,
  Operation,
  RuleContext,
  RuleFunction
} from "./rules.ts"
import { confineVersions } from "./versions.ts"
import { isWhere } from "./where.ts"

type Verdict = Exclude<Decision, { of: "record" }>

const deny: Verdict = { of: "deny" }
const allow: Verdict = { of: "allow" }

const filterDecisions = new WeakMap<FilterTree, Verdict>()

/**
 * The decision that a tree stands for. The same tree gives the same object, because caches compare the parts of an access by identity. The
 * other decisions below keep to that as well.
 */
const filterDecision = (tree: FilterTree): Verdict => {
  if (tree.op === "true") return allow
  if (tree.op === "false") return deny
  let decision = filterDecisions.get(tree)
  if (decision === undefined) filterDecisions.set(tree, decision = { of: "filter", tree })
  return decision
}

/** What the roles' capabilities grant for one operation: which rows, and which fields (null: every field). */
interface Grant {
  readonly rows: "none" | "own" | "all"
  readonly fields: ReadonlySet<string> | null
}

const nothing: Grant = { rows: "none", fields: null }
const everything: Grant = { rows: "all", fields: null }

const noCapabilities: readonly Capability[] = []

/**
 * Whether a capability's list of fields names a field of this model that the operation can use. If not, the capability grants nothing here:
 * no row, no empty record, not even the name of the resource.
 */
const reaches = (model: Model, operation: Operation, names: readonly string[] | null): boolean =>
  names === null || (operation !== "delete" && names.some((name) => {
    const field = model.byName.get(name)
    return field !== undefined && (operation === "read" || !neverWritable(model, field, operation))
  }))

const grantOf = (model: Model, caller: Caller, operation: Operation, defaults: AccessDefaults): Grant => {
  if (defaults.defaultAccess === "allow") return everything
  if (defaults.roles === null) return defaults.defaultAccess === "deny" ? nothing : everything
  let rows: Grant["rows"] = "none"
  let fields: Set<string> | null = new Set<string>()
  for (const role of caller.roles) {
    for (const capability of defaults.roles.get(role) ?? noCapabilities) {
      if (capability.resource !== "*" && capability.resource !== model.name) continue
      if (capability.operation !== "*" && capability.operation !== operation) continue
      if (capability.own && (model.owner === null || rows === "all")) continue
      if (!reaches(model, operation, capability.fields)) continue
      // Once a capability grants every row, those for own rows no longer count, nor do their fields.
      if (!capability.own && rows === "own") fields = new Set()
      rows = capability.own ? "own" : "all"
      if (capability.fields === null) fields = null
      else if (fields !== null) { for (const field of capability.fields) fields.add(field) }
    }
  }
  return rows === "none" ? nothing : { rows, fields }
}

/**
 * Thrown at a rule function that reads the record when there is none. `Recordless` remembers that it happened, so a rule that catches the
 * error gains nothing.
 */
const noRecord = new Error("This rule has no record.")

const ignore = (): void => undefined

/** Told when a rule function throws, which denies. It must not throw itself. */
type Thrown = (error: unknown) => void

/** Told which rule threw: its resource and its place in `access`, such as `update` or `fields.total.read`. Never a value. */
export type RuleFailed = (resource: string, place: string, error: unknown) => void

/** Thrown where a rule function answers a filter that does not check, which denies: an unknown name, or a relation where none may be followed. */
class RefusedFilter extends Error {
  override readonly name = "RefusedFilter"

  constructor() {
    super("The rule answered a filter that does not check.")
  }
}

/** Turns what a rule function answered into a decision. */
const verdictOf = (answer: unknown, check: CompiledRules["check"]): Verdict => {
  if (answer === true) return allow
  if (typeof answer !== "object" || answer === null) return deny
  // An async rule denies; its later failure must not become an unhandled rejection.
  if (answer instanceof Promise) {
    answer.catch(ignore)
    return deny
  }
  // A member of a record may only look like a filter. Then whoever wrote the record would write the rule.
  if (!isWhere(answer)) return deny
  const tree = checkedText(answer.text, check)
  if (tree === null) throw new RefusedFilter()
  return filterDecision(tree)
}

/** Filter texts that were checked before. Equal texts give the same tree, so that adapters recognise plans of the same shape. */
const texts = new WeakMap<CompiledRules["check"], BoundedMap<string, { readonly tree: FilterTree | null }>>()

const checkedText = (text: string, check: CompiledRules["check"]): FilterTree | null => {
  let trees = texts.get(check)
  if (trees === undefined) texts.set(check, trees = new BoundedMap(500))
  let hit = trees.get(text)
  if (hit === undefined) trees.set(text, hit = { tree: check(text) })
  return hit.tree
}

/** What a rule function gets when there is no record yet. A class, because an object with closures would cost more for each question. */
class Recordless implements RuleContext {
  readonly caller: Caller
  #touched = false

  constructor(caller: Caller) {
    this.caller = caller
  }

  get record(): WireRecord {
    this.#touched = true
    throw noRecord
  }

  touched(): boolean {
    return this.#touched
  }
}

const askedRecord = { ...Object.getOwnPropertyDescriptor(Recordless.prototype, "record"), enumerable: true }

/**
 * Runs a rule function without a record. `touched`: the function asked for a record, so only a record can decide. For rules of writes
 * `record` is enumerable: copying the context (`{ ...context }`) asks for it, too. For rules of reads it is not.
 */
const ask = (
  run: RuleFunction,
  caller: Caller,
  writes: boolean,
  check: CompiledRules["check"],
  thrown: Thrown = ignore
): { readonly touched: boolean; readonly answer: Verdict } => {
  const context = new Recordless(caller)
  if (writes) Object.defineProperty(context, "record", askedRecord)
  try {
    const answer = verdictOf(run(context), check)
    const touched = context.touched()
    return { touched, answer: touched ? deny : answer }
  } catch (error) {
    // Without a record a rule that wants one may fail on the way.
    if (!context.touched()) thrown(error)
    return { touched: context.touched(), answer: deny }
  }
}

const askWith = (
  run: RuleFunction,
  caller: Caller,
  record: WireRecord,
  check: CompiledRules["check"],
  thrown: Thrown
): Verdict => {
  try {
    return verdictOf(run({ caller, record }), check)
  } catch (error) {
    if (!(error instanceof Unread)) thrown(error)
    return deny
  }
}

const holdsOne = (caller: Caller, roles: readonly string[]): boolean =>
  Array.isArray(roles) && caller.roles.some((role) => roles.includes(role))

/** Remembers what belongs to a rule and a caller, for as long as both live. */
const perCaller = <A>(
  answers: WeakMap<CompiledRule, WeakMap<Caller, A>>,
  rule: CompiledRule,
  caller: Caller,
  make: () => A
): A => {
  let callers = answers.get(rule)
  if (callers === undefined) answers.set(rule, callers = new WeakMap())
  let value = callers.get(caller)
  if (value === undefined) callers.set(caller, value = make())
  return value
}

const recordDecisions = new WeakMap<CompiledRule, WeakMap<Caller, Decision>>()
const fieldAnswers = new WeakMap<CompiledRule, WeakMap<Caller, (record: WireRecord) => boolean>>()

type FunctionRule = Extract<CompiledRule, { readonly of: "function" }>

const decideFunction = (
  rule: FunctionRule,
  operation: Operation,
  caller: Caller,
  rules: CompiledRules,
  thrown: Thrown
): Decision => {
  const { run } = rule
  const { check, related } = rules
  const asked = operation === "read" ? related?.read : related?.write
  const { touched, answer } = ask(run, caller, operation !== "read", asked ?? check, thrown)
  if (!touched) return answer
  if (operation === "read") return deny
  return perCaller(recordDecisions, rule, caller, () => ({
    of: "record",
    decide: (record) => askWith(run, caller, record, check, thrown)
  }))
}

/** A field rule's answer: yes, no, or (write only) decided by the record. */
type FieldAnswer = boolean | ((record: WireRecord) => boolean)

/** A field is allowed or not; a filter, even one that lets everything pass, is no answer. */
const noFilter = (): null => null

const decideFieldFunction = (rule: FunctionRule, caller: Caller, writes: boolean, thrown: Thrown): FieldAnswer => {
  const { run } = rule
  const { touched, answer } = ask(run, caller, writes, noFilter, thrown)
  if (!touched) return answer.of === "allow"
  return perCaller(
    fieldAnswers,
    rule,
    caller,
    () => (record) => askWith(run, caller, record, noFilter, thrown).of === "allow"
  )
}

/** One rule function, at one of its places. */
interface Question<Answer> {
  readonly place: string
  readonly ask: (caller: Caller) => Answer
}

/** The functions among a model's rules. Only these can answer the same caller differently from one time to the next. */
interface Questions {
  readonly operations: ReadonlyArray<Question<Decision>>
  readonly fields: ReadonlyArray<Question<FieldAnswer>>
}

const isFunction = (rule: CompiledRule | null): rule is FunctionRule => rule?.of === "function"

const questionsOf = (rules: CompiledRules, failed: (place: string, error: unknown) => void = ignore): Questions => {
  const fields: Array<Question<FieldAnswer>> = []
  for (const [name, { read, write }] of rules.fields) {
    if (isFunction(read)) {
      fields.push({
        place: `read ${name}`,
        ask: (caller) => decideFieldFunction(read, caller, false, (error) => failed(`fields.${name}.read`, error))
      })
    }
    if (isFunction(write)) {
      fields.push({
        place: `write ${name}`,
        ask: (caller) => decideFieldFunction(write, caller, true, (error) => failed(`fields.${name}.write`, error))
      })
    }
  }
  return {
    operations: operations.flatMap((operation) => {
      const rule = rules[operation]
      return isFunction(rule)
        ? [{
          place: operation,
          ask: (caller: Caller) => decideFunction(rule, operation, caller, rules, (error) => failed(operation, error))
        }]
        : []
    }),
    fields
  }
}

/** What the functions answered one caller at one time, in the order of the questions. */
interface Answers {
  readonly operations: readonly Decision[]
  readonly fields: readonly FieldAnswer[]
}

const askAll = ({ fields, operations }: Questions, caller: Caller): Answers => ({
  operations: operations.map((question) => question.ask(caller)),
  fields: fields.map((question) => question.ask(caller))
})

const sameAnswers = (a: Answers, b: Answers): boolean =>
  a.operations.every((answer, i) => answer === b.operations[i]) && a.fields.every((answer, i) => answer === b.fields[i])

const answerAt = <Answer>(
  questions: ReadonlyArray<Question<Answer>>,
  answers: readonly Answer[],
  place: string
): Answer => answers[questions.findIndex((question) => question.place === place)]!

/** A rule that is no function. */
const decideRule = (rule: CompiledRule | null, caller: Caller): Decision => {
  switch (rule?.of) {
    case "constant":
      return rule.allow === true ? allow : deny
    case "roles":
      return holdsOne(caller, rule.roles) ? allow : deny
    case "filter":
      return filterDecision(rule.tree)
    default:
      return deny
  }
}

const decideField = (rule: CompiledRule | null, caller: Caller): FieldAnswer => {
  if (rule === null) return true
  switch (rule?.of) {
    case "constant":
      return rule.allow === true
    case "roles":
      return holdsOne(caller, rule.roles)
    default:
      return false
  }
}

const ownerTrees = new WeakMap<Field, FilterTree>()
const tenantTrees = new WeakMap<Field, FilterTree>()

const callerTree = (cache: WeakMap<Field, FilterTree>, field: Field, value: "id" | "tenant"): FilterTree => {
  let tree = cache.get(field)
  if (tree === undefined) {
    tree = { op: "compare", field, is: "=", value: { of: "caller", value } }
    cache.set(field, tree)
  }
  return tree
}

/** The rows of the caller's tenant. */
export const tenantRows = (tenant: Field): FilterTree => callerTree(tenantTrees, tenant, "tenant")

/** True when a tree lets only rows of the caller through by comparing the owner field with the caller's id. */
const isOwnRows = (tree: FilterTree, owner: Field): boolean =>
  tree.op === "and"
    ? tree.items.some((item) => isOwnRows(item, owner))
    : tree.op === "compare" && tree.field.name === owner.name && tree.is === "=" && tree.value.of === "caller" &&
      tree.value.value === "id"

type FieldWritable = Access["fieldWritable"]

const noFieldRules: FieldWritable = new Map()
const lastFieldRules = new WeakMap<Model, WeakMap<Caller, FieldWritable>>()

/** Field rules for this model and caller. When they equal the last ones, the last map is given again, so that caches recognise it. */
const sameFieldRules = (model: Model, caller: Caller, rules: FieldWritable): FieldWritable => {
  let callers = lastFieldRules.get(model)
  if (callers === undefined) lastFieldRules.set(model, callers = new WeakMap())
  const last = callers.get(caller)
  if (last?.size === rules.size && [...rules].every(([name, rule]) => last.get(name) === rule)) return last
  callers.set(caller, rules)
  return rules
}

/** The given names that a record-level field rule protects from this write. `record` is the stored record; for a create, the new record. */
export const refusedFields = (access: Access, names: Iterable<string>, record: WireRecord): readonly string[] =>
  access.fieldWritable.size === 0
    ? []
    : [...names].filter((name) => access.fieldWritable.get(name)?.(record) === false)

/** Resolves what `caller` may do with `model`. Total: it never throws, whatever the rule functions do. */
export const resolveAccess = (
  model: Model,
  rules: CompiledRules,
  caller: Caller,
  defaults: AccessDefaults
): Access => {
  const questions = questionsOf(rules)
  return resolveAnswered(model, rules, caller, defaults, questions, askAll(questions, caller))
}

/** The same, from answers of rule functions that were collected before. Equal answers give an equal access. */
const resolveAnswered = (
  model: Model,
  rules: CompiledRules,
  caller: Caller,
  defaults: AccessDefaults,
  questions: Questions,
  answers: Answers
): Access => {
  const fieldsOf: { [operation in Operation]: ReadonlySet<string> | null } = {
    read: null,
    create: null,
    update: null,
    delete: null
  }
  const decide = (operation: Operation): Decision => {
    const rule = rules[operation]
    if (isFunction(rule)) return answerAt(questions.operations, answers.operations, operation)
    if (rule !== null) return decideRule(rule, caller)
    const grant = grantOf(model, caller, operation, defaults)
    if (grant.rows === "none") return deny
    fieldsOf[operation] = grant.fields
    if (grant.rows === "all" || model.owner === null) return allow
    return filterDecision(callerTree(ownerTrees, model.owner, "id"))
  }
  const read = decide("read")
  const create = decide("create")
  const update = decide("update")
  const remove = decide("delete")

  const fieldAnswer = (rule: CompiledRule | null, place: string): FieldAnswer =>
    isFunction(rule) ? answerAt(questions.fields, answers.fields, place) : decideField(rule, caller)

  const readable = read.of !== "deny"
  const marks: number[] = []
  let fieldWritable: Map<string, (record: WireRecord) => boolean> | null = null
  for (const field of model.fields) {
    const fieldRules = rules.fields.get(field.name)
    // A rule of `read` that asks for a record has none and denies, so only a plain yes counts.
    const shown = fieldRules === undefined || fieldAnswer(fieldRules.read, `read ${field.name}`) === true
    let mark = 0
    if (shown && !field.system) {
      if (readable && (fieldsOf.read === null || fieldsOf.read.has(field.name))) mark = readableBit
      const mayCreate = create.of !== "deny" && !neverWritable(model, field, "create") &&
        (fieldsOf.create === null || fieldsOf.create.has(field.name))
      const mayUpdate = readable && update.of !== "deny" && !neverWritable(model, field, "update") &&
        (fieldsOf.update === null || fieldsOf.update.has(field.name))
      if ((mayCreate && (mark !== 0 || !readable)) || (mayUpdate && mark !== 0)) {
        const write = fieldRules === undefined ? true : fieldAnswer(fieldRules.write, `write ${field.name}`)
        if (write !== false) {
          if (mayCreate) mark |= creatableBit | (readable ? 0 : readableBit)
          if (mayUpdate) mark |= updatableBit
          if (write !== true) (fieldWritable ??= new Map()).set(field.name, write)
        }
      }
    }
    marks.push(mark)
  }

  for (const { name } of model.vectors ?? []) {
    const fieldRules = rules.fields.get(name)
    const shown = fieldRules === undefined || fieldAnswer(fieldRules.read, `read ${name}`) === true
    marks.push(shown && readable && (fieldsOf.read === null || fieldsOf.read.has(name)) ? readableBit : 0)
  }

  const tenantMissing = model.tenant !== null && caller.tenant === null
  const readRows = read.of === "allow" ? always : read.of === "filter" ? read.tree : never
  const rows = tenantMissing || readRows === never
    ? never
    : model.tenant === null
    ? readRows
    : both(tenantRows(model.tenant), readRows)

  return {
    caller,
    model,
    restricted: restrictModel(model, marks, readable),
    decisions: { read, create, update, delete: remove },
    ...(model.materialized === undefined
      ? {}
      : { mayRefresh: readable && decideRule(rules.refresh ?? null, caller).of === "allow" }),
    createOwn: model.owner !== null && create.of === "filter" && isOwnRows(create.tree, model.owner),
    rows,
    tenantMissing,
    // A caller who can neither read nor create knows no record to update or delete.
    visible: readable || create.of !== "deny",
    fieldWritable: fieldWritable === null ? noFieldRules : sameFieldRules(model, caller, fieldWritable)
  }
}

/** The resources as callers see them. */
export interface AccessResolver {
  /** Null when there is no such resource, and when the caller can do nothing with it. Both must look the same (404). */
  readonly resolve: (caller: Caller, resource: string) => Access | null
}

const resolverLimit = 1_000

/**
 * Access to a model without rule functions. It depends only on the roles and on whether there is a tenant. So it is resolved once per role
 * set and shared.
 */
const byRoles = (model: Model, rules: CompiledRules, defaults: AccessDefaults): (caller: Caller) => Access => {
  const accesses = new BoundedMap<string, Access>(resolverLimit)
  return (caller) => {
    const key = model.tenant !== null && caller.tenant === null ? `-${rolesKey(caller)}` : rolesKey(caller)
    const access = accesses.get(key)
    if (access !== undefined) return access.caller === caller ? access : { ...access, caller }
    const resolved = resolveAccess(model, rules, caller, defaults)
    accesses.set(key, resolved)
    return resolved
  }
}

/**
 * Access to a model with rule functions. They are asked every time, because they may answer differently each time. The access that follows
 * from equal answers is kept for as long as the caller object lives.
 */
const byAnswers = (
  model: Model,
  rules: CompiledRules,
  defaults: AccessDefaults,
  questions: Questions
): (caller: Caller) => Access => {
  const latest = new WeakMap<Caller, { readonly answers: Answers; readonly access: Access }>()
  return (caller) => {
    const answers = askAll(questions, caller)
    const last = latest.get(caller)
    if (last !== undefined && sameAnswers(answers, last.answers)) return last.access
    const access = resolveAnswered(model, rules, caller, defaults, questions, answers)
    latest.set(caller, { answers, access })
    return access
  }
}

/**
 * The rules of reads that use the record. A read has no record, so such a rule always denies. Each rule is called for a caller without a role and for a
 * caller of each role. A rule that uses the record only in other cases is not found.
 */
export const recordReads = (
  rules: RulesByResource,
  roles: readonly string[]
): ReadonlyArray<{ readonly resource: string; readonly place: string }> => {
  const callers = [[], ...roles.map((role) => [role])].map((held): Caller => ({
    id: "nobody",
    roles: held,
    tenant: "1"
  }))
  const needs = (rule: CompiledRule | null, check: CompiledRules["check"]): boolean =>
    isFunction(rule) && callers.some((caller) => ask(rule.run, caller, false, check).touched)
  return [...rules].flatMap(([resource, own]) => [
    ...(needs(own.read, own.check) ? [{ resource, place: "read" }] : []),
    ...[...own.fields].flatMap(([name, { read }]) =>
      needs(read, own.check) ? [{ resource, place: `fields.${name}.read` }] : []
    )
  ])
}

/** A resolver over all models. A model without rules of its own in `rules` exists for nobody. */
export const makeAccessResolver = (
  models: Models,
  rules: RulesByResource,
  defaults: AccessDefaults,
  failed: RuleFailed = ignore
): AccessResolver => {
  const resolvers = new Map<string, (caller: Caller) => Access>()
  for (const [name, model] of models) {
    const own = rules.get(name)
    if (own === undefined) continue
    const questions = questionsOf(own, (place, error) => failed(name, place, error))
    const asks = questions.operations.length + questions.fields.length > 0
    resolvers.set(name, asks ? byAnswers(model, own, defaults, questions) : byRoles(model, own, defaults))
  }
  const trackedBy = new Map(
    [...models.values()].flatMap(({ history, name }) => history === null ? [] : [[history, name]])
  )
  return {
    resolve: (caller, resource) => {
      const access = resolvers.get(resource)?.(caller) ?? null
      if (access === null || !access.visible) return null
      const tracked = trackedBy.size === 0 ? undefined : trackedBy.get(resource)
      const records = tracked === undefined ? undefined : resolvers.get(tracked)?.(caller)
      return records === undefined ? access : confineVersions(access, records)
    }
  }
}
