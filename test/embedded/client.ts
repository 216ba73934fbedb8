/**
 * One more process that uses an embedded database, for tests: opens it, prints what it got as a line of JSON, and obeys the
 * lines it reads: `release` gives the database up and answers `released`. It imports nothing but the module under test, which
 * it is told, so that it runs in a copy of the project too.
 *
 * Arguments: module file, data folder, options as JSON.
 */
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"

const [file = "", folder = "", options = "{}"] = process.argv.slice(2)
const { openEmbedded, EmbeddedDatabaseError } = await import(pathToFileURL(file).href)
const begin = Date.now()
try {
  const database = await openEmbedded(folder, JSON.parse(options))
  const { host, port, user, url } = database
  console.log(JSON.stringify({ host, port, user, url, took: Date.now() - begin }))
  const forget = options.includes("\"forget\"")
  if (!forget) {
    for await (const line of createInterface({ input: process.stdin })) {
      if (line === "reattached") console.log(String(database.reattached))
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
      final: known && (error as { final?: unknown }).final === true,
      took: Date.now() - begin
    })
  )
  process.exitCode = 1
}
