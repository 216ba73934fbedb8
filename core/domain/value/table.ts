/** Lists and tables of constants: which of them a value is, as the compiler needs it. */

/** Whether a value is one of some constants, which is what `includes` cannot tell the compiler. */
export const isOneOf = <const Value>(values: readonly Value[], value: unknown): value is Value =>
  values.some((each) => each === value)

/** Whether a name is a member of a table of ours: one that it has itself. */
export const isKeyOf = <Table extends object>(table: Table, name: PropertyKey): name is keyof Table =>
  Object.hasOwn(table, name)

/** The names in a table of ours, which has no members but those of its type: `Object.keys` cannot know that. */
export const keysOf = <Table extends object>(table: Table): ReadonlyArray<keyof Table & string> =>
  Object.keys(table) as Array<keyof Table & string>
