/** The input of a foreign key. It searches the target resource while somebody types, and shows records by their titles. */

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { fieldsOfTitle } from "../../../core/domain/model/title.ts"
import { useApp } from "../ground/app.ts"
import { useMessages } from "../messages/locale.tsx"
import { type Resource, titleNeeds, titleOf } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { plain, short } from "../model/plain.ts"
import { Combo } from "./combo.tsx"
import type { InputProps } from "./input-props.ts"
import { relationOf } from "./kind.ts"
import { parseText } from "./parse.ts"
import { detailFields, detailOf, useTitles } from "./titles.ts"
import { useReader } from "./value.tsx"

/** The filter for a typed text: a search, or the key if the resource has no searched fields. */
const filterFor = (target: Resource, text: string): string | null => {
  if (text === "") return ""
  if (target.model.fields.some(({ searched }) => searched)) {
    return textOfSimple({ field: "", is: "search", values: [text] }, target)
  }
  const named = fieldsOfTitle(target.view.title ?? "").map((name) => target.fields.get(name))
    .filter((field) => field?.kind === "text" && field.filterable)
  return named.map((field) => textOfSimple({ field: field!.name, is: "contains", values: [text] }, target)).join(" OR ")
}

/** A record to choose, with what tells it from others of its title. */
const Option = (
  { keyField, record, target }: {
    readonly target: Resource
    readonly keyField: string
    readonly record: AnyRecord
  }
): ReactNode => {
  const detail = detailOf(target, record, useReader())
  return (
    <>
      <span className="grow cut">
        <bdi>{titleOf(target, record)}</bdi>
        {detail !== "" && <small className="dim cut second" dir="auto">{detail}</small>}
      </span>
      <bdi className="dim cut">#{short(plain(record[keyField]), 80)}</bdi>
    </>
  )
}

/** The key itself, where the caller cannot see the resource that it points at. */
const KeyInput = (
  {
    autoFocus = false,
    compact = false,
    describedBy,
    disabled = false,
    field,
    id,
    invalid = false,
    label,
    onChange,
    value
  }: InputProps
): ReactNode => {
  const t = useMessages()
  return (
    <div className={compact ? "cell-input" : "input"} data-invalid={invalid ? "" : undefined}>
      <input
        id={id}
        aria-label={label}
        aria-describedby={describedBy}
        autoFocus={autoFocus}
        disabled={disabled}
        defaultValue={plain(value)}
        onChange={({ target: input }) => onChange(parseText(field, input.value, t))}
      />
    </div>
  )
}

export const RelationInput = (props: InputProps): ReactNode => {
  const {
    autoFocus = false,
    compact = false,
    describedBy,
    disabled = false,
    field,
    id,
    invalid = false,
    label,
    onChange,
    resource,
    value
  } = props
  const t = useMessages()
  const { catalogue } = useApp()
  const target = field.relation === undefined ? undefined : catalogue.resources.get(field.relation)
  const relation = relationOf(resource, field)
  const keyField = relation?.targetField ?? target?.model.primaryKey[0] ?? "id"
  const current = plain(value)
  const [text, setText] = useState<string | null>(null)
  const [open, setOpen] = useState(false)

  const titles = useTitles(target, [current], keyField)
  const title = current === "" ? "" : titles.get(current) ?? `#${current}`

  const matches = useQuery<AnyPage>({
    queryKey: ["options", target?.name, text ?? ""],
    enabled: target !== undefined && open,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const needs = titleNeeds(target!)
      return resourceClient(target!.name).list({
        ...needs,
        filter: filterFor(target!, (text ?? "").trim()),
        page_size: 20,
        fields: [...new Set([...needs.fields, keyField, ...detailFields(target!).map(({ name }) => name)])]
      }, { signal })
    }
  })

  if (target === undefined) return <KeyInput {...props} />
  const options = open ? matches.data?.items ?? [] : []
  return (
    <Combo<AnyRecord>
      id={id}
      label={id === undefined ? label ?? target.view.label.singular : undefined}
      listLabel={target.view.label.plural}
      describedBy={describedBy}
      invalid={invalid}
      compact={compact}
      autoFocus={autoFocus}
      disabled={disabled}
      text={text ?? title}
      open={open}
      options={options}
      pending={matches.isPending}
      keyOf={(record) => plain(record[keyField])}
      draw={(record) => <Option target={target} keyField={keyField} record={record} />}
      onOpen={(next) => {
        setOpen(next)
        if (!next) setText(null)
      }}
      onText={(next) => {
        setText(next)
        if (next === "" && field.optional) onChange({ value: null, problem: null })
      }}
      onChoose={(record) => onChange(parseText(field, plain(record[keyField]), t))}
    />
  )
}
