/** Whether long work lets others have their turns of the event loop. */

/** Others, who take each turn that they get. */
export interface Others {
  /** The turns that they have had. */
  readonly turns: () => number
  readonly stop: () => void
}

/** Starts others beside the work that is tested. */
export const startOthers = (): Others => {
  let turns = 0
  let going = true
  const other = (): void => {
    turns++
    if (going) setImmediate(other)
  }
  setImmediate(other)
  return {
    turns: () => turns,
    stop: () => {
      going = false
    }
  }
}
