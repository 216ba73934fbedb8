/**
 * The table of problems as a golden file and as the reference page. `UPDATE_GOLDEN=1` writes both; a change of either is a change of
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
Programs read \`type\`. \`detail\` is for people, and its text may change. This page is generated from \`core/domain/problem.ts\`.

| status | type | title | meaning |
| --- | --- | --- | --- |
${
  slugs.map((slug) =>
    `| ${problemKinds[slug].status} | \`urn:service:problem:${slug}\` | ${problemKinds[slug].title} | ${
      problemKinds[slug].meaning
    } |`
  ).join("\n")
}

Some problems have further members:

- \`errors\`: a list of everything that is wrong.
  - In filters and orders an entry is \`{ code, message, hint, span: { start, end } }\`. The span has UTF-16 offsets into the decoded text; the
    end is exclusive. \`parameter\` stands beside the list.
  - For parameters an entry is \`{ parameter, message, hint? }\`.
  - In records an entry is \`{ field, code, message }\`. The codes are \`required\`, \`type\`, \`max\`, \`enum\`, \`unknown\`, \`read-only\` and
    \`invalid\`.
- \`operation\`, \`op\`, \`resource\`: the operation of a batch that failed. \`key\`: the record of a reorder that failed.
- \`etag\`, \`changed\`: with 412, the current version, and the readable fields that differ, if they are known.
- \`suggestion\`: with \`expensive-query\`, a \`create index\` statement that would help.
- \`outcome: "unknown"\`: with 503, the connection broke during the commit. Read the record before you try again.
- \`code\`: on routes below \`/api/auth\`, the code of the auth server.

A hidden field, resource or record gets the same answer as one that does not exist.
`

const check = (file: URL, text: string): void => {
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, text)
  expect(readFileSync(file, "utf8")).toBe(text)
}

it("keeps the documents of all problems", () => check(golden, documents))
it("keeps the reference page", () => check(page, reference))
