/** What came from outside as an object: members of any name and kind. It says nothing about what they ought to be. */

export type Bag = { readonly [name: string]: unknown }

/** Whether a value is an object with members: neither null nor a list. */
export const isBag = (value: unknown): value is Bag =>
  typeof value === "object" && value !== null && !Array.isArray(value)
