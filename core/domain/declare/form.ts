/**
 * Declarations of public forms (`docs/guides/forms.md`). It keeps what was written; what a form may say is decided by `compile/form.ts`.
 */

/** A page that anybody may fill in to create a record (docs/guides/forms.md). */
export interface FormDeclaration<Name extends string = string> {
  /** Its address is `/-/forms/<name>`: lower-case letters, digits, `-` and `_`; unique in the app. */
  readonly name: string
  /** What a visitor fills in, in order. */
  readonly fields: readonly Name[]
  /** Shown after the form was sent. */
  readonly thanks: string
  /** The page's heading; the view's singular name when left out. */
  readonly title?: string
  /** Submissions per client and minute; 1 to 1,000, default 5. */
  readonly perMinute?: number
  /** Origins whose pages may frame the form's page, such as `https://www.example.org`. Default none. */
  readonly embed?: readonly string[]
}

/** Settings of all forms. */
export interface FormsDeclaration {
  /** Zero bits of the proof of work; 1 to 30, default 21. Each bit doubles the work of a visitor's device. */
  readonly difficulty?: number
  /** The tenant that submissions belong to; that of `auth` when left out. */
  readonly tenant?: string | number
}
