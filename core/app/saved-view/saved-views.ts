/**
 * The use cases of saved views: list, save, change, remove. The owner can change a view, and admins can change shared ones. The names in a view are
 * checked against the caller's access when it is saved and when it is read.
 */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import type { Caller } from "../../domain/access/caller.ts"
import { accessDenied, notFound, Problem, problem } from "../../domain/problem.ts"
import { readViewBody, showView, viewBag } from "../../domain/saved-view/saved-view.ts"
import { adminRole } from "../../domain/value/role.ts"
import { preconditionFailed, preconditionHolds, preconditionRequired } from "../../domain/write/precondition.ts"
import { mostSavedViews, type SavedView, type SavedViewsService } from "../../ports/saved-views.ts"
import { type Accesses, json, readJson, readParameters, type Reply } from "../ground/call.ts"
import { recordsProblem } from "../ground/refusal.ts"

type Query = ReadonlyArray<readonly [name: string, value: string]>
type Answer = Effect.Effect<Reply, Problem>

export interface SavedViewsApp {
  readonly list: (caller: Caller, query: Query) => Answer
  readonly create: (caller: Caller, path: string, body: Uint8Array) => Answer
  readonly update: (caller: Caller, id: string, ifMatch: string | null, body: Uint8Array) => Answer
  readonly remove: (caller: Caller, id: string, ifMatch: string | null) => Answer
}

const etagOf = ({ version }: SavedView): string => `"${version}"`

/** Access that lets the caller list a resource, or null. */
const listable = (accesses: Accesses, resource: string): Access | null => {
  const access = accesses(resource)
  return access === null || access.tenantMissing || access.decisions.read.of === "deny" ? null : access
}

const wire = (view: SavedView, access: Access, accesses: Accesses) => {
  const { chart, columns, filter, incomplete, layout, name, orderBy, sharedWith } = showView(view, access, accesses)
  return {
    id: view.id,
    resource: view.resource,
    name,
    filter,
    order_by: orderBy,
    columns,
    chart,
    layout,
    shared_with: sharedWith ?? "me",
    owner: view.owner,
    incomplete,
    etag: etagOf(view)
  }
}

const taken = (): Problem => problem("conflict", "You have a view of this name already.")

export const makeSavedViewsApp = (
  views: SavedViewsService,
  accessesOf: (caller: Caller) => Accesses
): SavedViewsApp => {
  const answered = (
    status: number,
    view: SavedView,
    access: Access,
    accesses: Accesses,
    headers: { readonly [name: string]: string } = {}
  ) => json(status, JSON.stringify(wire(view, access, accesses)), { etag: etagOf(view), ...headers })

  /** A view that the caller sees and may change, with the access to its resource. */
  const changeable = Effect.fnUntraced(function*(
    caller: Caller,
    id: string
  ): Effect.fn.Return<
    { readonly view: SavedView; readonly access: Access; readonly accesses: Accesses },
    Problem
  > {
    const view = yield* Effect.catch(views.get(caller, id), recordsProblem)
    const accesses = accessesOf(caller)
    const access = view === null ? null : listable(accesses, view.resource)
    if (view === null || access === null) return yield* Effect.fail(notFound())
    if (view.owner !== caller.id && !caller.roles.includes(adminRole)) return yield* Effect.fail(accessDenied())
    return { view, access, accesses }
  })

  const stale = (view: SavedView, ifMatch: string): Problem => preconditionFailed(ifMatch, etagOf(view), null)

  return {
    list: Effect.fnUntraced(function*(caller, query): Effect.fn.Return<Reply, Problem> {
      const { resource = null } = yield* Effect.fromResult(readParameters(query, ["resource"]))
      const accesses = accessesOf(caller)
      const all = yield* Effect.catch(views.list(caller, resource), recordsProblem)
      const items: object[] = []
      for (const [index, view] of all.entries()) {
        // Every filter is checked again. Many long ones must not block other requests for all of that time.
        if (index % 10 === 9) yield* Effect.yieldNow
        const access = listable(accesses, view.resource)
        if (access !== null) items.push(wire(view, access, accesses))
      }
      return json(200, JSON.stringify({ items }))
    }),

    create: Effect.fnUntraced(function*(caller, path, body): Effect.fn.Return<Reply, Problem> {
      const bag = yield* Effect.fromResult(Result.flatMap(readJson(body), viewBag))
      const resource = bag["resource"]
      const accesses = accessesOf(caller)
      const access = typeof resource === "string" ? listable(accesses, resource) : null
      if (typeof resource !== "string" || access === null) {
        const message = typeof resource === "string" ? "There is no such resource." : "A saved view needs a resource."
        return yield* Effect.fail(
          problem("invalid-record", message, { errors: [{ field: "resource", code: "invalid", message }] })
        )
      }
      const values = yield* Effect.fromResult(readViewBody(bag, null, access, accesses, caller))
      const made = yield* Effect.catch(views.create(caller, { resource, ...values }), recordsProblem)
      switch (made.of) {
        case "taken":
          return yield* Effect.fail(taken())
        case "full":
          return yield* Effect.fail(
            problem("conflict", `You have ${mostSavedViews} views, the maximum. Remove one first.`)
          )
        case "done":
          return answered(201, made.view, access, accesses, { location: `${path}/${made.view.id}` })
      }
    }),

    update: Effect.fnUntraced(function*(caller, id, ifMatch, body): Effect.fn.Return<Reply, Problem> {
      const { access, accesses, view } = yield* changeable(caller, id)
      if (ifMatch === null) return yield* Effect.fail(preconditionRequired())
      if (!preconditionHolds(ifMatch, etagOf(view))) return yield* Effect.fail(stale(view, ifMatch))
      const bag = yield* Effect.fromResult(Result.flatMap(readJson(body), viewBag))
      const values = yield* Effect.fromResult(readViewBody(bag, view, access, accesses, caller))
      const changed = yield* Effect.catch(
        views.replace(caller, id, view.version, { ...values, resource: view.resource }),
        recordsProblem
      )
      switch (changed.of) {
        case "absent":
          return yield* Effect.fail(notFound())
        case "stale":
          return yield* Effect.fail(stale(changed.view, ifMatch))
        case "taken":
          return yield* Effect.fail(taken())
        case "done":
          return answered(200, changed.view, access, accesses)
      }
    }),

    remove: Effect.fnUntraced(function*(caller, id, ifMatch): Effect.fn.Return<Reply, Problem> {
      const { view } = yield* changeable(caller, id)
      if (!preconditionHolds(ifMatch, etagOf(view))) return yield* Effect.fail(stale(view, ifMatch!))
      const removed = yield* Effect.catch(
        views.remove(caller, id, ifMatch === null ? null : view.version),
        recordsProblem
      )
      switch (removed.of) {
        case "absent":
          return yield* Effect.fail(notFound())
        case "stale":
          return yield* Effect.fail(stale(removed.view, ifMatch!))
        case "done":
          return { status: 204, headers: {}, body: null }
      }
    })
  }
}
