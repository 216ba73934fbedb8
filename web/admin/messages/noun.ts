/** Nouns within sentences, and after numbers in languages that have more than two forms. Pure. */

/** A label within a sentence: "Order" becomes "order", while "API key" stays. */
export const noun = (label: string): string => /^\p{Lu}(?!\p{Lu})/u.test(label) ? label.toLowerCase() : label

/** A number with its noun, by the plural rules of a language (CLDR). `#` in a form stands for the number. */
export const counted = (language: string, forms: { readonly [rule: string]: string }) => {
  const rules = new Intl.PluralRules(language)
  return (count: number, numeral: string): string =>
    (forms[rules.select(count)] ?? forms["other"]!).replace("#", numeral)
}

/** A counted noun in Arabic: one and two have no digit, three to ten take the plural, most others the accusative. */
export const arabicCount = (one: string, two: string, few: string, many: string) => {
  const rules = new Intl.PluralRules("ar")
  return (count: number, numeral = String(count)): string => {
    const form = rules.select(count)
    return form === "one"
      ? one
      : form === "two"
      ? two
      : `${numeral} ${form === "few" ? few : form === "many" ? many : one}`
  }
}
