/** The title of the browser's tab. */

import { useEffect } from "react"
import { config } from "../config.ts"
import { isolated, short } from "../model/plain.ts"

/** Sets the title while the component is mounted. */
export const useTitle = (text: string): void => {
  useEffect(() => {
    document.title = text === "" ? config.name : `${isolated(short(text, 200))} · ${config.name}`
  }, [text])
}
