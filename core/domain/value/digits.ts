/** Texts of decimal digits. Callers write them, and they may be very long, so every function looks at each digit once only. */

/**
 * Where the digits end without their trailing zeros, but not before `least`. It uses no pattern, as `0+$` would look at a run of zeros
 * again from each of them.
 */
export const endOfDigits = (digits: string, least = 0): number => {
  let end = digits.length
  while (end > least && digits.charCodeAt(end - 1) === 48) end--
  return end
}
