import type { KeyboardEvent } from "react"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { AnyRecord } from "../model/client.ts"
import { calendarEvents, type HeldRecord } from "./days-events.ts"

/** An element of the page: on a day, or outside the days. */
class Stub {
  readonly dataset: Record<string, string>
  constructor(day?: string) {
    this.dataset = day === undefined ? {} : { day }
  }
  closest(selector: string): Stub | null {
    return selector === "[data-day]" && "day" in this.dataset ? this : null
  }
}
class StubButton extends Stub {}

beforeEach(() => {
  vi.stubGlobal("Element", Stub)
  vi.stubGlobal("HTMLButtonElement", StubButton)
  vi.stubGlobal("getComputedStyle", () => ({ direction: "ltr" }))
})
afterEach(() => void vi.unstubAllGlobals())

const record: AnyRecord = { etag: "1" }
const held: HeldRecord = { key: "a", record, from: "2026-11-02", over: "2026-11-03", byKeys: true }

/** What a key does while a record is held, and whether it is kept from the browser. */
const press = (key: string, target: Stub): readonly string[] => {
  const done: string[] = []
  const tell = (name: string) => () => void done.push(name)
  const { onKeyDown } = calendarEvents({
    span: "month",
    start: 1,
    held,
    setHeld: (next) => void done.push(next === null ? "none held" : `held over ${next.over}`),
    find: () => record,
    canMove: () => true,
    move: (of, _, days) => void done.push(`move ${of} by ${days}`),
    focus: (day, of) => void done.push(`focus ${of ?? day}`),
    tell: { taken: tell("taken"), over: tell("over"), putBack: tell("put back"), notWritable: tell("not writable") },
    openDay: tell("open day"),
    open: tell("open"),
    peek: tell("peek"),
    create: tell("create")
  })
  const event: Pick<KeyboardEvent, "key" | "altKey" | "ctrlKey" | "metaKey" | "preventDefault" | "stopPropagation"> = {
    key,
    altKey: false,
    ctrlKey: false,
    metaKey: false,
    preventDefault: tell("kept"),
    stopPropagation: () => {}
  }
  onKeyDown(Object.assign(event, { target, currentTarget: target }) as unknown as KeyboardEvent<HTMLElement>)
  return done
}

describe("keys while a record is held", () => {
  it.each(["Enter", " ", "ArrowRight", "F5"])(
    "outside the days %s is the button's, and puts the record back",
    (key) => {
      expect(press(key, new StubButton())).toEqual(["none held", "put back"])
    }
  )

  it("on the way between the days and a button hold it", () => {
    for (const key of ["Tab", "Shift"]) expect(press(key, new StubButton())).toEqual([])
    expect(press("Tab", new Stub("2026-11-03"))).toEqual([])
  })

  it("on the days choose one, put it down or back, and leave the browser its own", () => {
    const day = new Stub("2026-11-03")
    expect(press("ArrowRight", day)).toEqual(["held over 2026-11-04", "over", "focus 2026-11-04", "kept"])
    expect(press("Enter", day)).toEqual(["none held", "move a by 1", "kept"])
    expect(press("Escape", day)).toEqual(["none held", "put back", "focus a", "kept"])
    expect(press("F5", day)).toEqual([])
    // A letter would be a shortcut of the page.
    expect(press("t", day)).toEqual(["kept"])
  })

  it("put it back by Escape from everywhere", () => {
    expect(press("Escape", new StubButton())).toEqual(["none held", "put back", "focus a", "kept"])
  })
})
