/** How many rows there are, said as honestly as it is known. Pure. */

import type { Formats } from "../messages/formats.ts"
import type { Messages } from "../messages/locale.tsx"
import type { Total } from "./rows.ts"

export const totalText = ({ accuracy, count }: Total, t: Messages, format: Formats): string =>
  accuracy === "exact"
    ? format.count(count)
    : accuracy === "estimate"
    ? t.list.about(format.count(count))
    : `${format.count(count)}+, ${t.list.counting}`
