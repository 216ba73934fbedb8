/**
 * The page of a public form: a title over a card of labelled fields. On Send it solves the proof of work and submits. A refused field shows its
 * problem below it, any other refusal is above the button, and the input stays. It uses plain elements and no library, because visitors come once.
 */

import "../style/fonts.css"
import "../style/tokens.css"
import "../style/base.css"
import "./form.css"
import { countries, currencies } from "../../../core/domain/value/codes.ts"
import { ConnectionError, createClient, ProblemError } from "../../client/index.ts"
import type { FormDocument, Json, MetaField } from "../../client/index.ts"
import { config, prefix } from "../config.ts"
import { parseText } from "../field/parse.ts"
import { enumText } from "../field/text.ts"
import { english, languageOf, languages, loadEntry } from "../messages/languages.ts"
import { labelOf } from "../model/catalogue.ts"

/** English until the visitor's language is loaded; nothing is drawn before. */
let { language, t: { form: words } } = english

/** Allows script addresses of the app's own files only. The worker is the only script that the page loads by address. */
const trust = (globalThis as {
  readonly trustedTypes?: {
    readonly createPolicy: (name: string, rules: { readonly createScriptURL: (url: string) => string }) => unknown
  }
}).trustedTypes
trust?.createPolicy("default", {
  createScriptURL: (text) => {
    const url = new URL(text, location.href)
    if (url.origin !== location.origin || !url.pathname.startsWith(`${prefix}/-/assets/`)) {
      throw new TypeError("Not a file of the app.")
    }
    return url.href
  }
})

const client = createClient({ baseUrl: config.basePath })
const name = decodeURIComponent(location.pathname.split("/").at(-1) ?? "")
const main = document.getElementById("form")!

type Attributes = { readonly [name: string]: string | boolean | undefined }

/** Creates an element with attributes and children. Strings become text nodes. */
const make = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] => {
  const element = document.createElement(tag)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "")
    else if (typeof value === "string") element.setAttribute(key, value)
  }
  element.append(...children)
  return element
}

const show = (...children: readonly Node[]): void => main.replaceChildren(...children)

const notice = (text: string): void => show(make("div", { class: "form-card", role: "status" }, make("p", {}, text)))

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

interface Row {
  readonly field: MetaField
  readonly box: HTMLElement
  readonly control: Control
  readonly hint: HTMLElement
}

/** The choices of a field that has them, as value and text. */
const choicesOf = (field: MetaField): readonly (readonly [value: string, text: string])[] | null => {
  const named = (codes: ReadonlySet<string>, type: "region" | "currency") => {
    const names = new Intl.DisplayNames([language], { type, fallback: "code" })
    return Array.from(codes, (code) => [code, names.of(code) ?? code] as const).toSorted((a, b) =>
      a[1].localeCompare(b[1], language)
    )
  }
  switch (field.kind) {
    case "enum":
      return (field.values ?? []).map((value) => [value, enumText(value)])
    case "country":
      return named(countries, "region")
    case "currency":
      return named(currencies, "currency")
    default:
      return null
  }
}

const inputTypeOf = (field: MetaField): string =>
  field.kind === "date"
    ? "date"
    : field.kind === "timestamp"
    ? "datetime-local"
    : /e?mail/.test(field.name)
    ? "email"
    : /phone|^tel/.test(field.name)
    ? "tel"
    : "text"

const fillIn: { readonly [name: string]: string } = {
  name: "name",
  email: "email",
  phone: "tel",
  city: "address-level2"
}

const controlOf = (field: MetaField, id: string): Control => {
  const common = {
    id,
    name: field.name,
    required: !field.optional && field.default === undefined,
    "aria-describedby": `${id}-hint`
  }
  const choices = choicesOf(field)
  const given = field.default !== undefined && "value" in field.default ? field.default.value : null
  if (choices !== null) {
    const control = make("select", common)
    if (field.optional || given === null) {
      control.append(make("option", { value: "" }, field.optional ? "" : words.field.choose))
    }
    for (const [value, text] of choices) control.append(make("option", { value }, text))
    if (typeof given === "string") control.value = given
    return control
  }
  if (field.kind === "boolean") {
    const control = make("input", { ...common, type: "checkbox", required: false })
    control.checked = given === true
    return control
  }
  if (field.kind === "text" && (field.multiline ?? (field.max ?? 9_999) > 300)) {
    return make("textarea", { ...common, rows: "4", dir: "auto" })
  }
  const number = field.kind === "integer" || field.kind === "decimal" || field.kind === "float"
  const control = make("input", {
    ...common,
    type: inputTypeOf(field),
    inputmode: number ? "decimal" : undefined,
    autocomplete: fillIn[field.name],
    dir: field.kind === "text" ? "auto" : undefined,
    step: field.kind === "timestamp" ? "1" : undefined
  })
  if (typeof given === "string" || typeof given === "number") control.value = String(given)
  return control
}

const rowOf = (field: MetaField, index: number): Row => {
  const id = `f${index}`
  const control = controlOf(field, id)
  const hint = make("p", { class: "hint", id: `${id}-hint`, hidden: field.help === undefined }, field.help ?? "")
  const label = make("label", { class: "label", for: id }, field.label ?? labelOf(field.name))
  if (field.optional) label.append(make("em", {}, ` ${words.optional}`))
  const frame = make("div", { class: field.kind === "boolean" ? "form-check" : "input" }, control)
  const box = field.kind === "boolean"
    ? make("div", {}, make("div", { class: "form-check" }, control, label), hint)
    : make("div", {}, label, frame, hint)
  return { field, box, control, hint }
}

/** Marks a row as refused, or removes the mark. */
const mark = ({ box, control, field, hint }: Row, problem: string | null): void => {
  const text = problem ?? field.help ?? ""
  hint.hidden = text === ""
  hint.textContent = text
  hint.toggleAttribute("data-bad", problem !== null)
  box.querySelector(".input")?.toggleAttribute("data-invalid", problem !== null)
  if (problem === null) control.removeAttribute("aria-invalid")
  else control.setAttribute("aria-invalid", "true")
}

/** The value of a row, or its problem. Undefined: the field is left out, and the service fills it in. */
const valueOf = ({ control, field }: Row): { readonly value: unknown; readonly problem: string | null } => {
  if (control instanceof HTMLInputElement && control.type === "checkbox") {
    return { value: control.checked, problem: null }
  }
  const text = control.value
  if (text === "" && (field.optional || field.default !== undefined)) return { value: undefined, problem: null }
  if (text.trim() === "") return { value: undefined, problem: words.field.required }
  const exact = field.kind === "timestamp" ? new Date(text).toISOString() : text
  return parseText(field, exact, words)
}

const draw = (form: FormDocument): void => {
  const title = form.title ?? form.view.label?.singular ?? labelOf(form.resource.name)
  document.title = title
  const fields = form.fields.flatMap((each) => form.resource.fields.find(({ name: own }) => own === each) ?? [])
  const rows = fields.map(rowOf)
  const refusal = make("p", { class: "note", "data-tone": "bad", role: "alert", hidden: true })
  const button = make("button", { type: "submit", class: "btn primary" }, words.send)
  const person = make("p", { class: "form-person" }, words.person)
  const body = make(
    "form",
    { class: "form-card", novalidate: true },
    ...rows.map(({ box }) => box),
    refusal,
    button,
    person
  )

  const refuse = (text: string | null): void => {
    refusal.hidden = text === null
    refusal.textContent = text ?? ""
  }
  const busy = (on: boolean): void => {
    button.disabled = on
    button.textContent = on ? words.sending : words.send
  }
  const done = (): void => {
    const again = make("button", { type: "button", class: "btn" }, words.again)
    again.addEventListener("click", () => draw(form))
    const thanks = make("p", { tabindex: "-1" }, form.thanks)
    show(make("h1", {}, title), make("div", { class: "form-card", role: "status" }, thanks, again))
    thanks.focus()
  }
  const fail = (error: unknown): void => {
    if (!(error instanceof ProblemError)) {
      return refuse(error instanceof ConnectionError ? words.offline : words.refused)
    }
    const refused = error.fields
    for (const row of rows) mark(row, refused[row.field.name] ?? null)
    const first = rows.find(({ field }) => field.name in refused)
    if (first !== undefined) return first.control.focus()
    if (error.status === 429) return refuse(words.wait(String(Math.ceil((error.retryAfter ?? 60_000) / 1000))))
    refuse(error.status >= 500 ? words.offline : words.refused)
  }
  const send = async (): Promise<void> => {
    refuse(null)
    const values: { [field: string]: unknown } = {}
    let first: Row | null = null
    for (const row of rows) {
      const { problem, value } = valueOf(row)
      mark(row, problem)
      if (problem !== null) first ??= row
      else if (value !== undefined) values[row.field.name] = value
    }
    if (first !== null) return first.control.focus()
    busy(true)
    try {
      await client.submitForm(name, values as { readonly [field: string]: Json })
      done()
    } catch (error) {
      busy(false)
      fail(error)
    }
  }
  for (const row of rows) row.control.addEventListener("input", () => mark(row, null))
  body.addEventListener("submit", (event) => {
    event.preventDefault()
    if (!button.disabled) void send()
  })
  show(make("h1", {}, title), body)
}

const start = async (): Promise<void> => {
  const form = isSecureContext ? client.form(name) : null
  // The form is read while the texts are.
  form?.catch(() => undefined)
  const loaded = await loadEntry(languageOf(navigator.languages))
  language = loaded.language
  words = loaded.t.form
  document.documentElement.lang = language
  document.documentElement.dir = languages[language].direction
  if (form === null) return notice(words.noCrypto)
  try {
    draw(await form)
  } catch (error) {
    notice(error instanceof ProblemError && error.status === 404 ? words.missing : words.offline)
  }
}

void start()
