/**
 * The attributes of a finished request in metrics: method, route, status and duration. The route is a template, and there are as many as
 * declared routes, whatever clients send. It holds no key, no name that nobody declared, and no unknown path.
 */

import type { Refused } from "./access-log.ts"
import { isBelow } from "./router.ts"
import type { Mount, Route } from "./router.ts"

export interface Measured {
  /** As sent, or `_OTHER` when it is none of HTTP's usual ones. */
  readonly method: string
  /** For example `/api/v1/orders/{key}`; empty when nothing is there. */
  readonly route: string
  /** 499 when the client went away before there was an answer. */
  readonly status: number
  /** Why it was refused; null: it was not. */
  readonly refused: Refused | null
  readonly seconds: number
}

/** Called for every finished request. It must not throw, and nobody waits for it. */
export type Measure = (measured: Measured) => void

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"])

export const knownMethod = (method: string): string => methods.has(method) ? method : "_OTHER"

/** The template of a route that exists; `route.resource` must be one that the caller can see. */
const templateOf = (mount: Mount, path: string, { key, methods, resource }: Route): string => {
  if (methods === null) return ""
  // The id of a task, or the name of a function: nobody may have declared it.
  if (resource === "") {
    const at = path.lastIndexOf("/") + 1
    return key === "" ? path : `${path.slice(0, at)}{key}${path.slice(at + key.length)}`
  }
  const place = `${mount.basePath}/${resource}`
  const slash = path.indexOf("/", mount.basePath.length + 1)
  if (methods.overrides === true) return `${place}:upload/{key}`
  if (key !== "") {
    return slash + 1 + key.length === path.length
      ? `${place}/{key}`
      : `${place}/{key}${path.slice(slash + 1 + key.length)}`
  }
  const colon = path.indexOf(":", mount.basePath.length)
  return colon === -1 ? place : place + path.slice(colon)
}

/** The template of whatever answers a path. `route` is the resource's route, once it is known to exist for the caller. */
export const routeTemplate = (
  mount: Mount,
  path: string,
  route: Route | null,
  prefixes: readonly string[]
): string => {
  if (route !== null) return templateOf(mount, path, route)
  if (path === "/livez" || path === "/readyz") return path
  const prefix = prefixes.find((each) => isBelow(path, each))
  return prefix === undefined ? "" : prefix === path ? prefix : `${prefix}/*`
}
