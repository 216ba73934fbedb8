/** Access of callers to models that a test made together with their rules. It decides nothing. */

import type { Access } from "../../core/domain/access/access.ts"
import type { Caller } from "../../core/domain/access/caller.ts"
import { type AccessResolver, makeAccessResolver, resolveAccess } from "../../core/domain/access/resolve.ts"
import type { AccessDefaults, RulesByResource } from "../../core/domain/access/rules.ts"
import type { RuledModel } from "./model.ts"

/** The rules of models, by name. */
export const rulesOf = (models: ReadonlyMap<string, RuledModel>): RulesByResource =>
  new Map([...models].map(([name, { rules }]) => [name, rules]))

export const accessOf = (model: RuledModel, caller: Caller, defaults: AccessDefaults): Access =>
  resolveAccess(model, model.rules, caller, defaults)

export const resolverOf = (models: ReadonlyMap<string, RuledModel>, defaults: AccessDefaults): AccessResolver =>
  makeAccessResolver(models, rulesOf(models), defaults)
