/** Where the app begins: the first requests, the styles, the language, and the gate. */

import "./shell/begin.ts"
import { createRoot } from "react-dom/client"
import "./style/fonts.css"
import "./style/tokens.css"
import "./style/base.css"
import { isReset } from "./ground/session.ts"
import { LocaleProvider } from "./messages/locale.tsx"
import { Gate } from "./shell/gate.tsx"

createRoot(document.getElementById("app")!).render(
  <LocaleProvider entryOnly={isReset}>
    <Gate />
  </LocaleProvider>
)
