/** Parts of the app that are loaded when they are needed, or before. */

import { type ComponentType, lazy, type ReactNode, useState } from "react"

/**
 * Like `lazy`, but a part that is loaded already is drawn at once. `lazy` would draw the fallback first, and after a fallback React waits for up to 300 ms
 * before it shows the part.
 */
export const part = <Module, Props extends object>(
  load: () => Promise<Module>,
  pick: (module: Module) => (props: Props) => ReactNode
) => {
  let ready: ComponentType<Props> | undefined
  const loaded = async () => ({ default: ready ??= pick(await load()) })
  const Later = lazy(loaded) as ComponentType<Props>
  const Part = (props: Props): ReactNode => {
    // As long as it is mounted it stays the same component, which keeps its state.
    const [Shown] = useState(() => ready ?? Later)
    return <Shown {...props} />
  }
  return { load: loaded, Part }
}
