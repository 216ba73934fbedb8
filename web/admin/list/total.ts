/** The number of rows in words, which also say how exact it is. Pure. */

import type { Formats } from "../messages/formats.ts"
import type { Messages } from "../messages/locale.tsx"
import type { Total } from "./rows.ts"

export const totalText = ({ accuracy, count }: Total, t: Messages, format: Formats): string =>
  accuracy === "exact"
    ? format.count(count)
    : accuracy === "estimate"
    ? t.list.about(format.count(count))
    : `${format.count(count)}+, ${t.list.counting}`
