/** The search of a list among the app's own pages. The address has the searched text. */

import { Search } from "lucide-react"
import { type ReactNode, useRef } from "react"
import { setQuery, usePlace } from "../ground/location.ts"

/** The service searches for no longer texts. */
const longest = 200

export const SearchBar = ({ hint, label }: { readonly label: string; readonly hint: string }): ReactNode => {
  const searched = usePlace().query.get("search") ?? ""
  const input = useRef<HTMLInputElement>(null)
  const search = (text: string): void => {
    if (text !== searched) setQuery({ search: text || null, id: null })
  }
  return (
    <form
      role="search"
      className="input"
      onSubmit={(event) => {
        event.preventDefault()
        search(input.current?.value.trim() ?? "")
      }}
    >
      <Search className="icon" aria-hidden="true" />
      <input
        key={searched}
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        title={hint}
        defaultValue={searched}
        maxLength={longest}
        onChange={({ target }) => {
          if (target.value === "") search("")
        }}
      />
    </form>
  )
}
