import { expect, it } from "vitest"
import { de } from "../messages/entry/de.ts"
import { makeFormats } from "../messages/formats.ts"
import { codeIn, codesOf, findCodes } from "./codes.ts"

const countries = codesOf("country", makeFormats("de", de))
const currencies = codesOf("currency", makeFormats("de", de))
const first = (text: string, all = countries): string | undefined => findCodes(all, text)[0]?.code

it("has every code, by its name in the language", () => {
  expect(countries.length).toBeGreaterThan(240)
  expect(countries.slice(0, 3).map(({ name }) => name)).toEqual(["Afghanistan", "Ägypten", "Ålandinseln"])
})

it.each([["oster", "AT"], ["DE", "DE"], ["de", "DE"], ["deu", "DE"], ["vereinigte st", "US"], ["staaten", "US"], [
  "staat",
  "US"
]])(
  "finds %s",
  (text, code) => expect(first(text)).toBe(code)
)

it("finds currencies, and all where nothing is typed", () => {
  expect(first("yen", currencies)).toBe("JPY")
  expect(first("chf", currencies)).toBe("CHF")
  expect(findCodes(currencies, " ")).toBe(currencies)
  expect(findCodes(currencies, "Narnia")).toEqual([])
})

it.each([["de", "DE"], [" Österreich ", "AT"], ["osterreich", "AT"], ["Narnia", null], ["D", null]])(
  "takes %s for a code",
  (text, code) => expect(codeIn(countries, text)).toBe(code)
)
