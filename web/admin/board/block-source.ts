/** The types of blocks, and the address of the list of a block's records. Pure. */

import type { MetaBlock } from "../../client/index.ts"

export type BlockOf<Of extends MetaBlock["of"]> = Extract<MetaBlock, { readonly of: Of }>

/** The address of the list with a block's records. */
export const listOf = (
  { filter, resource, ...rest }: { readonly resource: string; readonly filter: string; readonly sort?: string }
): string => {
  const query = new URLSearchParams()
  if (filter !== "") query.set("filter", filter)
  if (rest.sort !== undefined && rest.sort !== "") query.set("order", rest.sort)
  return `/${resource}${query.size === 0 ? "" : `?${query.toString()}`}`
}
