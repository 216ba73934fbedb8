/**
 * Refuses a Node that is too old, in one sentence and before anything newer is used. The entries of the package import it before all else.
 * No module of the package may import a name from Node that Node 16 lacks: that would be a SyntaxError before any line runs.
 */

/** The oldest Node that can run the service, as `engines` of package.json has it. */
const oldest = [24, 2] as const

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  const text = `resource-admin needs Node ${oldest.join(".")} or newer, and this is Node ${process.versions.node}.`
  // Nothing here is worth a stack.
  throw Object.assign(new Error(text), { stack: text })
}

export {}
