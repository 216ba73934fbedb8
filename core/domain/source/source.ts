/**
 * Sources (docs/guides/sources.md): other instances whose resources an app shows, and which of them a caller is told about. The server stores
 * nothing of them and does not call them. The browser calls them with the person's own token.
 */

/** A source that was checked. */
export interface Source {
  /** Its resources API, without a slash at its end. */
  readonly url: string
  readonly label: string
  /** Names of its resources that the app shows. */
  readonly resources: readonly string[]
  /** Only callers holding one of these roles are told about it; null: everybody is. */
  readonly roles: readonly string[] | null
}

/** A source as callers are told about it. */
export type SourceShown = Pick<Source, "url" | "label" | "resources">

/** The sources that a caller with these roles is told about, in declared order; null: sources are turned off. */
export const sourcesFor = (sources: readonly Source[] | null, roles: readonly string[]): readonly SourceShown[] =>
  (sources ?? []).filter((source) => source.roles === null || source.roles.some((role) => roles.includes(role)))
    .map(({ label, resources, url }) => ({ url, label, resources }))
