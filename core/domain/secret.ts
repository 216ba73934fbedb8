/**
 * Secrets of a deployment. While one takes the place of another, processes know both: the first seals and signs, and each opens what it has sealed.
 */

/** One secret, or several of which the first seals. */
export type Secrets = string | readonly [string, ...string[]]

/** All of them, none twice, the first one first. */
export const allSecrets = (secrets: Secrets): readonly [string, ...string[]] => {
  if (typeof secrets === "string") return [secrets]
  const [first, ...rest] = secrets
  return [first, ...new Set(rest.filter((each) => each !== first))]
}

/** A secret, or that of somebody else where none is given, with further ones that only open. */
export const withAccepted = (
  own: string | null,
  accepted: readonly string[],
  otherwise: Secrets
): readonly [string, ...string[]] => {
  const [first, ...rest] = own === null ? allSecrets(otherwise) : [own]
  return allSecrets([first, ...rest, ...accepted])
}

/** What is wrong with secrets that plain JavaScript may give; null: nothing. */
export const secretsProblem = (given: unknown, least: number): string | null => {
  const all: readonly unknown[] = Array.isArray(given) ? given : [given]
  return all.length > 0 && all.every((each) => typeof each === "string" && each.length >= least)
    ? null
    : Array.isArray(given)
    ? `not a list of texts of at least ${least} characters`
    : `not a text of at least ${least} characters`
}
