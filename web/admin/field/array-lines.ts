/** Several lines of text as the elements of a list. Pure. */

import type { MetaField } from "../../client/index.ts"
import type { Messages } from "../messages/locale.tsx"
import { short } from "../model/plain.ts"
import { parseField } from "./exact.ts"
import type { Draft } from "./parse.ts"

/** Elements of a pasted text, a line each. The first line that is wrong refuses all, so that none is lost. */
export const parseLines = (element: MetaField, text: string, t: Pick<Messages, "field">): Draft => {
  const values: unknown[] = []
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.trim() === "") continue
    const { problem, value } = parseField(element, line.trim(), t)
    if (problem !== null) return { value: undefined, problem: `“${short(line.trim(), 40)}”: ${problem}` }
    values.push(value)
  }
  return { value: values, problem: null }
}
