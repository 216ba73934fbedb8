/** The input of a foreign key. It searches the target resource while somebody types, and shows records by their titles. */

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { ChevronsUpDown } from "lucide-react"
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react"
import { Popover } from "react-aria-components"
import { fieldsOfTitle } from "../../../core/domain/model/title.ts"
import { useApp } from "../ground/app.ts"
import { useMessages } from "../messages/locale.tsx"
import { type Resource, titleNeeds, titleOf } from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { plain, short } from "../model/plain.ts"
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

interface OptionsProps {
  readonly id: string
  readonly target: Resource
  readonly keyField: string
  readonly options: readonly AnyRecord[]
  readonly active: AnyRecord | undefined
  /** Whether they are still read. */
  readonly pending: boolean
  readonly onChoose: (record: AnyRecord) => void
}

/** The records to choose from. */
const Options = ({ active, id, keyField, onChoose, options, pending, target }: OptionsProps): ReactNode => {
  const t = useMessages()
  const reader = useReader()
  return (
    <div role="listbox" id={id} aria-label={target.view.label.plural} className="menu">
      {options.map((record, index) => (
        <div
          key={plain(record[keyField])}
          id={`${id}-${index}`}
          role="option"
          aria-selected={record === active}
          data-focused={record === active ? "" : undefined}
          className="menu-item"
          ref={record === active ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined}
          // The focus stays in the input.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(record)}
        >
          <span className="grow cut">
            <bdi>{titleOf(target, record)}</bdi>
            {detailOf(target, record, reader) !== "" && (
              <small className="dim cut second" dir="auto">{detailOf(target, record, reader)}</small>
            )}
          </span>
          <bdi className="dim cut">#{short(plain(record[keyField]), 80)}</bdi>
        </div>
      ))}
      {options.length === 0 && (
        <p className="menu-item dim" role="option" aria-selected="false" aria-disabled="true">
          {pending ? t.shell.loading : t.field.nothingFound}
        </p>
      )}
    </div>
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
  const [at, setAt] = useState(0)
  const listId = useId()
  const box = useRef<HTMLDivElement>(null)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    // The choices of a cell open at once.
    if (!autoFocus || !compact) return
    input.current?.select()
    setOpen(true)
  }, [autoFocus, compact])

  const titles = useTitles(target, [current], keyField)
  const shown = current === "" ? "" : titles.get(current) ?? `#${current}`

  const found = useQuery<AnyPage>({
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
  const options = open ? found.data?.items ?? [] : []
  const active = options[Math.min(at, options.length - 1)]
  const close = (): void => {
    setOpen(false)
    setText(null)
    setAt(0)
  }
  const choose = (record: AnyRecord): void => {
    close()
    onChange(parseText(field, plain(record[keyField]), t))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0) {
      if (open) setAt((Math.min(at, options.length - 1) + step + options.length) % Math.max(1, options.length))
      else setOpen(true)
    } else if (event.key === "Enter" && open && active !== undefined) choose(active)
    else if (event.key === "Escape" && open) close()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div ref={box} className={compact ? "cell-input" : "input"} data-invalid={invalid ? "" : undefined}>
      <input
        ref={input}
        id={id}
        role="combobox"
        aria-label={id === undefined ? label ?? target.view.label.singular : undefined}
        aria-describedby={describedBy}
        aria-invalid={invalid ? true : undefined}
        aria-autocomplete="list"
        aria-expanded={open}
        aria-controls={open ? listId : undefined}
        aria-activedescendant={open && active !== undefined ? `${listId}-${options.indexOf(active)}` : undefined}
        autoComplete="off"
        autoFocus={autoFocus}
        disabled={disabled}
        dir="auto"
        value={text ?? shown}
        onClick={({ currentTarget }) => {
          if (open) return
          setOpen(true)
          currentTarget.select()
        }}
        onChange={({ target: { value: next } }) => {
          setText(next)
          setOpen(true)
          setAt(0)
          if (next === "" && field.optional) onChange({ value: null, problem: null })
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      {!compact && current === "" && <ChevronsUpDown className="icon dim" aria-hidden="true" />}
      {open && (
        <Popover
          className="float"
          isNonModal
          isOpen
          triggerRef={box}
          offset={4}
          placement="bottom start"
          onOpenChange={(now) => !now && close()}
        >
          <Options
            id={listId}
            target={target}
            keyField={keyField}
            options={options}
            active={active}
            pending={found.isPending}
            onChoose={choose}
          />
        </Popover>
      )}
    </div>
  )
}
