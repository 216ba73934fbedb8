/** A choice of roles, with one checkbox each. */

import type { ReactNode } from "react"
import style from "./place.module.css"

interface RolePickerProps {
  readonly label: string
  readonly choices: readonly string[]
  readonly chosen: readonly string[]
  /** Roles that cannot be removed. */
  readonly held?: readonly string[]
  readonly onChange: (roles: readonly string[]) => void
}

export const RolePicker = ({ choices, chosen, held = [], label, onChange }: RolePickerProps): ReactNode => (
  <fieldset className={style.checks}>
    <legend>{label}</legend>
    {[...new Set([...choices, ...chosen])].map((role) => (
      <label key={role} className={style.check}>
        <input
          type="checkbox"
          checked={chosen.includes(role)}
          disabled={held.includes(role) && chosen.includes(role)}
          onChange={({ target }) =>
            onChange(target.checked ? [...chosen, role] : chosen.filter((each) => each !== role))}
        />
        {role}
      </label>
    ))}
  </fieldset>
)
