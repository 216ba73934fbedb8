/** Saves answers of the service as files. */

import type { Call } from "../../client/index.ts"
import { client } from "../model/client.ts"

/** Reads an answer to its end and saves it as a file. An incomplete answer is not saved. */
export const saveAnswer = async (call: Call, name: string): Promise<void> => {
  const blob = await (await client.open(call)).blob()
  const url = URL.createObjectURL(blob)
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
