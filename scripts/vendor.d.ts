/**
 * The types of the libraries that the package carries inside, as far as its own types name them. They are opaque: a value of them comes from the
 * package and goes back into it. test/cli/installed.test.ts checks that none is missing.
 */

declare const inside: unique symbol

export declare namespace Effect {
  interface Effect<out A, out E = never, out R = never> {
    readonly [inside]: readonly [A, E, R]
  }
}

export declare namespace Result {
  /** Success or failure, told apart by `_tag`. */
  type Result<A, E = never> =
    | { readonly _tag: "Success"; readonly success: A }
    | { readonly _tag: "Failure"; readonly failure: E }
}

export declare namespace Context {
  interface Context<in R> {
    readonly [inside]: (services: R) => void
  }
  interface Reference<in out Service> {
    readonly [inside]: (service: Service) => Service
  }
  interface ServiceClass<in out Self, in out Identifier extends string, in out Shape> {
    new(_: never): { readonly key: Identifier; readonly Service: Shape }
    readonly [inside]: (self: Self) => Self
  }
}

export declare namespace Clock {
  interface Clock {
    readonly [inside]: "clock"
  }
}

export declare namespace Fiber {
  interface Fiber<out A, out E = never> {
    readonly [inside]: readonly [A, E, "fiber"]
  }
}

export declare namespace Scope {
  interface Scope {
    readonly [inside]: "scope"
  }
}

export declare namespace SqlError {
  interface SqlError extends Error {
    readonly _tag: "SqlError"
  }
}

export declare namespace Cause {
  interface YieldableError extends Error {
    readonly [inside]: "error"
  }
}

export declare namespace Types {
  type VoidIfEmpty<S> = keyof S extends never ? void : S
}
