/** Titles of records that are known by a key only, and what tells records of the same title apart. */

import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query"
import { fieldsOfTitle } from "../../../core/domain/model/title.ts"
import type { MetaField } from "../../client/index.ts"
import { useApp } from "../ground/app.ts"
import { type Resource, titleNeeds, titleOf } from "../model/catalogue.ts"
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

/** A record of some resource, known by name and key. */
export interface RecordName {
  readonly resource: string
  readonly key: string
}

/** The titles of records of several resources, with one request for each resource. A record without one is called by its key. */
export const useNames = (records: readonly RecordName[]): (of: RecordName) => string => {
  const { catalogue } = useApp()
  const keys = Map.groupBy(records, ({ resource }) => resource)
  const names = [...keys.keys()]
  const queries = useQueries({
    queries: names.map((name) => {
      const target = catalogue.resources.get(name)
      return titlesQuery(target, keys.get(name)?.map(({ key }) => key) ?? [], keyFieldOf(target))
    })
  })
  return ({ key, resource }) => queries[names.indexOf(resource)]?.data?.get(key) ?? `#${key}`
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
