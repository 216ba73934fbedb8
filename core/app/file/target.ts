/**
 * What an upload is for: a file field that the caller may write, and the provider of its files. Access is asked with every request of an upload.
 */

import * as Result from "effect/Result"
import type { Access } from "../../domain/access/access.ts"
import { printBytes } from "../../domain/file/size.ts"
import type { FileField } from "../../domain/model/file.ts"
import type { Field } from "../../domain/model/model.ts"
import { accessDenied, invalidParameter, problem } from "../../domain/problem.ts"
import type { Problem } from "../../domain/problem.ts"
import { unknownField } from "../../domain/read/list.ts"
import type { Call } from "../ground/call.ts"
import { readParameters } from "../ground/call.ts"
import { permitted } from "../ground/core.ts"
import type { Checks, Core } from "../ground/core.ts"
import type { FileProvider, Files } from "../ground/files.ts"

/** The field that a file is for, and where its files are. */
export interface UploadTarget {
  readonly access: Access
  readonly field: Field
  readonly file: FileField
  readonly provider: FileProvider
  readonly files: Files
}

export const tooLarge = ({ maxSize }: FileField): Problem =>
  problem("payload-too-large", `The file is larger than ${printBytes(maxSize)}, the maximum for this field.`)

/** The parameters of an upload. */
export const uploadParameters = <Name extends string>(
  call: Call,
  names: readonly [Name, Name]
): Result.Result<{ readonly [name in Name]?: string }, Problem> =>
  readParameters(
    call.query,
    names,
    (name) => invalidParameter(name, "There is no such parameter.", `Use ${names.join(" and ")}.`)
  )

/** Access for a create or an update: an upload can serve either. */
export const writable = function*(call: Call, resource: string): Checks<Access> {
  const create = permitted(call, resource, "create")
  return Result.isSuccess(create) ? create.success : yield* permitted(call, resource, "update")
}

/** The field of this name, if the caller may write files to it. */
export const targetOf = function*(core: Core, access: Access, name: string | undefined): Checks<UploadTarget> {
  if (name === undefined) {
    return yield* Result.fail(invalidParameter("field", "Name the file field that the upload is for."))
  }
  const field = access.restricted.byName.get(name)
  if (field === undefined) return yield* Result.fail(invalidParameter("field", unknownField(name)))
  const { file } = field
  if (file === null) return yield* Result.fail(invalidParameter("field", `The field "${name}" takes no files.`))
  if (!access.restricted.creatable.has(name) && !access.restricted.updatable.has(name)) {
    return yield* Result.fail(accessDenied())
  }
  const { files } = core
  const provider = files?.providers.get(file.provider)
  if (files === null || provider === undefined) {
    return yield* Result.fail(problem("unavailable", "This service stores no files.", {}, { "retry-after": "60" }))
  }
  return { access, field, file, provider, files }
}
