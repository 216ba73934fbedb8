/** Texts of decimal digits. They may be very long, and callers write them: nothing here looks at a digit twice. */

/** Where the digits end without their trailing zeros, but not before `least`. No pattern: `0+$` looks at a run of zeros once from each of them. */
export const endOfDigits = (digits: string, least = 0): number => {
  let end = digits.length
  while (end > least && digits.charCodeAt(end - 1) === 48) end--
  return end
}
