/**
 * The engine for sign-in with identity providers: made when first wanted, made again when a provider was away. A provider that does not
 * answer is away for ten seconds and holds up neither passwords nor other providers' users for longer than one attempt.
 */

import type { Provider } from "../../core/domain/account/provider.ts"
import type { Engine } from "./engine.ts"
import { discover, type DiscoveredProvider } from "./oidc.ts"

/** Milliseconds before a provider that was away is asked again. */
const pauseMs = 10_000
/** Milliseconds after which the descriptions are read again. */
const renewMs = 60 * 60_000

interface Made {
  readonly engine: Engine
  readonly ids: ReadonlySet<string>
  readonly at: number
}

/** Answers the engine that knows the provider, or null when the provider cannot be had now. */
export const makeProviderEngines = (
  providers: readonly Provider[],
  make: (found: readonly DiscoveredProvider[]) => Promise<Engine>,
  onError: (cause: unknown) => void
): (id: string) => Promise<Engine | null> => {
  const described = new Map<string, { readonly provider: DiscoveredProvider; readonly at: number }>()
  let made: Made | undefined
  let making: Promise<Made> | undefined

  const describe = async (provider: Provider): Promise<DiscoveredProvider[]> => {
    const known = described.get(provider.id)
    if (known !== undefined && performance.now() - known.at < renewMs) return [known.provider]
    try {
      const found = await discover(provider)
      described.set(provider.id, { provider: found, at: performance.now() })
      return [found]
    } catch (cause) {
      onError(cause)
      // A description that was good an hour ago is better than none.
      return known === undefined ? [] : [known.provider]
    }
  }

  const remake = async (): Promise<Made> => {
    const found = (await Promise.all(providers.map(describe))).flat()
    made = {
      engine: await make(found),
      ids: new Set(found.map(({ provider }) => provider.id)),
      at: performance.now()
    }
    return made
  }

  return async (id) => {
    const age = made === undefined ? Infinity : performance.now() - made.at
    if (made === undefined || age > renewMs || (!made.ids.has(id) && age > pauseMs)) {
      const started = making ??= remake().finally(() => {
        making = undefined
      })
      // A renewal is nobody's wait; a first reading is.
      if (made === undefined || !made.ids.has(id)) await started
      else started.catch(onError)
    }
    return made?.ids.has(id) === true ? made.engine : null
  }
}
