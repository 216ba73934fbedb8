/** The roles of the service, and a choice of them with one checkbox each. */

import { useQuery, type UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { client } from "../model/client.ts"
import style from "./place.module.css"

export interface RoleChoices {
  readonly roles: readonly string[]
  readonly defaultRole: string | null
}

/** The roles that accounts may have, which only admins may ask for. */
export const useRoles = (enabled = true): UseQueryResult<RoleChoices> =>
  useQuery({
    queryKey: ["users", "roles"],
    enabled,
    staleTime: Infinity,
    queryFn: ({ signal }) => client.auth.get<RoleChoices>("/admin/roles", {}, { signal })
  })

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
