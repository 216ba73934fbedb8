/** Which kind of JSON a value is, as the compiler needs it: `Array.isArray` tells it nothing about lists that cannot be changed. */

import type { Json } from "./kind.ts"

export type JsonObject = { readonly [name: string]: Json }

export const isJsonList = (json: Json | undefined): json is readonly Json[] => Array.isArray(json)

/** Whether JSON is an object: neither null nor a list. */
export const isJsonObject = (json: Json | undefined): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)
