/** The `doctor` command: prints what an examination of the project found. Exit code 1 when something does not work. */

import { examine } from "../doctor/examine.ts"
import { printFindings, sortFindings } from "../doctor/finding.ts"
import { print, printJson } from "./output.ts"
import { loadProject, type ProjectFlags, withDatabases } from "./project.ts"

export const doctorCommand = async (
  flags: ProjectFlags & { readonly json: boolean; readonly all: boolean }
): Promise<void> => {
  const project = await loadProject(flags)
  const findings = await withDatabases(
    project.settings,
    project.config,
    (databases) => examine(project, project.settings, databases)
  )
  const count = (level: string): number => findings.filter((finding) => finding.level === level).length
  const counted = (level: string): string => `${count(level)} ${level}${count(level) === 1 ? "" : "s"}`
  if (count("error") > 0) process.exitCode = 1
  if (flags.json) return printJson({ findings: sortFindings(findings) })
  const listed = flags.all ? findings : findings.filter(({ level }) => level !== "note")
  if (listed.length > 0) print(`${printFindings(listed)}\n`)
  const notes = count("note")
  print(
    findings.length === 0
      ? "Nothing to mend."
      : `${counted("error")}, ${counted("warning")}, ${counted("note")}${
        notes === 0 || flags.all ? "" : " (see them with --all)"
      }.`
  )
}
