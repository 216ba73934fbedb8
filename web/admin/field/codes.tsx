/** The input of a country or a currency: a code, typed or chosen by its name from a list that is searched. */

import { type ReactNode, useMemo, useRef, useState } from "react"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel } from "../model/catalogue.ts"
import { plain } from "../model/plain.ts"
import { type Code, codeIn, codesOf, findCodes } from "./codes.ts"
import { Combo } from "./combo.tsx"
import type { InputProps } from "./input-props.ts"
import { parseText } from "./parse.ts"

export const CodeInput = (props: InputProps): ReactNode => {
  const { autoFocus = false, compact = false, describedBy, disabled = false, field, id, invalid = false, label } = props
  const { onChange, resource, typed: begun, value } = props
  const { format, t } = useLocale()
  const kind = field.kind === "country" ? "country" : "currency"
  const all = useMemo(() => codesOf(kind, format), [kind, format])
  const current = plain(value)
  /** What is typed; null while the input shows the value. */
  const [typed, setTyped] = useState<string | null>(begun ?? null)
  const told = useRef<string | null>(null)
  const [open, setOpen] = useState(false)
  // A value from outside (undo, a merge, another version) replaces what was typed.
  const text = typed !== null && (told.current === null || told.current === current) ? typed : current
  const put = (next: string): void => {
    setTyped(next)
    const code = next.trim() === "" ? "" : codeIn(all, next)
    told.current = code ?? ""
    onChange(
      code === null
        ? { value: undefined, problem: t.field.notListed, text: next }
        : { ...parseText(field, code, t), text: next }
    )
  }
  const name = current === "" ? "" : format[kind](current)
  const searched = typed !== null && text === typed
  const options = open ? searched ? findCodes(all, text) : all : []
  return (
    <Combo<Code>
      id={id}
      label={id === undefined ? label ?? fieldLabel(resource, field.name) : undefined}
      listLabel={fieldLabel(resource, field.name)}
      describedBy={describedBy}
      invalid={invalid}
      compact={compact}
      autoFocus={autoFocus}
      disabled={disabled}
      text={text}
      open={open}
      options={options}
      first={searched ? 0 : Math.max(0, options.findIndex(({ code }) => code === current))}
      exact={searched && codeIn(all, text) !== null}
      keyOf={({ code }) => code}
      draw={({ code, name }) => (
        <>
          <bdi className="grow cut">{name}</bdi>
          <span className="dim mono" dir="ltr">{code}</span>
        </>
      )}
      onOpen={(next) => {
        setOpen(next)
        // What says a code in full is shown as that code.
        if (!next && typed !== null && codeIn(all, typed) !== null) setTyped(null)
      }}
      onText={put}
      onChoose={({ code }) => {
        put(code)
        setTyped(null)
      }}
    >
      {!compact && name !== "" && name !== text && <span className="dim cut" aria-hidden="true">{name}</span>}
    </Combo>
  )
}
