/** The context of every page: the catalogue and the user. */

import { createContext, use } from "react"
import type { SessionUser } from "../../client/index.ts"
import type { Catalogue } from "../model/catalogue.ts"
import type { SourceState } from "../sources/states.ts"

export interface App {
  readonly catalogue: Catalogue
  readonly user: {
    readonly id: string
    readonly name: string
    readonly email: string
    readonly roles: readonly string[]
  }
  readonly isAdmin: boolean
  /** The state of each source that the user may see. */
  readonly sources: readonly SourceState[]
}

export const AppContext = createContext<App | null>(null)

export const useApp = (): App => {
  const app = use(AppContext)
  if (app === null) throw new Error("There is no AppContext.")
  return app
}

export const personOf = (meta: Catalogue["meta"], user: SessionUser | null): App["user"] => ({
  id: meta.user.id,
  name: user?.name || user?.email || meta.user.id,
  email: user?.email ?? "",
  roles: meta.user.roles
})
