/**
 * Public forms (docs/guides/forms.md): a compiled form, the caller who sends it, and the access of a submission. It reads no request and
 * makes no challenge.
 */

import type { Access } from "../access/access.ts"
import { creatableBit, readableBit, restrictModel } from "../access/restrict.ts"
import type { Model } from "../model/model.ts"
import type { View } from "../model/view.ts"

/** A compiled form. */
export interface Form {
  /** Its address: `/-/forms/<name>`. */
  readonly name: string
  readonly model: Model
  readonly view: View
  /** Names of the fields that a visitor fills in, in order. */
  readonly fields: readonly string[]
  readonly thanks: string
  /** Null: the view's singular name. */
  readonly title: string | null
  /** Submissions per client and minute. */
  readonly perMinute: number
  /** Origins whose pages may frame the form's page. */
  readonly embed: readonly string[]
}

/** Forms by name. */
export type Forms = ReadonlyMap<string, Form>

/** Settings of all forms of a service. */
export interface FormSettings {
  /** Zero bits that a proof of work begins with. */
  readonly difficulty: number
  /** The tenant that submissions belong to, or null. */
  readonly tenant: string | null
}

/**
 * The default proof of work of a form. Each bit doubles the work: 21 bits take about half a second in a browser's worker on a laptop, and about two
 * seconds on a phone.
 */
export const defaultDifficulty = 21

/**
 * What a visitor may do with a form's resource: create records with the form's fields, whatever else the role `anonymous` may write. Nothing is
 * readable, so no answer shows a record. `access` is that of the visitor.
 */
export const formAccess = (form: Form, access: Access): Access => {
  const marks = form.model.fields.map(({ name }) =>
    form.fields.includes(name) && access.restricted.creatable.has(name) ? readableBit | creatableBit : 0
  )
  return {
    ...access,
    restricted: restrictModel(form.model, marks, false),
    // A record that an anonymous visitor creates has no owner.
    createOwn: false
  }
}
