// The programs of the system that some tests need, and where to look for them. They are no packages of npm. Without one
// of them its tests are skipped, and `npm test` says so at its end; in CI a missing one is a failure.
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

/**
 * `names`: what the program may be called. `variable`: a variable of the environment that says where it is, if there is
 * one. `package`: what has it on Debian. `tests`: what cannot be tested without it.
 */
export const programs = {
  // The form without windows takes a quarter less of the processor. Deep runs take the whole browser.
  chromium: {
    names: ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
    variable: "CHROMIUM_PATH",
    package: "chromium-headless-shell",
    tests: "everything in a browser"
  },
  pgbouncer: { names: ["pgbouncer"], package: "pgbouncer", tests: "connections through a pooler" },
  curl: { names: ["curl"], package: "curl", tests: "the commands of the guides" },
  radosgw: { names: ["radosgw"], package: "radosgw", tests: "files in a bucket" },
  "ceph-mon": { names: ["ceph-mon"], package: "ceph-mon", tests: "files in a bucket" },
  "ceph-osd": { names: ["ceph-osd"], package: "ceph-osd", tests: "files in a bucket" }
}

/** Folders beside those of PATH: a user's PATH has no `sbin`. */
const folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"]

const isExecutable = (path) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The path of a program, or null where it is not installed. `names` asks for some of its forms only. */
export const findProgram = (key, names = programs[key].names) => {
  const { variable } = programs[key]
  const named = variable === undefined ? undefined : process.env[variable]
  if (named !== undefined && named !== "") return named
  const places = [...(process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== ""), ...folders]
  return names.flatMap((name) => places.map((folder) => join(folder, name))).find(isExecutable) ?? null
}

/** What is missing here, one line a program, to be shown to people. */
export const missingPrograms = () =>
  Object.keys(programs).filter((key) => findProgram(key) === null).map((key) =>
    `${key} is not installed (on Debian: apt-get install ${programs[key].package}). Not tested: ${programs[key].tests}.`
  )
