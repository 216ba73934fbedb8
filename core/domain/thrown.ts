/** What may be said of a thrown value. Its text may quote values of records, so a log gets its class instead. */

/** The class of an error; of another value its type. */
export const classOf = (thrown: unknown): string => thrown instanceof Error ? thrown.constructor.name : typeof thrown
