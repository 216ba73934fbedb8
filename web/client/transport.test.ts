import { expect, it } from "vitest"
import { isGiven } from "./transport.ts"

it.each([[undefined], [null], [""], [[]]])("leaves out %j", (value) => expect(isGiven(value)).toBe(false))
it.each([[0], [false], [" "], [[""]], [[null]], [{}]])("sends %j", (value) => expect(isGiven(value)).toBe(true))
