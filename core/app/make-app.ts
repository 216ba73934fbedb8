/** Puts the use cases together over one core. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Access } from "../domain/access/access.ts"
import type { AccessResolver } from "../domain/access/resolve.ts"
import type { Functions } from "../domain/function/declaration.ts"
import { notFound } from "../domain/problem.ts"
import type { Problem } from "../domain/problem.ts"
import type { ReplicasService } from "../ports/replicas.ts"
import type { App, TasksApp } from "./app.ts"
import { beginDirect, confirmDirect } from "./file/direct.ts"
import { addPiece, beginUpload, endUpload, uploadAnswer, uploadOptions, uploadState } from "./file/resume.ts"
import { upload } from "./file/upload.ts"
import { callFunction } from "./function/function.ts"
import type { FunctionsCore } from "./function/function.ts"
import type { Accesses } from "./ground/call.ts"
import { type Core, namedFor } from "./ground/core.ts"
import { makeRouting } from "./ground/replicas.ts"
import { facets, groups, histogram, series } from "./read/aggregate.ts"
import { type Exporting, makeExporting } from "./read/export.ts"
import { get, list, search, seek } from "./read/list.ts"
import { sizes } from "./read/sizes.ts"
import { changeFiltered } from "./task/filtered.ts"
import { noTasks } from "./task/tasks.ts"
import { batch } from "./write/batch.ts"
import { create } from "./write/create.ts"
import { patch } from "./write/patch.ts"
import { remove, restore, undelete } from "./write/single.ts"

/** The documents about the models, made elsewhere: `/api/meta`, `/api/openapi.json` and the version header. */
export type SystemDocuments = Pick<App, "meta" | "openapi" | "metaVersion">

/** Two lists instead of a `Map`: they are made for each request, and most requests name one resource. */
const resolvedOnce = (resolve: Accesses): Accesses => {
  const names: string[] = []
  const accesses: Array<Access | null> = []
  return (resource) => {
    const at = names.indexOf(resource)
    if (at !== -1) return accesses[at]!
    const access = resolve(resource)
    names.push(resource)
    accesses.push(access)
    return access
  }
}

/** The use cases over one core; `documents` are those about the models. */
export const makeApp = (
  core: Core,
  resolver: AccessResolver,
  documents: SystemDocuments,
  functions: Functions = new Map(),
  { refresh = nothing, tasks = noTasks, verb = nothing, watch = nothing }: {
    readonly refresh?: App["refresh"]
    readonly verb?: App["verb"]
    readonly watch?: App["watch"]
    readonly tasks?: TasksApp
  } = {}
): App => {
  const use = functionsCore(core, resolver, functions)
  const exporting = makeExporting()
  const app: App = {
    ...documents,
    refresh,
    verb,
    watch,
    ...tasks,
    export: exporting.run.bind(null, core),
    ...makeUses(core),
    call: callFunction.bind(null, use),
    accesses: use.accesses
  }
  return core.replicas === undefined ? app : routed(app, core, core.replicas, exporting)
}

/** The use cases where there are replicas: each read finds its server, and each write tells its position. */
const routed = (app: App, core: Core, replicas: ReplicasService, exporting: Exporting): App => {
  const { read, told, wrote } = makeRouting(core, replicas)
  return {
    ...app,
    list: read(list),
    search: read(search),
    get: read(get),
    facets: read(facets),
    series: read(series),
    histogram: read(histogram),
    aggregate: read(groups),
    seek: read(seek),
    sizes: read(sizes),
    export: read(exporting.run),
    watch: told(app.watch),
    create: wrote(app.create),
    update: wrote(app.update),
    remove: wrote(app.remove),
    updateFiltered: wrote(app.updateFiltered),
    removeFiltered: wrote(app.removeFiltered),
    undelete: wrote(app.undelete),
    restore: wrote(app.restore),
    batch: wrote(app.batch),
    call: wrote(app.call),
    verb: wrote(app.verb),
    bulk: wrote(app.bulk),
    import: wrote(app.import),
    // Also where it is only looked at: who sees that it has ended reads what it wrote.
    task: wrote(app.task),
    upload: wrote(app.upload)
  }
}

/** What there is without events and extensions. */
const nothing = (): Effect.Effect<never, Problem> => Effect.fail(notFound())

/** What API functions stand on, whoever calls them. */
export const functionsCore = (core: Core, resolver: AccessResolver, functions: Functions): FunctionsCore => ({
  core,
  functions,
  app: makeUses(core),
  accesses: (caller) => resolvedOnce((resource) => resolver.resolve(caller, resource))
})

/** The use cases with their core. */
const makeUses = (
  core: Core
): Omit<
  App,
  keyof SystemDocuments | keyof TasksApp | "accesses" | "call" | "export" | "refresh" | "verb" | "watch"
> => ({
  list: list.bind(null, core),
  search: search.bind(null, core),
  get: get.bind(null, core),
  facets: facets.bind(null, core),
  series: series.bind(null, core),
  histogram: histogram.bind(null, core),
  aggregate: groups.bind(null, core),
  seek: seek.bind(null, core),
  create: (call, resource, body) => namedFor(core, call, [resource], create(core, call, resource, body)),
  update: (call, resource, key, body) => namedFor(core, call, [resource], patch(core, call, resource, key, body)),
  remove: (call, resource, key) => namedFor(core, call, [resource], remove(core, call, resource, key)),
  updateFiltered: (call, resource, body) => changeFiltered(core, call, resource, "update", body),
  removeFiltered: (call, resource) => changeFiltered(core, call, resource, "delete", null),
  undelete: (call, resource, key) => namedFor(core, call, [resource], undelete(core, call, resource, key)),
  restore: (call, resource, key, body) => namedFor(core, call, [resource], restore(core, call, resource, key, body)),
  sizes: sizes.bind(null, core),
  batch: batch.bind(null, core),
  upload: upload.bind(null, core),
  uploads: {
    options: (call, resource) => Effect.fromResult(Result.gen(() => uploadOptions(core, call, resource))),
    begin: beginUpload.bind(null, core),
    state: uploadState.bind(null, core),
    add: addPiece.bind(null, core),
    answer: uploadAnswer.bind(null, core),
    end: endUpload.bind(null, core),
    direct: beginDirect.bind(null, core),
    confirm: confirmDirect.bind(null, core)
  }
})
