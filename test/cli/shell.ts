/**
 * A process that runs commands of `service` one after another, each in a folder and with variables of its own. For commands of which it does
 * not matter that they are processes: most of a short command's time is its start.
 */

import { runCommand } from "../../composition/cli/run.ts"

export interface Order {
  readonly args: readonly string[]
  readonly folder: string
  readonly env: { readonly [name: string]: string }
}

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Takes what is written instead of a stream, until it is let go. */
const capture = (stream: NodeJS.WriteStream): { readonly text: () => string; readonly release: () => void } => {
  const own = stream.write.bind(stream)
  let text = ""
  stream.write = ((chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()
    const done = rest.at(-1)
    if (typeof done === "function") queueMicrotask(() => done())
    return true
  }) as typeof stream.write
  return {
    text: () => text,
    release: () => {
      stream.write = own
    }
  }
}

process.on("message", (order: Order) => {
  void (async () => {
    process.chdir(order.folder)
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, order.env)
    process.exitCode = undefined
    const stdout = capture(process.stdout)
    const stderr = capture(process.stderr)
    const code = Number(await runCommand(order.args))
    stdout.release()
    stderr.release()
    // The test may be about to remove the folder.
    process.chdir("/")
    process.send?.({ code, stdout: stdout.text(), stderr: stderr.text() } satisfies Outcome)
  })()
})
process.on("disconnect", () => process.exit())
