/**
 * The engine for sign-in with identity providers. It is made when it is first needed, and again when a provider was away. A provider that
 * does not answer counts as away for ten seconds. It delays neither passwords nor users of other providers for longer than one attempt.
 */

import type { Provider } from "../../core/domain/account/identity-provider.ts"
import { discover, type DiscoveredProvider } from "./discovery.ts"
import type { Engine } from "./engine.ts"

/** Milliseconds before a provider that was away is asked again. */
const pauseMs = 10_000
/** Milliseconds after which the descriptions are read again. */
const renewMs = 60 * 60_000

interface ProviderEngine {
  readonly engine: Engine
  readonly at: number
}

/** Answers the engine that knows the provider, or null when the provider cannot be had now. */
export const makeProviderEngines = (
  providers: readonly Provider[],
  make: (found: readonly DiscoveredProvider[]) => Promise<Engine>,
  onError: (cause: unknown) => void
): (id: string) => Promise<Engine | null> => {
  let made: ProviderEngine | undefined
  let making: Promise<void> | undefined

  const describe = async (provider: Provider): Promise<DiscoveredProvider[]> => {
    try {
      return [await discover(provider)]
    } catch (cause) {
      onError(cause)
      return []
    }
  }

  const remake = async (): Promise<void> => {
    const engine = await make((await Promise.all(providers.map(describe))).flat())
    const before = made?.engine
    // An engine that knows more providers is kept in preference to a new one that knows fewer.
    const worse = before !== undefined && [...before.providers].some((id) => !engine.providers.has(id))
    made = { engine: worse ? before : engine, at: performance.now() }
  }

  return async (id) => {
    const age = made === undefined ? Infinity : performance.now() - made.at
    const knows = made?.engine.providers.has(id) === true
    if (age > renewMs || (!knows && age > pauseMs)) {
      const started = making ??= remake().finally(() => {
        making = undefined
      })
      // Nobody waits for a renewal. A first reading is waited for.
      if (knows) started.catch(onError)
      else await started
    }
    return made?.engine.providers.has(id) === true ? made.engine : null
  }
}
