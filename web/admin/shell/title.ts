/** The title of the browser's tab. */

import { useEffect } from "react"
import { config } from "../config.ts"

/** Sets it for as long as the page is shown. */
export const useTitle = (text: string): void => {
  useEffect(() => {
    document.title = text === "" ? config.name : `${text} · ${config.name}`
  }, [text])
}
