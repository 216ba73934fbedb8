import { en, type Messages } from "./en.ts"

export const fr: Messages = en
