/** The members of a record that somebody gave: those that are neither null nor undefined. For settings that may be left out and may not be undefined. */
export const given = <Members extends object>(
  members: Members
): { readonly [Name in keyof Members]?: NonNullable<Members[Name]> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined)) as {
    readonly [Name in keyof Members]?: NonNullable<Members[Name]>
  }
