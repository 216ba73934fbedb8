/** The way to what sends files: it is loaded with the first one. */

import type { Uploaded, UploadOptions, UploadSource } from "./file.ts"
import { idempotent } from "./key.ts"
import { ConnectionError, ProblemError } from "./problem.ts"
import { backoff, pause, until } from "./transport.ts"
import type { Transport } from "./transport.ts"

/** Sends a file for a field of a resource. What it loads gets what it shares with the client: otherwise a bundler would take the client apart. */
export const makeUpload = ({ send }: Pick<Transport, "send">) =>
async (
  resource: string,
  field: string,
  file: UploadSource,
  options: UploadOptions = {}
): Promise<Uploaded> => {
  const loaded = import("./upload.ts").catch((cause) => {
    throw new ConnectionError(cause)
  })
  const { upload } = await until(options.signal, loaded)
  return upload(
    { backoff, ConnectionError, idempotent, pause, ProblemError, send, until },
    resource,
    field,
    file,
    options
  )
}
