/** Types of guides.mjs, for the tests. */
import type { Block } from "../web/admin/guide/tree.ts"
export declare const guideFiles: () => ReadonlyMap<string, string>
export declare const readGuide: (
  file: string
) => { readonly title: string; readonly blocks: readonly Block[]; readonly pictures: readonly string[] }
