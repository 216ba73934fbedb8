/** What each file imports: the place of the import, and whether only types are. */
export type Graph = ReadonlyMap<string, ReadonlyMap<string, { readonly start: number; readonly types: boolean }>>
export const testsOf: (graph: Graph, files: readonly string[]) => readonly string[]
