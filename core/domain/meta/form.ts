/**
 * The document of a public form (`GET /api/forms/<name>`; docs/guides/forms.md#the-routes): what its page draws, made from the model restricted to the form's fields.
 */

import type { Access } from "../access/access.ts"
import type { Form } from "../form/form.ts"
import { metaModel } from "./meta.ts"
import type { MetaModel } from "./meta.ts"
import { restrictView } from "./view.ts"
import type { MetaView } from "./view.ts"

/** A form as its page gets it: the resource with the form's fields alone, and the view's hints for them. */
export interface FormDocument {
  readonly name: string
  readonly title?: string
  readonly fields: readonly string[]
  readonly thanks: string
  readonly resource: MetaModel
  readonly view: MetaView
}

/** The document of a form; `access` is that of `formAccess`. */
export const formDocument = (form: Form, access: Access): FormDocument => ({
  name: form.name,
  ...(form.title === null ? {} : { title: form.title }),
  fields: form.fields,
  thanks: form.thanks,
  resource: metaModel(access, () => null),
  view: { ...restrictView(form.view, access.restricted, false), nav: null }
})
