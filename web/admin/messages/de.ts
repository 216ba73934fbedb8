import { en } from "./en.ts"
import type { Messages } from "./locale.tsx"
export const de: Messages = en
