/** Asks which value to keep if two people changed the same field. A change by only one of them is kept without a question. */

import { type ReactNode, useState } from "react"
import { textOf } from "../field/text.ts"
import { useReader } from "../field/value.tsx"
import { useLastMaker } from "../ground/makers.ts"
import { Dialog } from "../ground/parts.tsx"
import { useMessages } from "../messages/locale.tsx"
import { fieldLabel, keyOf, type Resource } from "../model/catalogue.ts"
import type { AnyRecord } from "../model/client.ts"
import { short } from "../model/plain.ts"
import style from "./merge.module.css"
import { type Conflict, type FormValues, mergedChanges, type MergeRow, type Side } from "./merge.ts"

interface MergeDialogProps {
  readonly resource: Resource
  readonly conflict: Conflict
  readonly onBack: () => void
  readonly onDiscard: () => void
  readonly onSave: (changes: FormValues, over: AnyRecord) => void
}

export const MergeDialog = ({ conflict, onBack, onDiscard, onSave, resource }: MergeDialogProps): ReactNode => {
  const t = useMessages()
  const reader = useReader()
  const who = useLastMaker(resource, keyOf(resource, conflict.current)) ?? null
  const [choices, setChoices] = useState<{ readonly [field: string]: Side }>({})
  const textFor = (row: MergeRow, value: unknown): string => {
    const field = resource.fields.get(row.field)
    const text = field === undefined ? "" : textOf(resource, field, value, reader)
    return text === "" ? t.field.empty : short(text, 2_000)
  }
  const chosen = (row: MergeRow): Side =>
    row.overlap ? choices[row.field] ?? "mine" : row.mineChanged ? "mine" : "theirs"
  const side = (row: MergeRow, which: Side): ReactNode => {
    const there = which === "mine" ? row.mineChanged : row.theirsChanged
    if (!there) return <span className="dim">{t.record.unchanged}</span>
    const text = textFor(row, which === "mine" ? row.mine : row.theirs)
    const on = chosen(row) === which
    return row.overlap
      ? (
        <button
          type="button"
          className={style.pick}
          aria-pressed={on}
          onClick={() => setChoices({ ...choices, [row.field]: which })}
        >
          <bdi>{text}</bdi>
        </button>
      )
      : (
        <span className={style.pick} data-kept="">
          <bdi>{text}</bdi>
        </span>
      )
  }
  return (
    <Dialog
      title={t.record.mergeTitle(resource.view.label.singular, who)}
      text={t.record.mergeText}
      onClose={onBack}
      footer={
        <>
          <button type="button" className="btn quiet" onClick={onBack}>{t.record.backToEditing}</button>
          <button type="button" className="btn" onClick={onDiscard}>{t.record.discardMine}</button>
          <button
            type="button"
            className="btn primary"
            onClick={() => onSave(mergedChanges(conflict.rows, choices), conflict.current)}
          >
            {t.record.saveMerged}
          </button>
        </>
      }
    >
      <div className={style.merge}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.record.mergeField}</th>
              <th scope="col">{t.record.mergeBefore}</th>
              <th scope="col">{t.record.mergeTheirs}</th>
              <th scope="col">{t.record.mergeMine}</th>
            </tr>
          </thead>
          <tbody>
            {conflict.rows.map((row) => (
              <tr key={row.field}>
                <th scope="row">{fieldLabel(resource, row.field)}</th>
                <td className="dim">
                  <bdi>{textFor(row, row.before)}</bdi>
                </td>
                <td>{side(row, "theirs")}</td>
                <td>{side(row, "mine")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  )
}
