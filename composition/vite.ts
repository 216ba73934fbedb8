/**
 * Loads vite, which loads configurations and bundles them. Its native part is an optional package of npm: where that was left out, the error
 * says what is missing. A built bundle needs none of it.
 */

/** Vite could not be loaded, because a package of it is missing. */
class ViteMissing extends Error {
  override readonly name = "ViteMissing"
}

export const loadVite = async (): Promise<typeof import("vite")> => {
  try {
    return await import("vite")
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    if (!/native binding|Cannot find (?:module|package)/i.test(text)) throw error
    throw new ViteMissing(
      `The bundler is not complete: its optional package for ${process.platform}-${process.arch} is missing`
        + " (@rolldown/binding-…). Install the packages without --omit=optional, on the platform where this command runs."
        + "\nWithout it `service serve` runs a bundle that `service build` made elsewhere."
    )
  }
}
