/** Where files of tests are that are many and short-lived: in memory, where Linux has plenty. Some file systems are slow to make files after others were deleted. */

import { existsSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"

const folder = "/dev/shm"
const enough = 4 * 2 ** 30

/** A folder in memory that everybody may write to, or null where this machine has none or little room. */
export const memoryFolder = (): string | null => {
  if (process.platform !== "linux" || !existsSync(folder)) return null
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize > enough && process.availableMemory() > enough ? folder : null
}

/** The same, or the usual folder for temporary files. What is made there has to be removed. */
export const quickFolder = (): string => memoryFolder() ?? tmpdir()
