/** Titles of records that are known by a key only, and what tells records of the same title apart. */

import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query"
import { fieldsOfTitle } from "../../../core/domain/model/title.ts"
import type { MetaField } from "../../client/index.ts"
import { useApp } from "../ground/app.ts"
import {
  addressOf,
  isKeyText,
  keyOf,
  keyPartsOf,
  recentNeeds,
  type Resource,
  titleNeeds,
  titleOf,
  titlesOf
} from "../model/catalogue.ts"
import { type AnyPage, type AnyRecord, resourceClient } from "../model/client.ts"
import { textOfSimple } from "../model/conditions.ts"
import { isolated, plain, short } from "../model/plain.ts"
import { isState } from "./kind.ts"
import { type TextContext, textOf } from "./text.ts"

/** Most records that one request names. */
const most = 60

/** The field whose values are keys in addresses, where a record has one such field. */
const keyFieldOf = (target: Resource | undefined): string | undefined =>
  target?.model.primaryKey.length === 1 ? target.model.primaryKey[0] : undefined

const titlesQuery = (target: Resource | undefined, keys: readonly string[], by: string | undefined) => {
  const key = by === undefined ? undefined : target?.fields.get(by)
  const wanted = [...new Set(keys)].filter((each) => each !== "").toSorted().slice(0, most)
  return {
    queryKey: ["titles", target?.name, key?.name, wanted],
    enabled: key?.filterable === true && target?.may.read === true && wanted.length > 0,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<ReadonlyMap<string, string>> => {
      const needs = titleNeeds(target!)
      const { items }: AnyPage = await resourceClient(target!.name).list({
        ...needs,
        filter: textOfSimple({ field: key!.name, is: wanted.length === 1 ? "is" : "oneOf", values: wanted }, target!),
        page_size: wanted.length,
        fields: [...new Set([...needs.fields, key!.name])]
      }, { signal })
      return new Map(items.map((record) => [plain(record[key!.name]), titleOf(target!, record)]))
    }
  }
}

const none: ReadonlyMap<string, string> = new Map()

/**
 * Titles by key, from one request. Keys that name no record which the caller sees are not in it. `by`: the field that the keys are values of, where it is not
 * the primary key.
 */
export const useTitles = (
  target: Resource | undefined,
  keys: readonly string[],
  by = keyFieldOf(target)
): ReadonlyMap<string, string> => useQuery(titlesQuery(target, keys, by)).data ?? none

/** A record of some resource, known by name and key as in addresses. */
export interface RecordName {
  readonly resource: string
  readonly key: string
}

/** Most records that one request names by a key of several fields. */
const mostOfSeveral = 20

/** The filter of some records by their keys. Null if the caller cannot filter by a field of the key. */
const keysFilter = (target: Resource, keys: readonly string[]): string | null => {
  const names = target.model.primaryKey
  if (names.length === 0 || !names.every((name) => target.fields.get(name)?.filterable === true)) return null
  const parts = keys.map(keyPartsOf)
  const [name] = names
  return name !== undefined && names.length === 1
    ? textOfSimple({ field: name, is: "oneOf", values: parts.map(([part = ""]) => part) }, target)
    : parts.map((each) =>
      `(${names.map((field, at) => textOfSimple({ field, is: "is", values: [each[at] ?? ""] }, target)).join(" AND ")})`
    ).join(" OR ")
}

const namesQuery = (target: Resource, keys: readonly string[]) => {
  const filter = keysFilter(target, keys)
  return {
    queryKey: ["names", target.name, keys],
    placeholderData: keepPreviousData,
    enabled: target.may.read && filter !== null,
    staleTime: 60_000,
    queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<ReadonlyMap<string, string>> => {
      const { items }: AnyPage = await resourceClient(target.name).list({
        ...recentNeeds(target),
        filter: filter ?? "",
        page_size: keys.length,
        ...(target.model.softDelete ? { show_deleted: true } : {})
      }, { signal })
      return new Map(items.map((record) => [keyOf(target, record) ?? "", titlesOf(target, record).join(" ")]))
    }
  }
}

export interface RecordNames {
  /** The title of a record, or its key if the caller does not see it. */
  readonly nameOf: (of: RecordName) => string
  /** The address of a record that the caller sees. */
  readonly addressOf: (of: RecordName) => string | undefined
}

/** The titles of records of several resources, deleted ones too, with a request for each resource and some of its keys. */
export const useRecordNames = (records: readonly RecordName[]): RecordNames => {
  const { catalogue } = useApp()
  const parts = [...Map.groupBy(records, ({ resource }) => resource)].flatMap(([resource, of]) => {
    const target = catalogue.resources.get(resource)
    if (target === undefined) return []
    const keys = [...new Set(of.map(({ key }) => key))].filter(isKeyText).toSorted()
    const size = target.model.primaryKey.length === 1 ? most : mostOfSeveral
    return Array.from(
      { length: Math.ceil(keys.length / size) },
      (_, at) => ({ resource, target, keys: keys.slice(at * size, (at + 1) * size) })
    )
  })
  const found = useQueries({ queries: parts.map(({ keys, target }) => namesQuery(target, keys)) })
  const titles = new Map(
    parts.flatMap(({ resource }, at) =>
      [...found[at]?.data ?? none].map(([key, title]) => [`${resource}/${key}`, title])
    )
  )
  const titleAt = ({ key, resource }: RecordName): string | undefined => titles.get(`${resource}/${key}`)
  return {
    nameOf: (of) => titleAt(of) ?? `#${isKeyText(of.key) ? keyPartsOf(of.key).join(", ") : of.key}`,
    addressOf: (of) => {
      const target = catalogue.resources.get(of.resource)
      return target === undefined || titleAt(of) === undefined ? undefined : addressOf(target, of.key)
    }
  }
}

/** Up to two fields that tell records of the same title apart: states, and texts that are not in the title. */
export const detailFields = (resource: Resource): readonly MetaField[] => {
  const named = fieldsOfTitle(resource.view.title ?? "")
  return resource.view.columns.flatMap((name) => {
    const field = resource.fields.get(name)
    return field !== undefined && field.relation === undefined && !named.includes(name) &&
        (isState(field) || field.kind === "text")
      ? [field]
      : []
  }).slice(0, 2)
}

/** What these fields say of a record, in one line; empty where they say nothing. */
export const detailOf = (resource: Resource, record: AnyRecord, reader: TextContext): string =>
  detailFields(resource).map((field) => isolated(short(textOf(resource, field, record[field.name], reader), 100)))
    .filter((word) => word !== "").join(" · ")
