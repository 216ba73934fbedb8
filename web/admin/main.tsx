/** Where React begins: the first requests, the language, and the gate. */

import "./shell/begin.ts"
import { createRoot } from "react-dom/client"
import { isReset } from "./ground/session.ts"
import { LocaleProvider } from "./messages/locale.tsx"
import { Gate } from "./shell/gate.tsx"

createRoot(document.getElementById("app")!).render(
  <LocaleProvider entryOnly={isReset}>
    <Gate />
  </LocaleProvider>
)
