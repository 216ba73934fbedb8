/** A receiver of webhooks: verifies each request with the package standardwebhooks, answers at once, and takes every event once. */

import { createServer } from "node:http"
import { Webhook } from "standardwebhooks"

const webhook = new Webhook(process.env["WEBHOOK_SECRET"] ?? "")
const seen = new Set<string>()

createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString()
    try {
      webhook.verify(body, request.headers as { [name: string]: string })
    } catch {
      return response.writeHead(401).end()
    }
    const id = String(request.headers["webhook-id"])
    // The same event may come twice: after a crash, or when an answer was lost.
    if (!seen.has(id)) process.stdout.write(`${body}\n`)
    seen.add(id)
    return response.writeHead(204).end()
  })
}).listen(Number(process.env["PORT"] ?? 3000))
