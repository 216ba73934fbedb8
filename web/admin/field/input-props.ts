/** What every input of a field is given, whatever its kind. */

import type { MetaField } from "../../client/index.ts"
import type { Resource } from "../shell/catalogue.ts"
import type { Draft } from "./parse.ts"

export interface InputProps {
  readonly resource: Resource
  readonly field: MetaField
  /** The value of the wire, or what was typed last. */
  readonly value: unknown
  readonly onChange: (draft: Draft) => void
  readonly id?: string
  readonly label?: string
  readonly describedBy?: string | undefined
  readonly invalid?: boolean
  /** In a cell: no border, one line, and the text is selected. */
  readonly compact?: boolean
  readonly autoFocus?: boolean
  readonly disabled?: boolean
  /** What was typed first, in the place of the value. */
  readonly typed?: string
  /** Asked for when the link of a file does not open any more. */
  readonly onExpired?: () => void
}
