/**
 * Runs the shell lines of the documentation, block after block in one shell, as a reader pastes them. `npx service` and `service` are the command of this
 * checkout, and `npm install` links it. A line that serves goes on in the background. All other commands run in one process, which saves each a second.
 */

import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { text as readText } from "node:stream/consumers"
import { plainEnvironment, runInShell } from "../cli/support.ts"
import { run } from "../examples/checkout.ts"
import { compileCache } from "../support/compiled.ts"
import { type Block, root } from "./blocks.ts"

export interface ShellOptions {
  readonly folder: string
  readonly env?: { readonly [name: string]: string }
  /** What stands for something else on the page, such as an address, and what it is here. */
  readonly given?: { readonly [text: string]: string }
  /** Arguments that every `service` gets on top. */
  readonly service?: string
  /** Whether an answer that refuses ends it. Default true. */
  readonly strict?: boolean
}

const mark = "---8<---"

/** Runs the commands that are sent to it: texts that end with NUL, the first of which are the folder and the database. Answers the exit code, and what was said. */
const openBroker = async (env: { readonly [name: string]: string }): Promise<Server> => {
  const answer = async (request: IncomingMessage): Promise<string> => {
    const [folder = "", database = "", ...args] = (await readText(request)).split("\0").slice(0, -1)
    const own = database === "" ? {} : { DATABASE_URL: database }
    const { code, stderr, stdout } = await runInShell({ args, folder, env: { ...env, ...own } })
    return `${code}\n${stdout}${stderr}`
  }
  const server = createServer((request, response) => {
    answer(request).then((text) => response.end(text), (error: unknown) => response.end(`1\n${String(error)}`))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  return server
}

/** `npm` of the system does all but installing. */
const standIns = (port: number, service: string): { readonly [name: string]: string } => {
  const command = `case "$1" in
  dev | serve) exec '${process.execPath}' --conditions=source '${root}/composition/cli/main.ts' "$@" ${service} ;;
esac
said=$(printf '%s\\0' "$PWD" "\${DATABASE_URL:-}" "$@" ${service} | curl -sS --data-binary @- http://127.0.0.1:${port})
printf '%s\\n' "$said" | tail -n +2
exit "\${said%%[!0-9]*}"`
  return {
    service: command,
    npx: `while [ "$1" != service ]; do shift; done; shift\n${command}`,
    npm:
      `case "$1" in install | ci) mkdir -p node_modules; ln -sfn '${root}' node_modules/resource-admin ;; *) PATH="\${PATH#*:}" exec npm "$@" ;; esac`
  }
}

const prelude = `set -euo pipefail
server=
quit() { if [ -n "$server" ]; then kill $server; wait $server || true; fi; }
trap quit EXIT
serve() {
  quit
  "$@" > service.log 2>&1 & server=$!
  until grep -q listening service.log; do kill -0 $server || { cat service.log; exit 1; }; sleep 0.1; done
}
`
const refusing = "curl() { command curl -sS --fail-with-body \"$@\"; }\n"

/** What each block printed. Fails where a line does, with everything that was said. */
export const runLines = async (
  blocks: readonly Block[],
  { env = {}, folder, given = {}, service = "", strict = true }: ShellOptions
): Promise<readonly string[]> => {
  const bin = mkdtempSync(join(tmpdir(), "bin-"))
  const variables = { ...plainEnvironment(), ...compileCache, SERVICE_LOG: "json", ...env }
  const broker = await openBroker(variables)
  try {
    for (const [name, text] of Object.entries(standIns((broker.address() as AddressInfo).port, service))) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    }
    const text = blocks.map(({ text }) => text).join(`printf '%s\\n' '${mark}'\n`)
      .replaceAll(/^npx service (?:dev|serve [\w./]+)$/gm, (line) => `serve ${line}`)
    const lines = Object.entries(given).reduce((all, [shown, actual]) => all.replaceAll(shown, actual), text)
    const { code, stderr, stdout } = await run("bash", ["-c", prelude + (strict ? refusing : "") + lines], {
      cwd: folder,
      env: { ...variables, PATH: [bin, process.env["PATH"]].join(delimiter) }
    })
    if (code !== 0) throw new Error(`The shell ended with ${code}.\n${stdout}\n${stderr}`)
    return stdout.split(`${mark}\n`)
  } finally {
    broker.close()
    rmSync(bin, { recursive: true, force: true })
  }
}
