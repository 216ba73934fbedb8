/** How the records of a list are laid out, and by which fields, as saved views hold it (docs/reference/saved-views.md#layouts). */

/** The layout of a view; null: the rows of a list, one by one. Members that say the usual are absent. */
export type Layout =
  | {
    readonly of: "list"
    readonly group: readonly string[]
    /** Groups that are folded, by their values. With `*` among them, all but the others are. */
    readonly folded?: readonly string[]
  }
  | {
    readonly of: "board"
    readonly by: string
    /** Most records of a column, by its value. It is shown, and refuses nothing. */
    readonly limits?: { readonly [value: string]: number }
  }
  | { readonly of: "calendar"; readonly by: readonly string[]; readonly span?: "week" }
  | { readonly of: "gallery"; readonly by: string }
  | null
