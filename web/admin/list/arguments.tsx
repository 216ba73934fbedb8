/** The arguments of a function of the database, above the list of its rows. The address has them. The service checks every value. */

import { lazy, type ReactNode, Suspense, type SyntheticEvent, useId, useState } from "react"
import type { MetaModel } from "../../client/index.ts"
import type { MomentKind } from "../field/moment.ts"
import { setQuery, usePlace } from "../ground/location.ts"
import { useLocale } from "../messages/locale.tsx"
import { labelOf, type Resource } from "../model/catalogue.ts"
import { plain } from "../model/plain.ts"
import { argumentsIn, parameterOf } from "./asked.ts"
import style from "./list.module.css"

// Few lists ask for a date.
const Moment = lazy(() => import("../field/moment.tsx").then(({ Moment }) => ({ default: Moment })))

type Argument = NonNullable<MetaModel["arguments"]>[number]

const typeOf = ({ kind }: Argument): string => kind === "integer" || kind === "float" ? "number" : "text"

const isMoment = (kind: Argument["kind"]): kind is MomentKind =>
  kind === "date" || kind === "timestamp" || kind === "time"

/** A date or a time. The form takes the value, not the text. */
const MomentArgument = (
  { argument: { kind, name, optional }, id, value }: {
    readonly argument: Argument
    readonly id: string
    readonly value: string
  }
): ReactNode => {
  const [now, setNow] = useState(value)
  return (
    <>
      <Suspense fallback={null}>
        <Moment
          id={id}
          kind={isMoment(kind) ? kind : "date"}
          value={now}
          required={!optional}
          onValue={(read, text) => setNow(read ?? text)}
        />
      </Suspense>
      <input type="hidden" name={name} value={now} />
    </>
  )
}

const Input = (
  { argument, id, value }: { readonly argument: Argument; readonly id: string; readonly value: string }
): ReactNode => {
  const { default: given, kind, max, name, optional, values } = argument
  const choices = kind === "boolean" ? ["true", "false"] : values
  const usual = given !== undefined && "value" in given ? plain(given.value) : undefined
  return choices === undefined
    ? (
      <input
        id={id}
        name={name}
        type={typeOf(argument)}
        step={kind === "float" ? "any" : undefined}
        defaultValue={value}
        placeholder={usual}
        required={!optional}
        maxLength={max}
      />
    )
    : (
      <select id={id} name={name} defaultValue={value} required={!optional}>
        <option value="">{usual ?? ""}</option>
        {choices.map((choice) => <option key={choice} value={choice}>{choice}</option>)}
      </select>
    )
}

/** Inputs for all arguments, and a button that reads the rows. */
export const Arguments = ({ resource }: { readonly resource: Resource }): ReactNode => {
  const { t } = useLocale()
  const { query } = usePlace()
  const id = useId()
  const given = argumentsIn(resource, query) ?? {}
  const submit = (event: SyntheticEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const values = (resource.model.arguments ?? []).map(({ name }) => {
      const value = data.get(name)
      return [parameterOf(name), typeof value === "string" && value !== "" ? value : null] as const
    })
    setQuery(Object.fromEntries(values), { replace: false })
  }
  return (
    <form className={style.arguments} onSubmit={submit} key={JSON.stringify(given)}>
      {resource.model.arguments?.map((argument) => (
        <label key={argument.name} htmlFor={`${id}${argument.name}`} title={argument.help}>
          <span>{argument.label ?? labelOf(argument.name)}</span>
          <span className="input">
            {isMoment(argument.kind)
              ? <MomentArgument argument={argument} id={`${id}${argument.name}`} value={given[argument.name] ?? ""} />
              : <Input argument={argument} id={`${id}${argument.name}`} value={given[argument.name] ?? ""} />}
          </span>
        </label>
      ))}
      <button type="submit" className="btn primary">{t.list.showRows}</button>
    </form>
  )
}
