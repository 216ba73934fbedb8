/** The names of the schemas that the service itself makes: in a database of somebody else, theirs may be taken. */

export interface Schemas {
  /** Accounts, sessions and keys. */
  readonly auth: string
  /** The record of applied migrations, and all that the service keeps beside the application's tables. */
  readonly service: string
  /** The queue. */
  readonly jobs: string
  /** Subscriptions that people make, and their deliveries. */
  readonly webhooks: string
}

/** Other names for some of them. */
export type SchemasDeclaration = Partial<Schemas>

export const defaultSchemas: Schemas = { auth: "auth", service: "service", jobs: "jobs", webhooks: "webhooks" }

/** A name that needs no thought about case: lower-case letters, digits and `_`. All are of one byte. */
export const schemaName = /^[a-z_][a-z0-9_]{0,62}$/
