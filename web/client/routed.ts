/**
 * One client over several services, for an app that shows resources of sources beside its own. It sends nothing itself.
 */

import type { BatchBuilder } from "./batch.ts"
import type { Client } from "./client.ts"
import { refused } from "./problem.ts"

/**
 * A client whose calls about a resource go to its source: `sourceOf` gives that source's client, or nothing for the app's own resources. A batch over two
 * of them is refused before anything is sent, since no transaction spans two services.
 */
export const routedClient = <C>(
  own: Client<C>,
  sourceOf: (resource: string) => Client | null | undefined
): Client<C> => {
  const clientOf = (resource: string): Client<C> => (sourceOf(resource) as Client<C> | null | undefined) ?? own
  return {
    ...own,
    resource: (name) => clientOf(name).resource(name),
    upload: (resource, ...rest) => clientOf(resource).upload(resource, ...rest),
    watch: (resource, ...rest) => clientOf(resource).watch(resource, ...rest),
    batch: () => {
      let at: Client<C> | null = null
      let batch = own.batch()
      const admit = (resource: string): BatchBuilder<C> => {
        const to = clientOf(resource)
        if (at !== null && at !== to) {
          throw refused(409, "conflict", "A batch writes to one service: send one batch for each.")
        }
        if (at === null && to !== own) batch = to.batch()
        at = to
        return batch
      }
      return {
        create: (resource, data) => admit(resource).create(resource, data),
        update: (resource, ...rest) => admit(resource).update(resource, ...rest),
        delete: (resource, ...rest) => admit(resource).delete(resource, ...rest),
        reorder: (resource, ...rest) => admit(resource).reorder(resource, ...rest),
        get size() {
          return batch.size
        },
        send: (options) => batch.send(options)
      }
    }
  }
}
