import { expect, it } from "vitest"
import { hrefFor, linksFor } from "./link.ts"

it("fills in values, escaped", () => {
  expect(hrefFor("https://t.example/{no}?q={name}", { no: "9007199254740993", name: "a b/c?&#" }))
    .toBe("https://t.example/9007199254740993?q=a%20b%2Fc%3F%26%23")
  expect(hrefFor("mailto:{email}", { email: "a@b.example?cc=x" })).toBe("mailto:a%40b.example%3Fcc%3Dx")
  expect(hrefFor("/orders", {})).toBe("/orders")
  expect(hrefFor("/x/{a}", { a: false })).toBe("/x/false")
})

it.each([undefined, null, "", ".", "..", {}, ["a"]])("makes no link of the value %j", (value) => {
  expect(hrefFor("/{a}/evil.example", { a: value })).toBeNull()
})

it("leaves out links without a value, and keeps the others", () => {
  expect(linksFor([{ label: "A", href: "/a/{x}" }, { label: "B", href: "/b/{y}" }], { y: 1 }))
    .toEqual([{ label: "B", href: "/b/1" }])
})
