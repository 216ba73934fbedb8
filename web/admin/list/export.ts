/** All records of a list as a file, as the service streams it. */

import { sayProblem } from "../ground/problem.tsx"
import { noticeFailure } from "../ground/session.ts"
import { say } from "../ground/toasts.tsx"
import type { Formats } from "../messages/formats.ts"
import type { Messages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { saveAnswer } from "../task/save.ts"

interface ExportOptions {
  readonly resource: Resource
  readonly as: "csv" | "ndjson"
  readonly filter: string
  readonly order: string
  readonly deleted: boolean
  readonly fields: readonly string[]
  readonly args: { readonly [name: string]: unknown } | undefined
  readonly t: Messages
  readonly format: Formats
}

/** Languages whose spreadsheets use semicolons as separators, because their numbers have decimal commas. */
const bySemicolon = /^(?:de|fr|es)\b/

/** Downloads all matching records as the service streams them. */
export const exportRows = (options: ExportOptions): void => {
  const { args, as, deleted, fields, filter, format, order, resource, t } = options
  const query = {
    format: as,
    filter,
    order_by: order,
    fields,
    ...(args === undefined ? {} : { args }),
    ...(deleted ? { show_deleted: true } : {}),
    ...(as === "csv" && bySemicolon.test(format.locale) ? { delimiter: "semicolon" } : {})
  }
  say(t.list.exporting)
  saveAnswer({ method: "GET", path: `/${resource.name}:export`, query }, `${resource.name}.${as}`).then(
    () => say(t.list.exported),
    (error: unknown) => {
      noticeFailure(error)
      sayProblem(error, t)
    }
  )
}
