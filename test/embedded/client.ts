/**
 * One more process that uses an embedded database, for tests: opens it, prints what it got as a line of JSON, and obeys the
 * lines it reads: `release` gives the database up and answers `released`, `reattached` answers how often it was found again, `held`
 * whether a supervisor counts this client now. It imports nothing but the module under test, which it is told, so that it runs in a
 * copy of the project too.
 *
 * Arguments: module file, data folder, options as JSON.
 */
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"

const [file = "", folder = "", options = "{}"] = process.argv.slice(2)
const { openEmbedded, EmbeddedDatabaseError } = await import(pathToFileURL(file).href)
let lost = 0
const log = (line: string): void => {
  if (line.includes("is gone")) lost += 1
}
try {
  const database = await openEmbedded(folder, { ...JSON.parse(options), log })
  const { host, port, user, url } = database
  console.log(JSON.stringify({ host, port, user, url }))
  const forget = options.includes("\"forget\"")
  if (!forget) {
    for await (const line of createInterface({ input: process.stdin })) {
      if (line === "reattached") console.log(String(database.reattached))
      if (line === "held") {
        // The end of a connection that was there before the question is noticed within these turns of the event loop.
        for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve))
        console.log(String(lost === database.reattached))
      }
      if (line !== "release") continue
      await database.release()
      console.log("released")
      break
    }
    process.exit(0)
  }
} catch (error) {
  const known = error instanceof EmbeddedDatabaseError
  console.log(
    JSON.stringify({
      error: String(error),
      final: known && (error as { final?: unknown }).final === true
    })
  )
  process.exitCode = 1
}
