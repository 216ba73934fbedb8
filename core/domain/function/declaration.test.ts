import { expect, it } from "vitest"
import { type ApiFunction, mayCall } from "./declaration.ts"

const caller = { id: "ann", roles: ["sales", "staff"], tenant: null }

/** A rule of plain JavaScript, which may answer anything. */
const answering = (answer: unknown): ApiFunction["roles"] => () => answer as boolean

it.each<readonly [string, ApiFunction["roles"], boolean]>([
  ["everybody", true, true],
  ["one of the caller's roles", ["boss", "staff"], true],
  ["other roles", ["boss"], false],
  ["no role", [], false],
  ["whom a rule allows", ({ caller: { id } }) => id === "ann", true],
  ["whom a rule denies", ({ caller: { id } }) => id === "bob", false],
  ["whom a rule answers something else than true", answering("true"), false],
  ["whom a rule answers later", answering(Promise.resolve(true)), false],
  ["whom a rule throws at", () => {
    throw new Error("no")
  }, false]
])("a function is for %s", (_, roles, allowed) => expect(mayCall({ roles }, caller)).toBe(allowed))
