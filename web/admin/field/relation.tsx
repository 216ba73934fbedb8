/** The input of a foreign key: it searches at the service as somebody types, and shows records by their titles. */

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { ComboBox, Input as AriaInput, ListBox, ListBoxItem, Popover } from "react-aria-components"
import { textOfSimple } from "../filter/conditions.ts"
import { useMessages } from "../messages/locale.tsx"
import { useApp } from "../shell/app.ts"
import { type Resource, titleFields, titleOf } from "../shell/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../shell/client.ts"
import type { InputProps } from "./input-props.ts"
import { relationOf } from "./kind.ts"
import { parseText } from "./parse.ts"
import { plain } from "./plain.ts"

/** What a search by a typed text asks for: the searched fields, or the key where nothing is searched. */
const filterFor = (target: Resource, text: string): string | null => {
  if (text === "") return ""
  if (target.model.fields.some(({ searched }) => searched)) {
    return textOfSimple({ field: "", is: "search", values: [text] }, target)
  }
  const title = target.view.title === null ? undefined : target.fields.get(target.view.title)
  return title?.kind === "text" && title.filterable
    ? textOfSimple({ field: title.name, is: "contains", values: [text] }, target)
    : ""
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

  const known = useQuery<AnyPage>({
    queryKey: ["title", target?.name, keyField, current],
    enabled: target !== undefined && current !== "" && target.fields.get(keyField)?.filterable === true,
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      resourceClient(target!.name).list({
        filter: textOfSimple({ field: keyField, is: "is", values: [current] }, target!),
        page_size: 1,
        fields: [...titleFields(target!), keyField]
      }, { signal })
  })
  const title = (record: AnyRecord): string => titleOf(target!, record)
  const shown = known.data?.items[0] === undefined ? (current === "" ? "" : `#${current}`) : title(known.data.items[0])

  const found = useQuery<AnyPage>({
    queryKey: ["options", target?.name, text ?? ""],
    enabled: target !== undefined && text !== null,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      resourceClient(target!.name).list({
        filter: filterFor(target!, (text ?? "").trim()),
        page_size: 20,
        fields: [...titleFields(target!), keyField]
      }, { signal })
  })

  if (target === undefined) {
    // The caller sees nothing of the other side: the key itself is what they can give.
    return (
      <div className={compact ? "cell-input" : "input"} data-invalid={invalid ? "" : undefined}>
        <input
          id={id}
          aria-label={label}
          aria-describedby={describedBy}
          autoFocus={autoFocus}
          disabled={disabled}
          defaultValue={current}
          onChange={({ target: input }) => onChange(parseText(field, input.value, t))}
        />
      </div>
    )
  }
  const options = text === null ? [] : found.data?.items ?? []
  return (
    <ComboBox
      aria-label={label ?? target.view.label.singular}
      className={compact ? "cell-input" : "input"}
      data-invalid={invalid ? "" : undefined}
      isDisabled={disabled}
      items={options.map((record) => ({ id: plain(record[keyField]), name: title(record) }))}
      inputValue={text ?? shown}
      onInputChange={(next) => {
        if (next === (text ?? shown)) return
        setText(next)
        if (next === "" && field.optional) onChange({ value: null, problem: null })
      }}
      selectedKey={current === "" ? null : current}
      onSelectionChange={(key) => {
        if (key === null) return
        setText(null)
        onChange(parseText(field, String(key), t))
      }}
      onOpenChange={(open) => {
        if (open) setText((before) => before ?? "")
        else setText(null)
      }}
      menuTrigger="focus"
      defaultFilter={() => true}
      allowsEmptyCollection
    >
      <AriaInput id={id} aria-describedby={describedBy} autoFocus={autoFocus} />
      <Popover className="float" offset={4}>
        <ListBox
          className="menu"
          renderEmptyState={() => (
            <p className="menu-item dim">{found.isPending ? t.shell.loading : t.field.nothingFound}</p>
          )}
        >
          {(item: { readonly id: string; readonly name: string }) => (
            <ListBoxItem id={item.id} textValue={item.name} className="menu-item">
              <bdi className="grow cut">{item.name}</bdi>
              <span className="dim">#{item.id}</span>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  )
}
