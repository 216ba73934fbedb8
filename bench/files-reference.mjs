// What files cost when it is written by hand: bodies through `pipeline`, links checked by an HMAC and one row, images by bare sharp. No types are
// decided, no limits are kept and nothing is scheduled. It is started by bench/files.ts and says "up" once it answers.
import { createHmac, timingSafeEqual } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import { mkdir, open, readFile, rename, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { pipeline } from "node:stream/promises"
import pg from "pg"
import sharp from "sharp"
import { rgbaToThumbHash } from "thumbhash"

const folder = `${process.env.FOLDER}/reference`
await mkdir(folder, { recursive: true })
const database = new URL(process.env.DATABASE_URL.replace(/^(postgres(?:ql)?:\/\/[^/@?]*@)\//, "$1localhost/"))
const pool = new pg.Pool({
  host: database.searchParams.get("host") ?? database.hostname,
  port: Number(database.searchParams.get("port") ?? database.port),
  user: database.username,
  ...(database.password === "" ? {} : { password: decodeURIComponent(database.password) }),
  database: database.pathname.slice(1),
  max: 10
})
const secret = "a secret that measurements need not keep"
let count = 0

const gather = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A body into a file; `flush`: it is on the disk before the answer, as with the service. */
const upload = async (request, flush) => {
  const name = `${folder}/${count++ % 16}.bin`
  const file = createWriteStream(`${name}.part`, { flush })
  await pipeline(request, file)
  await rename(`${name}.part`, name)
  if (flush) {
    const at = await open(folder)
    await at.sync()
    await at.close()
  }
  return name
}

const sign = (text) => createHmac("sha256", secret).update(text).digest()

const signed = async (url, response) => {
  const [path, query = ""] = url.split("?")
  const at = new URLSearchParams(query)
  const sig = Buffer.from(at.get("sig") ?? "", "base64url")
  const expected = sign(`${path}\n${at.get("k")}\n${at.get("exp")}`)
  if (sig.length !== expected.length || !timingSafeEqual(sig, expected) || Number(at.get("exp")) < Date.now() / 1000) {
    response.writeHead(403).end()
    return
  }
  const { rows } = await pool.query({
    name: "held",
    text: "select image from pictures where id = $1",
    values: [at.get("k")]
  })
  const name = path.slice("/signed/".length)
  if (rows[0]?.image?.startsWith(`private:_/${name}?`) !== true) {
    response.writeHead(404).end()
    return
  }
  const bytes = await readFile(`${process.env.FOLDER}/private/_/${name}`)
  response.writeHead(200, { "content-type": "image/jpeg", "content-length": bytes.length }).end(bytes)
}

/** Placeholder and two variants, each from the upload, as the documentation of sharp shows it. */
const image = async (request) => {
  const body = await gather(request)
  const name = `${folder}/image-${count++ % 16}`
  const [card, full, small] = await Promise.all([
    sharp(body).autoOrient().resize(400, 300, { fit: "cover" }).webp().toBuffer(),
    sharp(body).autoOrient().resize(1600, undefined, { withoutEnlargement: true }).webp().toBuffer(),
    sharp(body).autoOrient().resize(100, 100, { fit: "inside" }).ensureAlpha().raw().toBuffer({
      resolveWithObject: true
    })
  ])
  const hash = rgbaToThumbHash(small.info.width, small.info.height, small.data)
  await Promise.all([
    writeFile(`${name}.jpg`, body),
    writeFile(`${name}.card.webp`, card),
    writeFile(`${name}.full.webp`, full)
  ])
  return Buffer.from(hash).toString("base64")
}

/** Answers that are sent as they once came. What that costs is the sending. */
const canned = new Map()

const server = createServer((request, response) => {
  const run = async () => {
    const { url } = request
    if (url.startsWith("/canned/")) {
      if (request.method === "POST") {
        canned.set(url, (await gather(request)).toString("latin1"))
        return response.end("kept")
      }
      const text = canned.get(url)
      response.writeHead(200, { "content-type": "application/json", "content-length": text.length })
      return response.end(text, "latin1")
    }
    if (request.method === "POST" && url === "/image") return response.end(await image(request))
    if (request.method === "POST") {
      const name = await upload(request, url === "/flushed")
      return response.end(name.slice(folder.length + 1))
    }
    if (url.startsWith("/signed/")) return signed(url, response)
    return pipeline(createReadStream(`${folder}${url}`), response)
  }
  run().catch((error) => {
    console.error(error)
    response.destroy()
  })
})
server.listen(Number(process.env.PORT), "127.0.0.1", () => console.log("up"))
process.once("SIGTERM", () => server.close(() => void pool.end()).closeAllConnections())
