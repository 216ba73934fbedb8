/**
 * Compiles a generated file in memory, before it is written: nobody gets a file that the commands refuse. What the database says of it is not
 * asked here, because it was made from that.
 */

import * as Result from "effect/Result"
import { compileFunction } from "node:vm"
import { compileModels } from "../../core/domain/compile/compile.ts"
import type { Config } from "../../core/domain/declare/config.ts"
import { fn } from "../../core/domain/declare/database-function.ts"
import { f, relation } from "../../core/domain/declare/field.ts"
import type { Refusal } from "../../core/domain/declare/refusal.ts"
import { defineResource } from "../../core/domain/declare/resource.ts"
import { defineRoles } from "../../core/domain/declare/roles.ts"

/** What would be refused of a generated file, given as plain JavaScript. */
export const refusalsOf = (source: string): readonly Refusal[] => {
  // Its statements stand at the beginnings of lines, and no text within it does.
  const body = source.replaceAll(/^import .*$/gm, "").replaceAll(/^export const /gm, "const ")
  const evaluate = compileFunction(`"use strict"\n${body}\nreturn { resources, views }`, [
    "defineResource",
    "f",
    "fn",
    "relation"
  ]) as (...given: readonly unknown[]) => Pick<Config, "resources" | "views">
  const config = { ...evaluate(defineResource, f, fn, relation), roles: defineRoles({ admin: ["*"] }) }
  return Result.match(compileModels(config), { onFailure: (refusals) => refusals, onSuccess: () => [] })
}
