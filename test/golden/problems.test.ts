/**
 * The table of problems as a golden file and as the reference page. `UPDATE_GOLDEN=1` writes both anew; a change of either is a change of
 * the contract and shows in the diff.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { expect, it } from "vitest"
import { problem, problemDocument, problemKinds } from "../../core/domain/problem.ts"
import type { ProblemSlug } from "../../core/domain/problem.ts"

const golden = new URL("problems.json", import.meta.url)
const page = new URL("../../docs/reference/problems.md", import.meta.url)

const slugs = Object.keys(problemKinds) as ReadonlyArray<ProblemSlug>

const documents = `${
  JSON.stringify(
    Object.fromEntries(slugs.map((slug) => [slug, problemDocument(problem(slug, "What happened."), "/api/v1/orders")])),
    null,
    2
  )
}\n`

const reference = `# Problems

Every error is \`application/problem+json\` (RFC 9457) with \`type\`, \`title\`, \`status\`, \`detail\` and \`instance\` (the request's path).
Programs look at \`type\`; \`detail\` is for people and may change. This page is generated from \`core/domain/problem.ts\`.

| status | type | title | meaning |
| --- | --- | --- | --- |
${
  slugs.map((slug) =>
    `| ${problemKinds[slug].status} | \`urn:service:problem:${slug}\` | ${problemKinds[slug].title} | ${
      problemKinds[slug].meaning
    } |`
  ).join("\n")
}

Further members, where they apply:

- \`errors\`: a list. Filter and order errors: \`{ code, message, hint, span: { start, end } }\` with \`parameter\` beside the list; spans are UTF-16
  offsets into the decoded text, end exclusive. Parameters: \`{ parameter, message, hint? }\`. Records: \`{ field, code, message }\` with the codes
  \`required\`, \`type\`, \`max\`, \`enum\`, \`unknown\`, \`read-only\`, \`invalid\`.
- \`operation\`, \`op\`, \`resource\`: which operation of a batch failed; \`key\`: which record of a reorder.
- \`etag\`, \`changed\`: on 412, the current version and, where known, the readable fields that differ.
- \`suggestion\`: on \`expensive-query\`, a \`create index\` statement that would help.
- \`outcome: "unknown"\`: on 503, the connection broke during the commit; read before trying again.
- \`code\`: on routes under \`/api/auth\`, the auth server's own code.

A hidden field, resource or record is refused exactly like one that does not exist.
`

const check = (file: URL, text: string): void => {
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, text)
  expect(readFileSync(file, "utf8")).toBe(text)
}

it("keeps the documents of all problems", () => check(golden, documents))
it("keeps the reference page", () => check(page, reference))
