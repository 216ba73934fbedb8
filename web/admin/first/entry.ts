/**
 * Where the page begins. It asks for the token at once, and draws the rows of a list as plain elements before the code of the app is run, which takes longer than
 * the service does. For whoever was not signed in here, and at every other address, the app begins at once.
 */

import "../style/fonts.css"
import "../style/tokens.css"
import "../style/base.css"
import { config, prefix } from "../config.ts"
import { endPlain, wasIn } from "../ground/plain-rows.ts"
import { beginToken } from "../model/begun.ts"

/** Longest time for which the app waits for its plain rows, in milliseconds. */
const longestMs = 1_000

const path = location.pathname.slice(prefix.length)
const isList = /^\/\w+$/.test(path)

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

/** This script runs as soon as it is there, which may be before the page is. */
const page = new Promise<void>((done) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => done())
  else done()
})

/** Ends when plain rows are painted, or cannot be drawn. */
const drawRows = async (): Promise<void> => {
  try {
    const { drawPlain } = await import("./plain.ts")
    await page
    await drawPlain()
  } catch {
    // The app tells what is wrong, and draws its rows itself.
  }
}

const begin = async (): Promise<void> => {
  if (config.signIn === "password" && path !== "/-/reset") beginToken()
  if (config.signIn === "password" && isList && wasIn()) await Promise.race([drawRows(), wait(longestMs)])
  await page
  try {
    await import("../main.tsx")
  } catch (error) {
    // Rows that nothing will ever answer for are worse than none.
    endPlain()
    reportError(error)
  }
}
void begin()
