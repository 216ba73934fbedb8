/** A record on a narrow screen, in two lines: title and number, state and time. */

import type { ReactNode } from "react"
import type { MetaField } from "../../client/index.ts"
import { fileOf, ListedPicture } from "../field/file.tsx"
import { holdsFiles, isIdentifier, isMeasure, isState } from "../field/kind.ts"
import { State, Value } from "../field/value.tsx"
import type { Column } from "../grid/columns.ts"
import { type Resource, titleField, titleOf } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { isVisible, plain } from "../model/plain.ts"

import style from "./list.module.css"

interface CardProps {
  readonly resource: Resource
  readonly record: AnyRecord
  readonly columns: readonly Column[]
}

/** The fields of a card: of each kind, the first one among the columns. */
const partsOf = (resource: Resource, columns: readonly Column[]) => {
  const fields = columns.flatMap(({ id }) => resource.fields.get(id) ?? [])
  const title = titleField(resource)
  const lead = title !== undefined && !isIdentifier(resource, title)
    ? title
    : fields.find(({ kind, relation }) => relation !== undefined || kind === "text")
  return {
    lead,
    number: fields.find((field) => isMeasure(resource, field)),
    state: fields.find(isState),
    time: fields.find(({ kind }) => kind === "timestamp") ?? fields.find(({ kind }) => kind === "date"),
    more: fields.find((field) => field !== lead && field.kind === "text"),
    picture: fields.find(holdsFiles)
  }
}

/** The fields that a card shows: a list of cards asks for no others. */
export const cardFields = (resource: Resource, columns: readonly Column[]): readonly MetaField[] =>
  Object.values(partsOf(resource, columns)).filter((field) => field !== undefined)

export const Card = ({ columns, record, resource }: CardProps): ReactNode => {
  const { lead, more, number, picture, state, time } = partsOf(resource, columns)
  const show = (field: typeof lead): ReactNode =>
    field === undefined
      ? null
      : <Value resource={resource} field={field} value={record[field.name]} record={record} linked={false} />
  const named = lead !== undefined && isVisible(plain(record[lead.name]))
  const value = picture === undefined ? null : record[picture.name]
  const file = fileOf(Array.isArray(value) ? value[0] : value)
  return (
    <div className={style.card} data-picture={picture === undefined ? undefined : ""}>
      {picture !== undefined && (
        <span className={style.cardPicture}>{file !== null && <ListedPicture file={file} size={40} />}</span>
      )}
      <b dir="auto" className="cut">{named ? show(lead) : titleOf(resource, record)}</b>
      <span className="num">{show(number)}</span>
      <small className="cut">
        {state !== undefined && record[state.name] != null && <State value={plain(record[state.name])} />}
        <span dir="auto" className="cut">{more === undefined ? titleOf(resource, record) : show(more)}</span>
      </small>
      <small>{show(time)}</small>
    </div>
  )
}
