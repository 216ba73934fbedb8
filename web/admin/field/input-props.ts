/** The props of every input of a field, of any kind. */

import type { MetaField } from "../../client/index.ts"
import type { Resource } from "../model/catalogue.ts"
import type { Draft } from "./parse.ts"

export interface InputProps {
  readonly resource: Resource
  readonly field: MetaField
  /** The value in wire form, or the text that was typed last. */
  readonly value: unknown
  /** The value that the record has, where there is one. */
  readonly held?: unknown
  readonly onChange: (draft: Draft) => void
  readonly id?: string
  readonly label?: string | undefined
  readonly describedBy?: string | undefined
  readonly invalid?: boolean
  /** True in a cell: no border, one line, and the text is selected. */
  readonly compact?: boolean
  readonly autoFocus?: boolean
  readonly disabled?: boolean
  /** The first typed letter, shown instead of the value. */
  readonly typed?: string | undefined
  /** Called when the link of a file has ended: reads the record again. */
  readonly onExpired?: () => Promise<void>
}
