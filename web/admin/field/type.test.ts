import { expect, it } from "vitest"
import { de } from "../messages/de.ts"
import { en } from "../messages/en.ts"
import { acceptedNames, typeName } from "./type.ts"

it.each([
  ["image/jpeg", "JPEG"],
  ["application/pdf", "PDF"],
  ["text/plain", "plain text"],
  ["text/csv", "CSV"],
  ["image/svg+xml", "SVG"],
  ["application/x-ndjson", "NDJSON"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "XLSX"],
  ["image/*", "images"],
  ["font/*", "font"],
  ["*/*", "files of any type"]
])("%s is called %s", (type, name) => {
  expect(typeName(type, en.file.types)).toBe(name)
})

it("what a field takes is a list of names, in the language of the page", () => {
  expect(acceptedNames(["image/*", "text/plain"], en.file.types)).toBe("images, plain text")
  expect(acceptedNames(["image/*", "application/pdf", "text/plain"], de.file.types)).toBe("Bilder, PDF, reiner Text")
})
