/** Whose unsaved input is kept in this tab. The forms keep the input itself. Tenants at paths share the tab's storage, so each has keys of its own. */

import { prefix } from "../config.ts"

const store = `admin${prefix}:draft`
const ownerStore = `${store}s-of`

/** What the keys of unsaved input begin with. */
export const draftStore = `${store}:`

/** Whether the tab keeps unsaved input of any form. */
export const hasDrafts = (): boolean => {
  try {
    return Object.keys(sessionStorage).some((name) => name.startsWith(draftStore))
  } catch {
    return false
  }
}

/** Removes the drafts in this tab if another user signs in. Null: the user has signed out. */
export const keepDraftsOf = (user: string | null): void => {
  try {
    if (user !== null && sessionStorage.getItem(ownerStore) === user) return
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(store)) sessionStorage.removeItem(name)
    if (user !== null) sessionStorage.setItem(ownerStore, user)
  } catch {
    // Without storage there are no drafts.
  }
}
