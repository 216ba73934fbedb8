/**
 * A bounded memory of verified answers, in two generations, so that eviction costs nothing per hit. It may forget at any time, and never
 * holds more than its bound.
 */

export interface Cache<V> {
  readonly get: (key: string) => V | undefined
  readonly set: (key: string, value: V) => void
  readonly delete: (key: string) => void
}

/** A cache of at most `size` entries. An entry may be forgotten when it was not asked for while half as many new ones came. */
export const makeCache = <V>(size: number): Cache<V> => {
  const half = Math.max(1, Math.floor(size / 2))
  let young = new Map<string, V>()
  let old = new Map<string, V>()
  const set = (key: string, value: V): void => {
    if (young.size >= half) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }
  return {
    get: (key) => {
      const value = young.get(key)
      if (value !== undefined) return value
      const oldValue = old.get(key)
      if (oldValue !== undefined) {
        old.delete(key)
        set(key, oldValue)
      }
      return oldValue
    },
    set,
    delete: (key) => {
      young.delete(key)
      old.delete(key)
    }
  }
}
