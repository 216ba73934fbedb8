/**
 * Records as rules get them, and what is known about the fields that rules ask for. A list reads only the columns that rules asked for before.
 * A rule that asks for another one is refused that answer, and the rows are read again. No rule is decided here.
 */

import { Unread } from "../access/rules.ts"
import { fileRecord, fileRecords } from "../file/presentation.ts"
import type { Field, Model, WireRecord } from "../model/model.ts"
import { wireFromCell } from "../value/cell.ts"
import type { Cell, Json } from "../value/kind.ts"

/** A cell in wire form: a file as the object that stands for it, without links. */
export const wireValue = (field: Field, cell: Cell): Json =>
  field.file === null || cell === null
    ? wireFromCell(field, cell)
    : field.kind === "list"
    ? fileRecords(field.file, cell)
    : fileRecord(field.file, cell)

/** The record in wire form with every declared field that the row holds. */
export const wireRecord = (model: Model, cellOf: (field: Field) => Cell): WireRecord => {
  const record: { [name: string]: Json } = {}
  for (const field of model.fields) record[field.name] = wireValue(field, cellOf(field))
  return record
}

/**
 * The columns that the record-level rules of a resource ask for, learnt while they run. At first, and after a rule asked for a column that
 * was not read, the next rows are read with every column. All that rules ask for in those rows is remembered.
 */
export class RuleReads {
  readonly #fields = new Set<Field>()
  #whole = true
  #version = 0

  /** Changes whenever `columns` does. */
  get version(): number {
    return this.#version
  }

  /** Whether the next rows are read with every column. */
  get whole(): boolean {
    return this.#whole
  }

  /** The columns to read for the rules. */
  columns(model: Model): Iterable<Field> {
    return this.#whole ? model.columns : this.#fields
  }

  /** A rule asked for this column of a whole row. */
  learn(field: Field): void {
    if (this.#fields.has(field)) return
    this.#fields.add(field)
    this.#version++
  }

  /** A rule asked for this column, and it was not read. */
  miss(field: Field): void {
    this.learn(field)
    if (this.#whole) return
    this.#whole = true
    this.#version++
  }

  /** Rules were asked about whole rows. */
  endWhole(): void {
    if (!this.#whole) return
    this.#whole = false
    this.#version++
  }
}

const learnt = new WeakMap<Model, { readonly row: RuleReads; readonly full: RuleReads }>()

/** What is known of the rules that decide a resource's `permissions`. Full permissions ask the rules of fields, too. */
export const ruleReads = (model: Model, permissions: "row" | "full"): RuleReads => {
  let reads = learnt.get(model)
  if (reads === undefined) learnt.set(model, reads = { row: new RuleReads(), full: new RuleReads() })
  return reads[permissions]
}

/** The fields that a record has as properties of its own, kept by a proxy's target as far as they were asked for. */
class LazyRecord implements ProxyHandler<{ [name: string]: Json }> {
  readonly #model: Model
  readonly #cellOf: (field: Field) => Cell

  constructor(model: Model, cellOf: (field: Field) => Cell) {
    this.#model = model
    this.#cellOf = cellOf
  }

  #fill(target: { [name: string]: Json }): void {
    for (const { name } of this.#model.fields) this.get(target, name)
  }

  get(target: { [name: string]: Json }, name: string | symbol): unknown {
    if (typeof name === "symbol" || Object.hasOwn(target, name)) return Reflect.get(target, name)
    const field = this.#model.byName.get(name)
    return field === undefined ? Reflect.get(target, name) : target[name] = wireValue(field, this.#cellOf(field))
  }

  has(target: { [name: string]: Json }, name: string | symbol): boolean {
    return Reflect.has(target, name) || (typeof name === "string" && this.#model.byName.has(name))
  }

  // Whatever looks at the record as an object gets all of it.
  ownKeys(target: { [name: string]: Json }): Array<string | symbol> {
    this.#fill(target)
    return Reflect.ownKeys(target)
  }

  getOwnPropertyDescriptor(target: { [name: string]: Json }, name: string | symbol): PropertyDescriptor | undefined {
    this.get(target, name)
    return Reflect.getOwnPropertyDescriptor(target, name)
  }
}

/**
 * The record of one row as rules get it: each field is taken from its cell when a rule asks for it. `cellOf` may throw, and the field then
 * stays unknown.
 */
export const lazyRecord = (model: Model, cellOf: (field: Field) => Cell): WireRecord =>
  new Proxy({}, new LazyRecord(model, cellOf))

/** The cells of a row as rules ask for them. A cell that was not read is noted, and throws. */
export const askedCell = (
  reads: RuleReads,
  whole: boolean,
  position: ReadonlyMap<Field, number>,
  row: ReadonlyArray<Cell>
): (field: Field) => Cell =>
(field) => {
  const at = position.get(field)
  if (at === undefined) {
    reads.miss(field)
    throw new Unread()
  }
  if (whole) reads.learn(field)
  return row[at] ?? null
}
