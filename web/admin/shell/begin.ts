/** What the app does first: it asks who is signed in, and loads its frame and its texts. It draws nothing, so it does not wait for the code that draws. */

import { begin } from "../ground/session.ts"
import { loadChosen } from "../messages/locale.tsx"
import type { Shell } from "./shell.tsx"

/** The frame. It is there before anybody is in: as a lazy part it would come up to 300 ms later, because React waits so long after a fallback. */
export let Frame: typeof Shell | undefined

begin(async () => {
  const [{ ready, Shell }] = await Promise.all([import("./shell.tsx"), loadChosen()])
  await ready
  Frame = Shell
})
