/** The filter as text, with completion of fields, values and functions. Errors are underlined at their place. Loaded on use. */

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  completionKeymap,
  type CompletionResult
} from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { linter } from "@codemirror/lint"
import { EditorState } from "@codemirror/state"
import { EditorView, keymap, placeholder } from "@codemirror/view"
import * as Result from "effect/Result"
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from "react"
import { type FilterError, readFilter } from "../../../core/domain/filter/read.ts"
import { elementOf } from "../field/array.ts"
import { useMessages } from "../messages/locale.tsx"
import type { Resource } from "../model/catalogue.ts"
import { resourceClient } from "../model/client.ts"
import { scopeOf } from "../model/conditions.ts"
import { plain } from "../model/plain.ts"
import { askedAt, written } from "./complete.ts"
import style from "./filter.module.css"
import { Wrong } from "./wrong.tsx"

interface TextEditorProps {
  readonly resource: Resource
  readonly start: string
  readonly onDone: (text: string) => void
  readonly onCancel: () => void
}

const functions: readonly Completion[] = [
  { label: "in", detail: "(field, value, …)", apply: "in(", type: "function" },
  { label: "search", detail: "('text')", apply: "search('", type: "function" },
  { label: "same", detail: "(field, 'text')", apply: "same(", type: "function" },
  { label: "begins", detail: "(field, 'text')", apply: "begins(", type: "function" },
  { label: "field", detail: "(field)", apply: "field(", type: "function" },
  { label: "has", detail: "(relation, \"filter\")", apply: "has(", type: "function" },
  { label: "count", detail: "(relation) >= 3", apply: "count(", type: "function" },
  { label: "similar", detail: "(field, 'text')", apply: "similar(", type: "function" },
  { label: "regex", detail: "(field, 'pattern')", apply: "regex(", type: "function" },
  { label: "contains", detail: "(field, value)", apply: "contains(", type: "function" },
  { label: "overlaps", detail: "(field, '[1,5)')", apply: "overlaps(", type: "function" },
  { label: "isNull", detail: "(field)", apply: "isNull(", type: "function" },
  { label: "length", detail: "(list) >= 2", apply: "length(", type: "function" },
  { label: "now", detail: "() - 7d", apply: "now() - ", type: "function" }
]

const words: readonly Completion[] = ["AND", "OR", "NOT"].map((label) => ({ label, type: "keyword" }))

/** Completes values of the field before the operator, from the list's facets. Elsewhere it completes fields, relations, functions and keywords. */
const completer =
  (resourceNow: () => Resource) => async (context: CompletionContext): Promise<CompletionResult | null> => {
    const asked = askedAt(resourceNow(), context.state.sliceDoc(0, context.pos), context.explicit)
    if (asked === null) return null
    const from = context.pos - asked.length
    if (asked.of === "values") {
      const { path, resource } = asked
      const field = elementOf(path.field)
      const fixed = field.values ?? (field.kind === "boolean" ? ["true", "false"] : null)
      // Facets count records by the fields of one related record. Of several, the values that there are can be had from their own resource.
      const facets = () =>
        path.many
          ? resourceClient(path.resource.name).facets({ field: field.name, limit: 100 })
          : resourceClient(resource.name).facets({ field: path.text, limit: 100 })
      const values = fixed ?? await facets()
        .then(({ facets }) => facets.flatMap(({ value: each }) => each === null ? [] : [plain(each)]), () => [])
      return {
        from,
        options: values.map((label) => ({ label, apply: written(label, asked.inQuotes), type: "constant" })),
        validFor: /^(?:"[^"]*|[^"\s()]*)$/
      }
    }
    return {
      from,
      options: [
        ...asked.names.map(({ detail, label, of, text }) => ({
          label,
          detail,
          apply: text,
          type: of === "field" ? "property" : "namespace",
          ...(of === "field" ? { boost: 1 } : {})
        })),
        ...(asked.whole ? [...functions, ...words] : [])
      ],
      validFor: /^[\w.]*$/
    }
  }

/** The content security policy allows only styles with the page's nonce. */
const nonce = document.querySelector<HTMLMetaElement>("meta[property='csp-nonce']")?.nonce ?? ""

/**
 * Text that replaces a selection is put in by the editor. The browser would keep the look of the replaced text, such as the line under a mistake, in a
 * style attribute, which the page's policy blocks and reports.
 */
const replaces = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || event.data === null || view.composing || view.state.selection.main.empty) {
      return false
    }
    view.dispatch({ ...view.state.replaceSelection(event.data), userEvent: "input.type", scrollIntoView: true })
    event.preventDefault()
    return true
  }
})

const theme = EditorView.theme({
  "&": { fontFamily: "var(--mono)", fontSize: "var(--text-sm)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": { padding: "5px 8px", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0" },
  ".cm-scroller": { fontFamily: "inherit", lineHeight: "1.5" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { background: "var(--accent-soft) !important" },
  ".cm-tooltip": {
    background: "var(--bg-raised)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    boxShadow: "var(--shadow)",
    color: "var(--ink)"
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "4px 9px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--bg-selected)", color: "var(--ink)" },
  ".cm-completionDetail": { color: "var(--ink-3)", fontStyle: "normal" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px"
  }
})

export const TextEditor = ({ onCancel, onDone, resource, start }: TextEditorProps): ReactNode => {
  const t = useMessages()
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const [wrong, setWrong] = useState<readonly FilterError[]>([])

  const finish = (): void => {
    const text = view.current!.state.doc.toString().trim()
    const read = readFilter(text, scopeOf(resource))
    if (Result.isFailure(read)) return setWrong(read.failure)
    onDone(text)
  }
  const onFinish = useEffectEvent(() => finish())
  const onEscape = useEffectEvent(() => onCancel())
  const label = t.filter.text
  // The catalogue is made again when a source answers, and nothing that was typed may go with it: the editor asks for the resource when it needs it.
  const latest = useRef(resource)
  latest.current = resource
  const begin = useRef(start)

  useEffect(() => {
    const scope = () => scopeOf(latest.current)
    const editor = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: begin.current,
        selection: { anchor: begin.current.length },
        extensions: [
          EditorView.cspNonce.of(nonce),
          autocompletion({
            override: [completer(() => latest.current)],
            icons: false,
            // Behind a relation, and in the brackets of a function, comes a further name.
            activateOnCompletion: ({ apply }) => typeof apply === "string" && /[.(]$/.test(apply)
          }),
          // A filter is one line, so Enter applies it. An open completion handles Enter first.
          keymap.of([
            ...completionKeymap,
            { key: "Enter", run: () => (onFinish(), true) },
            { key: "Escape", run: () => (onEscape(), true) },
            ...historyKeymap,
            ...defaultKeymap
          ]),
          history(),
          EditorView.lineWrapping,
          replaces,
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", dir: "ltr" }),
          placeholder("status = paid AND total >= 100"),
          linter(({ state }) => {
            const read = readFilter(state.doc.toString(), scope())
            return Result.isSuccess(read) ? [] : read.failure.map(({ hint, message, span }) => ({
              from: Math.min(span.start, state.doc.length),
              to: Math.min(Math.max(span.end, span.start + 1), state.doc.length),
              severity: "error" as const,
              message: `${message} ${hint}`
            }))
          }, { delay: 250 }),
          EditorView.updateListener.of(({ docChanged }) => {
            if (docChanged) setWrong([])
          }),
          theme
        ]
      })
    })
    view.current = editor
    editor.focus()
    return () => editor.destroy()
  }, [label])

  return (
    <>
      <div className={style.editing}>
        <div className={style.editor} ref={host} />
        <button type="button" className="btn primary" onClick={() => finish()}>{t.filter.apply}</button>
        <button type="button" className="btn quiet" onClick={onCancel}>{t.shell.cancel}</button>
      </div>
      {wrong.length > 0 && <Wrong errors={wrong} />}
    </>
  )
}
