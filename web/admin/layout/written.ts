/** A write of a moved record, on the condition of the version that is shown. */

import { ProblemError } from "../../client/index.ts"
import { keyPartsOf, type Resource } from "../model/catalogue.ts"
import { type AnyRecord, resourceClient } from "../model/client.ts"
import { columnId } from "./columns.ts"

interface Writing {
  readonly resource: Resource
  readonly key: string
  /** The record as it is shown. */
  readonly record: AnyRecord
  readonly values: { readonly [field: string]: unknown }
  /** What the page shows of records. */
  readonly fields: readonly string[]
  readonly expand: readonly string[]
}

/**
 * Writes the values, also where somebody else changed other fields meanwhile: what they changed is kept. `theirs`: they changed one of these fields, nothing is
 * written, and theirs counts.
 */
export const writeMoved = async ({ expand, fields, key, record, resource, values }: Writing): Promise<
  | { readonly written: AnyRecord; readonly theirs?: undefined }
  | { readonly theirs: AnyRecord; readonly written?: undefined }
> => {
  const client = resourceClient(resource.name)
  const parts = keyPartsOf(key)
  const put = (etag: string) => client.update(parts, values, { etag })
  try {
    return { written: { ...record, ...await put(record.etag) } }
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 412) throw error
    const theirs = await client.get(parts, { fields, expand })
    return Object.keys(values).every((name) => columnId(theirs[name]) === columnId(record[name]))
      ? { written: { ...theirs, ...await put(theirs.etag) } }
      : { theirs }
  }
}
