/** What the doctor looks at about files: whether providers can be used with the rights they need, and variables that name no provider. */

import * as Effect from "effect/Effect"
import { cleanupFolder } from "../../core/domain/file/cleanup.ts"
import { providerVariable } from "../../core/domain/file/provider.ts"
import type { Provider } from "../../core/domain/file/provider.ts"
import type { StorageError, StorageService } from "../../core/ports/storage.ts"
import type { Assembly } from "../assembly.ts"
import { fileSettingsOf } from "../assembly.ts"
import type { Settings } from "../environment.ts"
import { newId, storageOf } from "../files.ts"
import type { Finding } from "./finding.ts"

/** Longest time for one provider, in milliseconds. */
const patienceMs = 15_000

const finding = (level: Finding["level"], message: string, fix: string): Finding => ({
  level,
  check: "files",
  resource: null,
  field: null,
  message,
  fix,
  sql: []
})

const byReason: { readonly [reason in StorageError["reason"]]: string } = {
  Full: "it is full",
  Unavailable: "it does not answer",
  Denied: "its rights or keys do not allow it",
  Body: "it ended early"
}

async function* probe() {
  yield new TextEncoder().encode("{}")
}

/** Writes, reads, lists and deletes a small object that nobody takes for a file. */
const trial = (storage: StorageService): Effect.Effect<string | null> => {
  const path = `${cleanupFolder}doctor-${newId()}.json`
  const step = <A>(name: string, work: Effect.Effect<A, StorageError>) =>
    Effect.mapError(work, ({ reason }) => `${name} (${byReason[reason]})`)
  const all = Effect.gen(function*() {
    yield* step("write", storage.put(path, probe(), { type: "application/json", size: 2 }))
    yield* step("read", storage.head(path))
    yield* step("list", storage.list({ prefix: cleanupFolder, after: null, limit: 1 }))
    yield* step("delete", storage.remove(path))
    return null
  })
  return Effect.timeoutOrElse(Effect.catch(all, (failed) => Effect.succeed(failed)), {
    duration: patienceMs,
    orElse: () => Effect.succeed(`answer within ${patienceMs / 1_000} seconds`)
  })
}

const checkProvider = async (provider: Provider, settings: Settings): Promise<readonly Finding[]> => {
  const failed = await Effect.runPromise(trial(storageOf(provider, fileSettingsOf(settings))))
  return failed === null ? [] : [finding(
    "error",
    `The files of "${provider.name}" cannot be used: it cannot ${failed}.`,
    provider.place.of === "local"
      ? "Give the service's user the folder, and room on its disk."
      : "Check endpoint, bucket and keys. The keys must read, write, list and delete objects."
  )]
}

/** Everything about files. */
export const checkFiles = async (
  { compiled: { files } }: Assembly,
  settings: Settings
): Promise<readonly Finding[]> => {
  const named = new Set([...files.providers.keys()].map(providerVariable))
  const idle = Object.keys(settings.files.addresses).filter((variable) => !named.has(variable)).map((variable) =>
    finding(
      "warning",
      `${variable} is set, and no field or configuration names such a provider.`,
      `Remove it, or check the name. There are: ${[...named].join(", ") || "none"}.`
    )
  )
  const tried = await Promise.all([...files.providers.values()].map((provider) => checkProvider(provider, settings)))
  return [...idle, ...tried.flat()]
}
