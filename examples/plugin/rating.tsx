/** A number from 1 to 5 as stars, and an input that is a group of radio buttons: arrow keys choose. */

import { useId } from "react"
import type { CellProps, InputProps } from "resource-admin/plugin"

const stars = [1, 2, 3, 4, 5]

export const RatingCell = ({ value }: CellProps) => {
  const count = Math.max(0, Math.min(5, Math.round(Number(value ?? 0))))
  return (
    <span role="img" aria-label={`${count} of 5 stars`} style={{ letterSpacing: 1 }}>
      {"★".repeat(count)}
      <span style={{ opacity: 0.3 }}>{"★".repeat(5 - count)}</span>
    </span>
  )
}

export const RatingInput = ({ describedBy, disabled, field, id, invalid, label, onChange, value }: InputProps) => {
  const group = useId()
  return (
    <fieldset
      id={id}
      disabled={disabled}
      aria-label={label ?? field.name}
      aria-describedby={describedBy}
      data-invalid={invalid ? "" : undefined}
      style={{ display: "flex", gap: 6, border: 0, padding: 0, margin: 0 }}
    >
      {stars.map((star) => (
        <label key={star} style={{ cursor: "pointer", opacity: star <= Number(value ?? 0) ? 1 : 0.35 }}>
          <input
            type="radio"
            name={group}
            checked={Number(value) === star}
            onChange={() =>
              onChange(star)}
            aria-label={`${star} stars`}
            style={{ position: "absolute", opacity: 0 }}
          />
          <span aria-hidden="true" style={{ fontSize: 20 }}>★</span>
        </label>
      ))}
    </fieldset>
  )
}
