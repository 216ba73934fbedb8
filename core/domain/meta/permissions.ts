/** What a caller may do with a resource, as clients are told. It only informs: every request is decided by `Access` again. */

import type { Access, Decision } from "../access/access.ts"
import { type Operation, operations } from "../access/rules.ts"
import type { BulkOp } from "../task/task.ts"

/**
 * `permissions[resource]` of the meta document (docs/reference/meta.md#permissions): true when the operation is allowed for some record. `conditional` lists
 * the operations that are allowed for some records only, in the order read, create, update, delete.
 */
export interface ResourcePermissions {
  readonly read: boolean
  readonly create: boolean
  readonly update: boolean
  readonly delete: boolean
  readonly conditional: readonly Operation[]
  /** Of a materialized view: whether the caller may have it refreshed. Absent elsewhere. */
  readonly refresh?: boolean
}

const isConditional = (decision: Decision): boolean => decision.of === "filter" || decision.of === "record"

/**
 * Permissions of one resource. Without a tenant nothing of a tenant-scoped resource is possible. Where nothing can be read, no record can
 * be found to update or delete.
 */
export const permissionsOf = ({ decisions, mayRefresh, tenantMissing }: Access): ResourcePermissions => {
  const possible = (operation: Operation): boolean =>
    !tenantMissing && decisions[operation].of !== "deny" &&
    (operation === "read" || operation === "create" || decisions.read.of !== "deny")
  return {
    read: possible("read"),
    create: possible("create"),
    update: possible("update"),
    delete: possible("delete"),
    conditional: operations.filter((operation) => possible(operation) && isConditional(decisions[operation])),
    ...(mayRefresh === undefined ? {} : { refresh: mayRefresh && !tenantMissing })
  }
}

/** What a caller may do with many records of a resource at once. */
export interface ResourceTransfers {
  /** `:export` of what a list shows. */
  readonly export: boolean
  /** Operations of `:bulk`. Empty where there are no tasks. */
  readonly bulk: readonly BulkOp[]
  /** Modes of `:import`; `upsert` where both are there. */
  readonly import: readonly ("create" | "update")[]
}

/** The transfers of one resource. `tasks`: whether the service has bulk changes and imports. */
export const transfersOf = (access: Access, tasks: boolean): ResourceTransfers => {
  const { create, delete: remove, read, update } = permissionsOf(access)
  const { creatable, fields, updatable } = access.restricted
  const fills = (names: ReadonlySet<string>): boolean =>
    fields.some(({ file, name }) => file === null && names.has(name))
  const keyed = access.model.key.every(({ name }) => access.restricted.byName.has(name))
  return {
    export: read,
    bulk: tasks && keyed && read
      ? [
        ...(update && updatable.size > 0 ? ["update"] as const : []),
        ...(remove ? ["delete"] as const : []),
        ...(update && access.model.softDelete !== null ? ["undelete"] as const : [])
      ]
      : [],
    import: tasks
      ? [
        ...(create && fills(creatable) ? ["create"] as const : []),
        ...(update && fills(updatable) ? ["update"] as const : [])
      ]
      : []
  }
}
