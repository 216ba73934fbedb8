/** The fields that one change of many records sets: which are left to choose, what is sent, and whether it can be. Pure. */

import type { MetaField } from "../../client/index.ts"
import type { Draft } from "../field/parse.ts"
import type { Resource } from "../model/catalogue.ts"

/** A field, and its new value as far as it is typed. Nothing typed is no value. */
export interface Changed {
  readonly field: MetaField
  readonly draft: Draft | null
}

/** Fields that a change of many may set, without those that it sets already. */
export const leftOf = ({ model }: Pick<Resource, "model">, changed: readonly Changed[]): readonly MetaField[] =>
  model.fields.filter(({ name, writable }) => writable.update && !changed.some(({ field }) => field.name === name))

/** The members that each record gets. */
export const dataOf = (changed: readonly Changed[]): { readonly [field: string]: unknown } =>
  Object.fromEntries(changed.map(({ draft, field }) => [field.name, draft?.value ?? null]))

/** Whether each field has a value that it can take. */
export const isReady = (changed: readonly Changed[]): boolean =>
  changed.length > 0 &&
  changed.every(({ draft, field }) => draft === null ? field.optional : draft.problem === null)

/** Groups of records that had the same values of these fields before, for taking a change back with few writes. */
export const formerValues = <Written extends object>(
  names: readonly string[],
  written: readonly Written[],
  before: (record: Written) => { readonly [field: string]: unknown } | undefined
): ReadonlyArray<{ readonly data: { readonly [field: string]: unknown }; readonly records: readonly Written[] }> =>
  [...Map.groupBy(written, (record) => JSON.stringify(names.map((name) => before(record)?.[name] ?? null)))].map(
    ([text, records]) => {
      const values: readonly unknown[] = JSON.parse(text)
      return { data: Object.fromEntries(values.map((value, at) => [names[at]!, value])), records }
    }
  )
