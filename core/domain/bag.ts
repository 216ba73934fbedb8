/** An object from outside, with members of any name and kind. It says nothing about what they ought to be. */

export type Bag = { readonly [name: string]: unknown }

/** Whether a value is an object with members: neither null nor a list. */
export const isBag = (value: unknown): value is Bag =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string")

/** A list from outside. `Array.isArray` would give its elements the type `any`. */
export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)

/** Whether a value is a function. What it takes and gives is as it was declared: nothing can tell before it is called. */
export const isFunction = <Declared extends (...args: never) => unknown>(value: unknown): value is Declared =>
  typeof value === "function"
