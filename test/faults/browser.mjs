// Faults in the admin app and its client: what a person sees, does and loses. See scripts/faults.mjs.

export const faults = [
  {
    rule: "a walk beside a list reads no record that it passes",
    file: "web/admin/list/peeking.ts",
    old: "else pass(asked, next, row)",
    new: "else setQuery({ peek: next })",
    tests: ["test/browser/admin/peek.test.ts"]
  },
  {
    rule: "a walk beside a list asks before it leaves what was typed",
    file: "web/admin/list/peeking.ts",
    old: "if (isGuarded()) void ask(next)",
    new: "if (row < 0) void ask(next)",
    tests: ["test/browser/admin/peek.test.ts"]
  },
  {
    rule: "a draft is there again after a reload",
    file: "web/admin/record/draft-store.ts",
    old: "const text = sessionStorage.getItem(storeOf(place))",
    new: "const text = sessionStorage.getItem(`${storeOf(place)}.`)",
    tests: ["test/browser/admin/life.test.ts"]
  },
  {
    rule: "undo writes what was there before",
    file: "web/admin/record/use-record.ts",
    old: "accept(await resourceClient(resource.name).update(keyPartsOf(keyText), old, { etag: saved.etag }))",
    new: "accept({ ...saved, ...old })",
    tests: ["test/browser/admin/record.test.ts"]
  },
  {
    rule: "a merge saves what was chosen",
    file: "web/admin/merge/merge-dialog.tsx",
    old: "onSave(mergedChanges(conflict.rows, choices), conflict.current)",
    new: "onSave(mergedChanges(conflict.rows, {}), conflict.current)",
    tests: ["test/browser/admin/life.test.ts"]
  },
  {
    rule: "a row that somebody changed is marked",
    file: "web/admin/grid/row.tsx",
    old: "data-fresh={mark.fresh === true ? \"\" : undefined}",
    new: "data-fresh={undefined}",
    tests: ["test/browser/admin/live.test.ts"]
  },
  {
    rule: "the picker of a relation searches at the service",
    file: "web/admin/field/relation.tsx",
    old: "filter: filterFor(target!, (text ?? \"\").trim()),",
    new: "filter: \"\",",
    tests: ["test/browser/admin/record.test.ts"]
  },
  {
    rule: "the try of a change shows refusals",
    file: "web/admin/list/bulk.ts",
    old: "refused.push({ record: left[error.operation]!, error })",
    new: "void error",
    tests: ["test/browser/admin/list.test.ts"]
  },
  {
    rule: "a view is shared with the roles that were chosen",
    file: "web/admin/saved/dialog.tsx",
    old: "shared_with: chosen.length === 0 ? \"me\" as const : chosen }",
    new: "shared_with: \"me\" as const }",
    tests: ["test/browser/admin/reach.test.ts"]
  },
  {
    rule: "Cancel ends an upload",
    file: "web/admin/field/file-input.tsx",
    old: "onClick={() => sending.abort.abort()}",
    new: "onClick={() => {}}",
    tests: ["test/browser/admin/file-rules.test.ts"]
  },
  {
    rule: "the focus goes to a refused field",
    file: "web/admin/record/refusals.ts",
    old: "setTimeout(() => focusProblem({ ...own, ...inRows }))",
    new: "void focusProblem",
    tests: ["test/browser/admin/reach.test.ts", "test/browser/admin/care.test.ts"]
  },
  {
    rule: "a refusal stands in the row whose operation was refused",
    file: "web/admin/record/rows.ts",
    old: "const row = operated(rows)[at]",
    new: "const row = operated(rows)[0]",
    tests: ["web/admin/record/rows.test.ts"]
  },
  {
    rule: "drafts hold no links of files",
    file: "web/admin/record/draft-store.ts",
    old: "files.has(name) ? withoutLinks(value) : value",
    new: "value",
    tests: ["web/admin/record/draft-store.test.ts"]
  },
  {
    rule: "a token of a session that another tab has ended is not sent",
    file: "web/admin/model/client.ts",
    old: "if (token !== undefined && token === ended)",
    new: "if (token === null)",
    tests: ["test/browser/admin/care.test.ts"]
  },
  {
    rule: "the browser keeps no token",
    file: "web/client/token.ts",
    old: "    current = token\n  }",
    new:
      "    current = token\n    if (typeof document === \"object\") localStorage.setItem(\"kept\", token ?? \"\")\n  }",
    tests: ["test/browser/admin/list.test.ts"]
  },
  {
    rule: "the app keeps to its policy",
    file: "web/admin/palette/shortcuts.tsx",
    old: "export const ",
    new: "document.documentElement.setAttribute(\"style\", \"color: inherit\")\nexport const ",
    tests: ["test/browser/admin/list.test.ts"]
  },
  {
    rule: "nothing scrolls sideways at 320 px",
    file: "web/admin/task/task.module.css",
    old: ".progress { display: grid;",
    new: ".progress { min-width: 500px; display: grid;",
    tests: ["test/browser/admin/reach.test.ts"]
  },
  {
    rule: "a list that is opened again is where it was",
    file: "web/admin/list/page.tsx",
    old: "Number(memory[name] ?? 0)",
    new: "Number(memory[`no ${name}`] ?? 0)",
    tests: ["test/browser/admin/open.test.ts"]
  },
  {
    rule: "nobody is offered what they may not do",
    file: "web/admin/list/header.tsx",
    old: "{resource.may.create && !narrow && (",
    new: "{!narrow && (",
    tests: ["test/browser/admin/list.test.ts"]
  },
  {
    rule: "the app turns with its language",
    file: "web/admin/messages/locale.tsx",
    old: "document.documentElement.dir = direction",
    new: "document.documentElement.dir = \"ltr\"",
    tests: ["test/browser/admin/list.test.ts"]
  },
  {
    rule: "texts have contrast in the dark",
    file: "web/admin/style/tokens.css",
    old: "--ink-3: light-dark(oklch(0.51 0.012 262), oklch(0.68 0.01 262));",
    new: "--ink-3: light-dark(oklch(0.51 0.012 262), oklch(0.4 0.01 262));",
    tests: ["test/browser/admin/remote.test.ts"]
  },
  {
    rule: "the address says the filter",
    file: "web/admin/list/asked.ts",
    old: "filter: query.get(\"filter\") ?? \"\",",
    new: "filter: \"\",",
    tests: ["test/browser/admin/sources.test.ts"]
  },
  {
    rule: "a copied cell is no formula",
    file: "web/admin/list/copied.ts",
    old: "const safe = /^[=+@\\t\\r]/.test(text)",
    new: "const safe = /^[+@\\t\\r]/.test(text)",
    tests: ["web/admin/list/copied.test.ts"]
  },
  {
    rule: "a key does not end the quotes of a command",
    file: "web/admin/list/copied.ts",
    old: "`'${text.replaceAll(\"'\", \"'\\\\''\")}'`",
    new: "`'${text}'`",
    tests: ["web/admin/list/copied.test.ts"]
  },
  {
    rule: "what somebody types for a number of related records is a value and no part of the filter",
    file: "web/admin/model/conditions.ts",
    old: "/^\\d+$/.test(value) ? value : JSON.stringify(value)",
    new: "value",
    tests: ["web/admin/model/conditions.test.ts"]
  },
  {
    rule: "a saved view names no hidden field of a related record",
    file: "core/domain/saved-view/saved-view.ts",
    old: "return at?.restricted.byName.has(field) === true",
    new: "return at !== null && field !== \"\"",
    tests: ["test/http/reads/reads.test.ts"]
  },
  {
    rule: "a list shows no column of several records",
    file: "web/admin/model/paths.ts",
    old: "path === undefined || path.many ||",
    new: "path === undefined ||",
    tests: ["web/admin/list/state.test.ts"]
  }
]
