/** The `openapi` command: prints the document that a caller with the given roles gets from a running service. It needs no database. */

import * as Effect from "effect/Effect"
import { makeSeal } from "../../adapters/seal/seal.ts"
import { makeAccessResolver } from "../../core/domain/access/resolve.ts"
import { parentPath } from "../../core/domain/declare/config.ts"
import { keepsAccounts } from "../assembly.ts"
import { makeDocuments } from "../documents.ts"
import { CliFailure, print } from "./output.ts"
import { loadProject, type ProjectFlags } from "./project.ts"

export const openapi = async (flags: ProjectFlags & { readonly roles: string | undefined }): Promise<void> => {
  const project = await loadProject(flags, true)
  const { compiled, url } = project
  const roles = (flags.roles ?? "admin").split(",").map((role) => role.trim()).filter((role) => role !== "")
  const unknown = compiled.roles === null ? undefined : roles.find((role) => !compiled.roles?.has(role))
  if (unknown !== undefined) {
    throw new CliFailure(
      `There is no role "${unknown}". The roles are: ${[...compiled.roles?.keys() ?? []].join(", ")}.`
    )
  }
  const documents = makeDocuments(
    compiled,
    makeSeal("the document is the same under any secret"),
    url,
    keepsAccounts(project) ? `${parentPath(compiled.options.basePath)}/auth` : null
  )
  const tenant = compiled.auth?.tenant ?? "1"
  const caller = { id: "nobody", roles, tenant: String(tenant) }
  const resolver = makeAccessResolver(compiled.models, compiled.rules, compiled.defaults)
  const reply = await Effect.runPromise(documents.openapi({
    caller,
    access: (resource) => resolver.resolve(caller, resource),
    path: "",
    query: [],
    header: () => null
  }))
  print(JSON.stringify(JSON.parse(String(reply.body)), null, 2))
}
