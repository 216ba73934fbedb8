/** The `init` command: a new project with an example resource that runs as it is. It overwrites nothing. */

import { print } from "./output.ts"
import { exampleFiles, projectFiles, shownFolder, writeNew } from "./scaffold.ts"

export const init = (folder: string): void => {
  const files = [...projectFiles(folder), ...exampleFiles]
  writeNew(folder, files)
  for (const { path } of files) print(`Wrote ${path}`)
  const enter = shownFolder(folder)
  print(`
Next:
${enter === "." ? "" : `  cd ${enter}\n`}  npm install
  npx service migration --apply
  npx service users create <EMAIL> --generate-password
  npx service dev`)
}
