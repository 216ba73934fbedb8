/** Nouns after numbers, in languages that have more than two forms. */

const arabic = new Intl.PluralRules("ar")

/** A counted noun in Arabic: one and two have no digit, three to ten take the plural, most others the accusative. */
export const arabicCount =
  (one: string, two: string, few: string, many: string) => (count: number, shown = String(count)): string => {
    const form = arabic.select(count)
    return form === "one"
      ? one
      : form === "two"
      ? two
      : `${shown} ${form === "few" ? few : form === "many" ? many : one}`
  }
