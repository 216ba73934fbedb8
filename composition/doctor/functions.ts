/** Functions of the database whose rows resources show: what of them could be used by others against the service. */

import type { FunctionFacts } from "../../core/domain/compile/catalogue.ts"
import type { Compiled } from "../../core/domain/compile/compile.ts"
import { functionOf } from "../../core/domain/compile/function-facts.ts"
import { quotedName } from "../../core/domain/model/table.ts"
import type { LiveFacts } from "../startup.ts"
import type { Finding } from "./finding.ts"

const nameOf = ({ name, schema, signature }: FunctionFacts): string =>
  `${quotedName(schema)}.${quotedName(name)}(${signature})`

/** Findings about functions that run with the rights of their owners. */
export const checkFunctions = ({ models }: Pick<Compiled, "models">, { functions }: LiveFacts): readonly Finding[] =>
  [...models.values()].flatMap((model): readonly Finding[] => {
    const facts = model.function === undefined ? null : functionOf(model, functions.get(model.name) ?? [])
    if (facts?.definer !== true) return []
    return [
      facts.fixesPath
        ? {
          level: "note",
          check: "function",
          resource: model.name,
          field: null,
          message: `${
            nameOf(facts)
          } is SECURITY DEFINER: it reads with the rights of its owner, whatever the service may read.`,
          fix: "Make sure that who may read the resource may see all of its rows.",
          sql: []
        }
        : {
          level: "warning",
          check: "function",
          resource: model.name,
          field: null,
          message: `${
            nameOf(facts)
          } is SECURITY DEFINER and has no search path of its own: who can make objects in a schema of the path can run code with the rights of its owner.`,
          fix: null,
          sql: [`alter function ${nameOf(facts)} set search_path = ${quotedName(facts.schema)}, pg_temp;`]
        }
    ]
  })
