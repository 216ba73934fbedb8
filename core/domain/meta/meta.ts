/**
 * The meta document (`GET /api/meta`; docs/reference/meta.md): what one caller sees of the declarations. It is built from restricted models only, so
 * a hidden field or resource cannot get into it. It carries no rule, no column and no table name.
 */

import * as Result from "effect/Result"
import type { Access } from "../access/access.ts"
import type { Caller } from "../access/caller.ts"
import { type Functions, mayCall } from "../function/declaration.ts"
import { derivedNames } from "../model/file.ts"
import type { FileField } from "../model/file.ts"
import type { Argument, Field, Models } from "../model/model.ts"
import { pathText } from "../model/path.ts"
import type { MenuItem, Page, View } from "../model/view.ts"
import { checkFilter, checkOrder } from "../read/list.ts"
import { sourcesFor } from "../source/source.ts"
import type { Source, SourceShown } from "../source/source.ts"
import type { Json, RangeElement, ScalarKind, Shape } from "../value/kind.ts"
import { adminRole } from "../value/role.ts"
import { permissionsOf, type ResourcePermissions, type ResourceTransfers, transfersOf } from "./permissions.ts"
import type { Hash } from "./version.ts"
import {
  callableBy,
  hiddenNames,
  menuFor,
  type MetaMenuItem,
  type MetaPage,
  type MetaView,
  pagesFor,
  restrictView,
  viewFor,
  type Visibility
} from "./view.ts"

/** What a client has to know of a file field. */
export interface MetaFile {
  /** Types and `type/*`; null takes every type. */
  readonly accept: readonly string[] | null
  /** Bytes. */
  readonly maxSize: number
  /** Anyone with the link may open its files. */
  readonly public: boolean
  /** Names of variants, smallest first as declared. */
  readonly variants: readonly string[]
  /** The field whose value is the placeholder, when the caller sees it. */
  readonly placeholder: string | null
  /** The field may also hold an https URL. */
  readonly externalUrls: boolean
  /** Fields of several files: most of them. */
  readonly maxFiles?: number
  /** Fields that an upload sets, as far as the caller sees them. */
  readonly derived: readonly string[]
}

/** What the elements of an array are. Members that say nothing about their kind are absent. */
export interface MetaElement extends Pick<MetaField, "bits" | "max" | "precision" | "scale" | "values"> {
  readonly kind: ScalarKind
  /** An element may be null. */
  readonly nulls?: true
}

/** A readable field. Members that say nothing about its kind are absent. */
export interface MetaField {
  readonly name: string
  /** What people read instead of the name. Absent where nothing is declared. */
  readonly label?: string
  /** What somebody who fills it in should know. */
  readonly help?: string
  readonly kind: ScalarKind | "file" | "files" | "array"
  /** File fields, of one file or of several. */
  readonly file?: MetaFile
  /** Integers: 16, 32 (JSON numbers) or 64 (text). */
  readonly bits?: 16 | 32 | 64
  /** Texts: most characters. Bytes: most bytes. Arrays: most elements. */
  readonly max?: number
  /** Arrays. */
  readonly items?: MetaElement
  /** Texts: whether forms show a box for several lines. Absent where nothing is declared: the length says it. */
  readonly multiline?: boolean
  /** Decimals; of money only the scale. */
  readonly precision?: number
  readonly scale?: number
  /** Enums. */
  readonly values?: readonly string[]
  /** Enums: whether the values compare and sort in this order. Absent where they do not. */
  readonly ordered?: true
  /** JSON: the declared paths into it that filters and orders take, in declared order. Absent where there are none. */
  readonly paths?: readonly MetaPath[]
  /** Ranges: what they go over. */
  readonly of?: RangeElement
  /** Native values: the type in PostgreSQL. */
  readonly type?: string
  /** The resource a foreign key points at, when the caller sees that resource. */
  readonly relation?: string
  /** One more name accepted in `filter` and `order_by`. */
  readonly alias?: string
  readonly default?: { readonly value: Json } | { readonly db: true }
  readonly optional: boolean
  /** The caller can write it neither in a create nor in an update. */
  readonly readOnly: boolean
  /** In which bodies the caller may send it (an update may still depend on the record). */
  readonly writable: { readonly create: boolean; readonly update: boolean }
  readonly filterable: boolean
  readonly sortable: boolean
  readonly searched: boolean
  readonly sensitive: boolean
}

/** A declared path into JSON: `size.width` of a field `meta` is asked for as `meta.size.width`. */
export interface MetaPath
  extends Pick<MetaField, "max" | "precision" | "scale" | "values" | "ordered" | "filterable" | "sortable">
{
  readonly path: string
  readonly kind: MetaField["kind"]
}

/** A way to related records, offered when both its ends are readable. */
export interface MetaRelation {
  readonly name: string
  readonly resource: string
  readonly many: boolean
  readonly field: string
  readonly targetField: string
}

/** An argument of a resource over a function of the database. Members that say nothing about its kind are absent. */
export interface MetaArgument
  extends Pick<MetaField, "name" | "label" | "help" | "bits" | "max" | "multiline" | "precision" | "scale" | "values">
{
  readonly kind: ScalarKind
  /** It may be left out: then it is null, or its default. */
  readonly optional: boolean
  readonly default?: { readonly value: Json } | { readonly db: true }
}

/** A restricted model. */
export interface MetaModel {
  readonly name: string
  /** What its records are. Absent where nothing is declared. */
  readonly description?: string
  /** Fields of the primary key in key order. Empty when one of them is hidden, as records then have no address. */
  readonly primaryKey: readonly string[]
  readonly fields: readonly MetaField[]
  readonly relations: readonly MetaRelation[]
  /** Deleted records are kept; `show_deleted` and `:undelete` work. */
  readonly softDelete: boolean
  readonly tenantScoped: boolean
  /** The field that holds the owner's user id, the version field: names when readable, else null. */
  readonly owner: string | null
  readonly version: string | null
  /** Arguments that every read takes, for callers who may read it. Absent where it is no function of the database. */
  readonly arguments?: readonly MetaArgument[]
  /** Search vectors that the caller may ask, for `search(vector, "text")` and `rank`. Absent where there are none. */
  readonly searchVectors?: readonly string[]
  /** Names of its events, for callers who may read it; absent where it declares none. With events it can be watched. */
  readonly events?: readonly string[]
}

export interface MetaDocument {
  readonly user: { readonly id: string; readonly roles: readonly string[]; readonly tenant: string | null }
  /** In declared order. */
  readonly models: readonly MetaModel[]
  /** By resource; a resource without a view for the caller is absent. */
  readonly views: { readonly [resource: string]: MetaView }
  /** By resource, for every resource in `models`. */
  readonly permissions: { readonly [resource: string]: ResourcePermissions }
  /** By resource, for every resource in `models`. */
  readonly transfers: { readonly [resource: string]: ResourceTransfers }
  readonly userMenu: readonly MetaMenuItem[]
  readonly pages: readonly MetaPage[]
  /** Other instances whose resources the app draws, as far as the caller is told about them. */
  readonly sources: readonly SourceShown[]
  /** Absent where no resource has a file field. */
  readonly files?: { readonly trustedHosts: readonly string[] }
  /** There is a queue, which the caller looks after. Absent for everybody else. */
  readonly jobs?: true
  /** API functions that the caller may call. */
  readonly functions: ReadonlyArray<{ readonly name: string; readonly description: string | null }>
}

export interface MetaRequest {
  readonly caller: Caller
  readonly models: Models
  readonly views: readonly View[]
  readonly userMenu: readonly MenuItem[]
  readonly pages: readonly Page[]
  readonly functions?: Functions
  /** Whether the service has bulk changes and imports. */
  readonly tasks?: boolean
  /** Whether the service has a queue. */
  readonly jobs?: boolean
  /** Null: turned off. */
  readonly sources: readonly Source[] | null
  /** Hosts whose images are loaded with a referrer; null: there are no files. */
  readonly trustedHosts?: readonly string[] | null
  /** The caller's access to a resource, or null. */
  readonly resolve: (resource: string) => Access | null
}

/** What bounds the values of a field; a bound that is not declared is left out. */
const boundsOf = (field: Shape & { readonly file?: FileField | null }): Omit<Partial<MetaField>, "kind"> => {
  switch (field.kind) {
    case "integer":
      return { bits: field.bits }
    case "text":
      return field.max === null ? {} : { max: field.max }
    case "decimal":
      return {
        ...(field.precision === null ? {} : { precision: field.precision }),
        ...(field.scale === null ? {} : { scale: field.scale })
      }
    case "enum":
      return { values: field.values, ...(field.ordered === true ? { ordered: true } : {}) }
    case "list": {
      if (field.file != null) return {}
      const { max, nulls, of } = field
      return {
        ...(max === null ? {} : { max }),
        items: { kind: of.kind, ...boundsOf(of), ...(nulls ? { nulls } : {}) }
      }
    }
    case "bytes":
      return { max: field.max }
    case "money":
      return { scale: field.scale }
    case "range":
      return { of: field.of }
    case "native":
      return { type: field.type }
    default:
      return {}
  }
}

/** The kind as callers know it. */
const kindOf = (field: Field): MetaField["kind"] =>
  field.kind === "list" ? (field.file === null ? "array" : "files") : field.file === null ? field.kind : "file"

const fileOf = (field: Field, file: FileField, { restricted }: Access): MetaFile => ({
  accept: file.accept,
  maxSize: file.maxSize,
  public: file.public,
  variants: file.variants.map(({ name }) => name),
  placeholder: file.placeholder !== null && restricted.byName.has(file.placeholder) ? file.placeholder : null,
  externalUrls: file.externalUrls,
  derived: derivedNames(file).filter((name) => restricted.byName.has(name)),
  ...(field.kind === "list" && field.max !== null ? { maxFiles: field.max } : {})
})

const pathsOf = (field: Field, { model }: Access): Pick<MetaField, "paths"> => {
  const members = (model.members ?? []).filter(({ member }) => member!.of === field)
  return members.length === 0 ? {} : {
    paths: members.map((each): MetaPath => ({
      path: pathText(each.member!.path),
      ...boundsOf(each),
      kind: kindOf(each),
      filterable: each.filterable,
      sortable: each.sortable
    }))
  }
}

const fieldOf = (field: Field, access: Access, visible: (resource: string) => boolean): MetaField => {
  const { restricted } = access
  const listable = access.decisions.read.of !== "deny"
  const create = restricted.creatable.has(field.name)
  const update = restricted.updatable.has(field.name)
  return {
    name: field.name,
    ...(field.label === null ? {} : { label: field.label }),
    ...(field.help === null ? {} : { help: field.help }),
    kind: kindOf(field),
    ...(field.file === null ? {} : { file: fileOf(field, field.file, access) }),
    ...boundsOf(field),
    ...(field.kind === "json" && listable ? pathsOf(field, access) : {}),
    ...(field.multiline === null ? {} : { multiline: field.multiline }),
    ...(field.relation !== null && visible(field.relation) ? { relation: field.relation } : {}),
    ...(field.alias === null ? {} : { alias: field.alias }),
    ...(field.default === null ? {} : { default: field.default }),
    optional: field.optional,
    readOnly: !create && !update,
    writable: { create, update },
    filterable: listable && field.filterable,
    sortable: listable && field.sortable,
    searched: listable && field.searched,
    sensitive: field.sensitive
  }
}

/** No argument is a file or a list of them: its kind is what it says. */
const argumentOf = ({ field }: Argument): MetaArgument => ({
  name: field.name,
  ...(field.label === null ? {} : { label: field.label }),
  ...(field.help === null ? {} : { help: field.help }),
  ...boundsOf(field),
  kind: field.kind as ScalarKind,
  ...(field.multiline === null ? {} : { multiline: field.multiline }),
  ...(field.default === null ? {} : { default: field.default }),
  optional: field.optional || field.default !== null
})

/** The restricted model of one access. `other` answers for related resources; null: not visible. */
export const metaModel = (access: Access, other: (resource: string) => Access | null): MetaModel => {
  const { model, restricted } = access
  const visible = (resource: string): boolean => other(resource) !== null
  const nameOf = (field: Field | null): string | null =>
    field !== null && restricted.byName.has(field.name) ? field.name : null
  const relations: MetaRelation[] = []
  for (const relation of model.relations.values()) {
    const target = other(relation.target)
    const listable = target !== null && !target.tenantMissing && target.decisions.read.of !== "deny"
    if (!listable || nameOf(relation.from) === null || !target.restricted.byName.has(relation.to)) continue
    relations.push({
      name: relation.name,
      resource: relation.target,
      many: relation.many,
      field: relation.from.name,
      targetField: relation.to
    })
  }
  return {
    name: model.name,
    ...(model.description === null ? {} : { description: model.description }),
    primaryKey: model.key.every((field) => nameOf(field) !== null) ? model.key.map((field) => field.name) : [],
    fields: restricted.fields.map((field) => fieldOf(field, access, visible)),
    relations,
    softDelete: model.softDelete !== null,
    tenantScoped: model.tenant !== null,
    owner: nameOf(model.owner),
    version: nameOf(model.version),
    ...(model.function !== undefined && access.decisions.read.of !== "deny"
      ? { arguments: model.function.arguments.map(argumentOf) }
      : {}),
    ...(restricted.vectors.size === 0 ? {} : { searchVectors: [...restricted.vectors.keys()] }),
    ...(model.events.length > 0 && access.decisions.read.of !== "deny" ? { events: model.events } : {})
  }
}

const noNames: ReadonlySet<string> = new Set()

/** The meta document of a caller: plain data, ready for JSON. */
export const metaDocument = (request: MetaRequest): MetaDocument => {
  const { caller, models, resolve } = request
  const accesses = new Map<string, Access>()
  for (const name of models.keys()) {
    const access = resolve(name)
    if (access !== null) accesses.set(name, access)
  }
  const reached = (name: string): Access | null => accesses.get(name) ?? null
  const sight: Visibility = {
    exists: (resource) => models.has(resource),
    visible: (resource) => accesses.has(resource),
    listed: (resource) => {
      const access = accesses.get(resource)
      return access === undefined || access.decisions.read.of === "deny" ? null : access.restricted
    },
    hidden: (resource) => {
      const access = accesses.get(resource)
      return access === undefined ? noNames : hiddenNames(access.restricted)
    },
    asks: (resource, filter) => {
      const access = accesses.get(resource)
      return access !== undefined && Result.isSuccess(checkFilter(reached, access, filter))
    },
    sorts: (resource, order) => {
      const access = accesses.get(resource)
      return access !== undefined && Result.isSuccess(checkOrder(reached, access, order))
    }
  }
  const callable = callableBy(caller, request.functions)
  const views: { [resource: string]: MetaView } = {}
  const permissions: { [resource: string]: ResourcePermissions } = {}
  const transfers: { [resource: string]: ResourceTransfers } = {}
  for (const [name, access] of accesses) {
    const view = viewFor(request.views, name, caller)
    if (view !== null) {
      const asks = (filter: string): boolean => sight.asks(name, filter)
      const sorts = (order: string): boolean => sight.sorts(name, order)
      views[name] = restrictView(view, access.restricted, access.decisions.read.of !== "deny", callable, asks, sorts)
    }
    permissions[name] = permissionsOf(access)
    transfers[name] = transfersOf(access, request.tasks === true)
  }
  const pages = pagesFor(request.pages, caller, sight)
  return {
    user: { id: caller.id, roles: caller.roles, tenant: caller.tenant },
    models: [...accesses.values()].map((access) => metaModel(access, (resource) => accesses.get(resource) ?? null)),
    views,
    permissions,
    transfers,
    userMenu: menuFor(request.userMenu, pages, caller, sight),
    pages,
    sources: sourcesFor(request.sources, caller.roles),
    ...(request.trustedHosts == null ? {} : { files: { trustedHosts: request.trustedHosts } }),
    ...(request.jobs === true && caller.roles.includes(adminRole) ? { jobs: true } : {}),
    functions: [...request.functions?.values() ?? []].flatMap((each) =>
      mayCall(each, caller) ? [{ name: each.name, description: each.description }] : []
    )
  }
}

/** The ETag of a meta document: a hash of its whole text (which names the user and their roles), quotes included. */
export const metaEtag = (text: string, hash: Hash): string => `"${hash(text)}"`
