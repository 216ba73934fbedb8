/** The `init` command: a new project that runs as it is: with an example, empty, or made from a database. It overwrites nothing. */

import { CliFailure, print } from "./output.ts"
import { emptyFiles, exampleFiles, type NewFile, projectFiles, shownFolder, startFiles, writeNew } from "./scaffold.ts"

interface InitFlags {
  readonly folder: string
  readonly empty: boolean
  /** The address of a database whose tables become resources. */
  readonly from: string | undefined
}

const next = (folder: string): string => {
  const enter = shownFolder(folder)
  return `
Next:
${enter === "." ? "" : `  cd ${enter}\n`}  npm install
  npx service migration --apply
  npx service users create <EMAIL> --generate-password
  npx service dev`
}

const write = (folder: string, files: readonly NewFile[]): void => {
  writeNew(folder, files)
  for (const { path } of files) print(`Wrote ${path}`)
}

export const init = async ({ empty, folder, from }: InitFlags): Promise<void> => {
  if (from === undefined) {
    write(folder, [...projectFiles(folder), ...startFiles(folder), ...(empty ? emptyFiles : exampleFiles)])
    return print(next(folder))
  }
  if (empty) throw new CliFailure("--empty and --from are two ways to begin: give one of them.")
  if (!/^postgres(?:ql)?:\/\//.test(from)) {
    throw new CliFailure("--from is no address of a database. It looks like postgres://user:password@host:5432/name.")
  }
  // The tables are read before anything is written: a database that cannot be reached leaves no half project.
  const { filesOf } = await import("./introspect.ts")
  const generated = await filesOf(folder, from)
  write(folder, [...projectFiles(folder, from), ...startFiles(folder), ...generated.files])
  for (const line of generated.left) print(`  left out ${line}`)
  print(next(folder))
}
