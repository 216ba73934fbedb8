/**
 * Schemas of other libraries, in the form of Standard Schema 1: an object that validates a value and says what it becomes. Only the types
 * stand here, so no library has to be installed.
 */

/** The result of a validation: the value to use, or its faults. */
export type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<SchemaIssue> }

export interface SchemaIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** A schema that takes `Input` and gives `Output` (standardschema.dev, version 1). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** What makes JSON Schema of it, where the library can (Standard JSON Schema). */
    readonly jsonSchema?: unknown
  }
}

/** Whether a value is such a schema. Libraries make them as objects or as functions. */
export const isStandardSchema = (value: unknown): value is StandardSchema => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false
  if (!("~standard" in value)) return false
  const own = value["~standard"]
  return typeof own === "object" && own !== null && "validate" in own && typeof own.validate === "function"
}

const mostIssues = 5

/** Issues as one sentence: `customer.id: must be a number; …`. Values do not stand in it unless the schema puts them there. */
export const issuesText = (issues: ReadonlyArray<SchemaIssue>): string => {
  const texts = issues.slice(0, mostIssues).map(({ message, path }) => {
    const place = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
    return `${place === "" ? "" : `${place}: `}${message}`
  })
  return texts.length === 0 ? "the schema refuses it" : texts.join("; ")
}
