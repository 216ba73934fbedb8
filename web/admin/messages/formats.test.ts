import { expect, it } from "vitest"
import { ar } from "./entry/ar.ts"
import { de } from "./entry/de.ts"
import { en } from "./entry/en.ts"
import { es } from "./entry/es.ts"
import { fr } from "./entry/fr.ts"
import { makeFormats } from "./formats.ts"

/** A time of the zone that the tests run in, whichever it is. */
const local = (...parts: readonly [month: number, day: number, hour?: number, minute?: number]): string =>
  new Date(2026, parts[0] - 1, parts[1], parts[2] ?? 0, parts[3] ?? 0).toISOString()

const now = Date.parse(local(11, 5, 15, 30))

it.each([
  [local(11, 5, 15, 29), "1 min ago"],
  [local(11, 5, 9, 41), "today, 09:41"],
  [local(11, 5, 18, 0), "today, 18:00"],
  [local(11, 4, 9, 41), "yesterday, 09:41"],
  [local(11, 3, 9, 41), "3 Nov 2026, 09:41"],
  [local(9, 30, 22, 5), "30 Sept 2026, 22:05"],
  // Days, as they are where a column of times holds nothing else.
  [local(11, 5), "today"],
  [local(11, 4), "yesterday"],
  [local(11, 3), "3 Nov 2026"],
  [new Date(Date.parse(local(11, 3)) + 1).toISOString(), "3 Nov 2026, 00:00"],
  ["no time", "no time"]
])("says %s as people do", (iso, text) => {
  expect(makeFormats("en-GB", en).moment(iso, now)).toBe(text)
})

it.each([
  ["de", de, "gestern, 09:41", "3. Nov. 2026, 09:41", "3. Nov. 2026"],
  ["fr", fr, "hier, 09:41", "3 nov. 2026, 09:41", "3 nov. 2026"],
  ["es", es, "ayer, 09:41", "3 nov 2026, 09:41", "3 nov 2026"],
  ["ar", ar, "أمس، 09:41 ص", "3 نوفمبر 2026، 09:41 ص", "3 نوفمبر 2026"]
])("says the hour of other days in %s", (locale, texts, yesterday, other, whole) => {
  const { moment } = makeFormats(locale, texts)
  expect([moment(local(11, 4, 9, 41), now), moment(local(11, 3, 9, 41), now), moment(local(11, 3), now)])
    .toEqual([yesterday, other, whole])
})

it.each([
  ["en-GB", en, "1 byte", "105 bytes", "1.5 kB"],
  ["de", de, "1 Byte", "105 Byte", "1,5 kB"],
  ["fr", fr, "1 octet", "105 octets", "1,5 ko"],
  ["es", es, "1 byte", "105 bytes", "1,5 kB"]
])("says bytes with the plural of %s", (locale, texts, one, some, many) => {
  const { bytes } = makeFormats(locale, texts)
  expect([1, 105, 1_500].map(bytes).map((each) => each.replace(/[\u00a0\u202f]/g, " "))).toEqual([one, some, many])
})

it.each([
  [0, "0"],
  [41.26, "41.3"],
  [320, "320"],
  [1_000, "1.0K"],
  [48_120, "48.1K"],
  [999_999, "1.0M"],
  [3_981_200, "3.98M"],
  [4_000_000, "4.0M"],
  [-3_981_200, "-3.98M"]
])("says %d in short with the digits that can be believed", (value, text) => {
  expect(makeFormats("en-GB", en).short(value)).toBe(text)
})

it.each([
  ["de", de, 48_123, "48.100"],
  ["de", de, 3_981_200, "3,98 Mio."],
  ["en-IN", en, 3_981_200, "39.8L"]
])("says numbers in short in %s", (locale, texts, value, text) => {
  expect(makeFormats(locale, texts).short(value).replace(/[\u00a0\u202f]/g, " ")).toBe(text)
})

it.each([
  [0.084, "+8.4%"],
  [-0.016, "-1.6%"],
  [0.347, "+35%"],
  [9.9, "+990%"],
  [2588.784, ">999%"],
  [0, "0%"]
])("says a change of %d as it can be believed", (share, text) => {
  expect(makeFormats("en-GB", en).percent(share)).toBe(text)
})
