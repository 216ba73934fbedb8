/**
 * Why the service refused a form: by field, by row, or as a whole. A reason is over once the value that it is about is another. It saves nothing.
 */

import { useState } from "react"
import { ProblemError } from "../../client/index.ts"
import { problemText } from "../ground/problem.tsx"
import { useMessages } from "../messages/locale.tsx"
import { without } from "./draft.ts"
import { focusProblem } from "./fields.tsx"
import { refusalsLeft, type RowRefusals, rowRefusals, type RowsByRelation } from "./rows.ts"

export interface Refusals {
  /** By field. */
  readonly fields: { readonly [field: string]: string }
  /** By `relation/key/field`. */
  readonly rows: RowRefusals
  /** A refusal that belongs to no field and no row. Null: there is none. */
  readonly whole: unknown
  /** Shows a refusal where it belongs, and moves the focus there. `before`: the number of operations of the batch before those of the rows. */
  readonly refuse: (problem: unknown, rows: RowsByRelation, before: number) => void
  /** Shows a failure that belongs to no field. */
  readonly fail: (problem: unknown) => void
  /** Shows what is wrong with fields before anything is sent. */
  readonly put: (fields: { readonly [field: string]: string }) => void
  readonly changeField: (field: string) => void
  readonly changeRows: (before: RowsByRelation, after: RowsByRelation) => void
  readonly clear: () => void
}

export const useRefusals = (): Refusals => {
  const t = useMessages()
  const [fields, setFields] = useState<Refusals["fields"]>({})
  const [rows, setRows] = useState<RowRefusals>({})
  const [whole, setWhole] = useState<unknown>(null)
  return {
    fields,
    rows,
    whole,
    refuse: (problem, sent, before) => {
      const inRows = problem instanceof ProblemError && problem.operation !== null
        ? rowRefusals(sent, problem.operation - before, problem.fields, problemText(problem, t))
        : null
      const own = problem instanceof ProblemError && inRows === null ? problem.fields : {}
      setFields(own)
      setRows(inRows ?? {})
      setWhole(inRows === null && Object.keys(own).length === 0 ? problem : null)
      // After the problem is drawn below its field.
      setTimeout(() => focusProblem({ ...own, ...inRows }))
    },
    fail: setWhole,
    put: setFields,
    changeField: (field) => {
      setFields((before) => without(before, field))
      setWhole(null)
    },
    changeRows: (before, after) => {
      setRows((said) => refusalsLeft(said, before, after))
      setWhole(null)
    },
    clear: () => {
      setFields({})
      setRows({})
      setWhole(null)
    }
  }
}
