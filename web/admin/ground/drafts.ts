/** Whose unsaved input is kept in this tab. The forms keep the input itself. */

const ownerStore = "admin:drafts-of"

/** Whether the tab keeps unsaved input of any form. */
export const hasDrafts = (): boolean => {
  try {
    return Object.keys(sessionStorage).some((name) => name.startsWith("admin:draft:"))
  } catch {
    return false
  }
}

/** Removes the drafts in this tab if another user signs in. Null: the user has signed out. */
export const keepDraftsOf = (user: string | null): void => {
  try {
    if (user !== null && sessionStorage.getItem(ownerStore) === user) return
    for (const name of Object.keys(sessionStorage)) if (name.startsWith("admin:draft")) sessionStorage.removeItem(name)
    if (user !== null) sessionStorage.setItem(ownerStore, user)
  } catch {
    // Without storage there are no drafts.
  }
}
