/**
 * JSON that this service has written itself: into a row, a token, a file. It is read back as what it was, and nothing is checked. What
 * comes from anybody else is read as `unknown` and judged.
 */
export const ownJson = <Value>(text: string): Value => JSON.parse(text)
