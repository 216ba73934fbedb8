import { expect, it } from "vitest"
import { words } from "./words.ts"

// A dry run lists its first refusals, too, and has no report.
it.each([["en", "report"], ["de", "Bericht"], ["fr", "rapport"], ["es", "informe"], ["ar", "تقرير"]] as const)(
  "the note that only the first refusals are shown names no report: %s",
  (language, report) => {
    const { firstOnly, moreReported, report: button } = words[language]
    expect(firstOnly("200")).toContain("200")
    expect(firstOnly("200").toLowerCase()).not.toContain(report.toLowerCase())
    for (const text of [moreReported, button]) expect(text.toLowerCase()).toContain(report.toLowerCase())
  }
)
