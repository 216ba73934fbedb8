/** Puts the use cases together over one core. */

import type { Caller } from "../domain/access/caller.ts"
import { facets, histogram, series } from "./aggregate.ts"
import type { App } from "./app.ts"
import { batch } from "./batch.ts"
import { create, remove, restore, undelete, update } from "./change.ts"
import type { Core } from "./core.ts"
import { get, list, search, seek } from "./read.ts"

/** The documents about the models, made elsewhere: `/api/meta`, `/api/openapi.json` and the version header. */
export type SystemDocuments = Pick<App, "meta" | "openapi" | "metaVersion">

export const makeApp = (core: Core, documents: SystemDocuments): App => ({
  ...documents,
  list: (call, resource) => list(core, call, resource),
  search: (call, resource, body) => search(core, call, resource, body),
  get: (call, resource, key) => get(core, call, resource, key),
  facets: (call, resource) => facets(core, call, resource),
  series: (call, resource) => series(core, call, resource),
  histogram: (call, resource) => histogram(core, call, resource),
  seek: (call, resource) => seek(core, call, resource),
  create: (call, resource, body) => create(core, call, resource, body),
  update: (call, resource, key, body) => update(core, call, resource, key, body),
  remove: (call, resource, key) => remove(core, call, resource, key),
  undelete: (call, resource, key) => undelete(core, call, resource, key),
  restore: (call, resource, key, body) => restore(core, call, resource, key, body),
  batch: (call, body) => batch(core, call, body),
  visible: (caller: Caller, resource: string) => core.resolve(caller, resource) !== null
})
