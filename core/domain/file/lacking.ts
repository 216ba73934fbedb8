/**
 * What a stored file lacks of what its field declares now: variants, a placeholder, values of other fields. It compares a record with the declaration. It
 * cannot see that a variant changed under its name: files never change at their addresses, so a changed variant needs a new name.
 */

import type { FileField, Variant } from "../model/file.ts"
import type { Cell } from "../value/kind.ts"
import { isAccepted, isProcessed, typeOfExtension } from "./type.ts"
import { extensionOf } from "./uri.ts"
import type { StoredFile, StoredVariant } from "./uri.ts"
import { extensionOfFormat } from "./variant.ts"

export interface Lacking {
  readonly variants: readonly Variant[]
  /** Fields that its processors fill and that are null. */
  readonly derived: readonly string[]
  readonly placeholder: boolean
}

const isVariant = ({ format, name }: Variant, stored: StoredVariant): boolean =>
  stored.name === name && stored.extension === extensionOfFormat(format)

/** What a file lacks; null: nothing. `cellOf` gives the cells of its record by the names of fields. */
export const lackingOf = (field: FileField, file: StoredFile, cellOf: (name: string) => Cell): Lacking | null => {
  const type = typeOfExtension(extensionOf(file.path))
  const isImage = isProcessed(type)
  const variants = isImage
    ? field.variants.filter((variant) => !file.variants.some((stored) => isVariant(variant, stored)))
    : []
  const derived = [...field.derive].flatMap(([name, processor]) => {
    const applies = processor.of === "custom"
      ? processor.accepts === null || isAccepted(processor.accepts, type)
      : isImage || processor.of === "size" || processor.of === "type"
    return applies && cellOf(name) === null ? [name] : []
  })
  const placeholder = isImage && field.placeholder !== null && cellOf(field.placeholder) === null
  return variants.length === 0 && derived.length === 0 && !placeholder ? null : { variants, derived, placeholder }
}

/** The part of a field that makes what is lacking, and nothing else. The stored file stays as it was uploaded. */
export const partOf = (field: FileField, { derived, placeholder, variants }: Lacking): FileField => ({
  ...field,
  variants,
  original: null,
  derive: new Map([...field.derive].filter(([name]) => derived.includes(name))),
  placeholder: placeholder ? field.placeholder : null
})

/** A file with variants that were made for it, and those of the same names that they replace. */
export const withVariants = (
  file: StoredFile,
  made: readonly StoredVariant[]
): { readonly file: StoredFile; readonly replaced: readonly StoredVariant[] } => {
  const names = new Set(made.map(({ name }) => name))
  return {
    file: { ...file, variants: [...file.variants.filter(({ name }) => !names.has(name)), ...made] },
    replaced: file.variants.filter(({ name }) => names.has(name))
  }
}
