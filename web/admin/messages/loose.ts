/** The shape of texts without the texts: the same names, each with any text, or with a function of the same arguments that returns one. */
export type Loose<T> = {
  readonly [K in keyof T]: T[K] extends string ? string : T[K] extends object ? LooseOrCall<T[K]> : T[K]
}
type LooseOrCall<T> = T extends (...args: infer A) => string ? (...args: A) => string : Loose<T>
