/** What the head of a group shows: its value, how many records it has, and their sums. */

import { ChevronRight } from "lucide-react"
import type { ReactNode } from "react"
import { dayNames } from "../field/day-names.ts"
import { type TextContext, textOf } from "../field/text.ts"
import { Value } from "../field/value.tsx"
import { useLocale } from "../messages/locale.tsx"
import { fieldLabel, type Resource } from "../model/catalogue.ts"
import { isolated, plain, short } from "../model/plain.ts"
import { type Head, sumsOfHead } from "./group-heads.ts"
import { timeText } from "./group-time.ts"
import style from "./group.module.css"

/** A group in words. */
export const groupText = ({ key, title, value }: Head, reader: TextContext): string => {
  const { field, owner, time } = key
  if (value === null) return reader.t.layout.noValue(fieldLabel(owner, field.name))
  if (time !== null) return timeText(time, plain(value), dayNames(reader.format.locale))
  if (field.relation !== undefined) return title ?? `#${short(plain(value), 200)}`
  return short(textOf(owner, field, value, reader), 200) || reader.t.field.empty
}

interface GroupHeadProps {
  /** The resource of the list. */
  readonly resource: Resource
  readonly head: Head
  readonly open: boolean
  readonly title: string | null
}

export const GroupHead = ({ head, open, resource, title }: GroupHeadProps): ReactNode => {
  const { format, t } = useLocale()
  const { field, owner } = head.key
  const { value } = head
  const sums = sumsOfHead(resource, head, format)
  return (
    <>
      <ChevronRight className={`icon ${style.mark}`} data-open={open ? "" : undefined} aria-hidden="true" />
      <b className={style.name}>
        {value === null
          ? <span className="dim cut">{t.layout.noValue(fieldLabel(owner, field.name))}</span>
          : head.key.time !== null
          ? <bdi className="cut">{timeText(head.key.time, plain(value), dayNames(format.locale))}</bdi>
          : field.relation !== undefined
          ? <bdi dir="auto" className="cut">{title ?? `#${short(plain(value), 200)}`}</bdi>
          : <Value resource={owner} field={field} value={value} linked={false} />}
      </b>
      <span className={`num dim ${style.count}`}>
        {head.about ? t.list.about(format.count(head.count)) : format.count(head.count)}
      </span>
      {sums !== "" && <span className={`num cut ${style.sums}`} title={sums}>{isolated(sums)}</span>}
    </>
  )
}
