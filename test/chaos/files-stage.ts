/** The server of the chaos tests of files as a process that may be killed, and requests to it. */

import { type ChildProcess, fork } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { compileCache } from "../support/compiled.ts"
import { tokenOf } from "../support/composed.ts"

export const admin = { id: "root", roles: ["admin"] }
export const authorization = `Bearer ${tokenOf(admin)}`

/** Everything below a folder, as paths from it. */
export const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort()

/** A text that says how long it is. */
export const textOf = (size: number, mark: string): string => `${size} ${mark} `.padEnd(size, "x")

export interface FilesServer {
  readonly url: string
  readonly child: ChildProcess
}

export const startFiles = async (databaseUrl: string, folder: string): Promise<FilesServer> => {
  const child = fork(fileURLToPath(new URL("files-server.ts", import.meta.url)), {
    execArgv: ["--conditions=source"],
    env: { ...process.env, ...compileCache, DATABASE_URL: databaseUrl, FILES_FOLDER: folder },
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", (message) => resolve((message as { readonly port: number }).port))
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)))
  })
  return { url: `http://127.0.0.1:${port}`, child }
}

export const killFiles = ({ child }: FilesServer): Promise<void> =>
  new Promise((resolve) => {
    child.once("exit", () => resolve())
    child.kill("SIGKILL")
  })

/** A request that must succeed. */
export const call = async (url: string, method: string, path: string, body?: object | string) => {
  const answer = await fetch(`${url}/api/v1/${path}`, {
    method,
    headers: {
      authorization,
      "if-match": "*",
      "content-type": typeof body === "object" ? "application/json" : "text/plain"
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return (text === "" ? {} : JSON.parse(text)) as { readonly [name: string]: unknown }
}

/** Sends a file. Its ticket. */
export const upload = async (url: string, field: "file" | "more", text: string): Promise<string> =>
  (await call(url, "POST", `docs:upload?field=${field}&name=a.txt`, text))["value"] as string
