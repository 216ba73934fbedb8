/** Amounts of money: which field of a record has the currency of another. Amounts of several currencies are never added up. */

/** Names of decimals that are sums of money. */
const amounts = /total|price|amount|cost|sum|value|fee|tax|discount|credit|margin|revenue|balance|paid|due|net|gross/

/**
 * The field with the currency of an amount, or null. A decimal is an amount where its name says so and its record has exactly one field of the kind
 * `currency`.
 */
export const currencyOf = <F extends { readonly name: string; readonly kind: string }>(
  field: F,
  fields: readonly F[]
): F | null => {
  if (field.kind !== "decimal" || !amounts.test(field.name)) return null
  const currencies = fields.filter(({ kind }) => kind === "currency")
  return currencies.length === 1 ? currencies[0]! : null
}
