/**
 * A real S3 server for tests: Debian's radosgw with one monitor and one store in memory, in a folder of its own, on loopback. It takes about 15
 * seconds to start; one serves a whole test file.
 */

import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3"
import { execFile, spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { randomBytes, randomUUID } from "node:crypto"
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { SignedPut } from "../../core/ports/storage.ts"
import { findProgram } from "../../scripts/programs.mjs"
import { freePort } from "./cluster.ts"

const call = promisify(execFile)

/** Whether the server is installed: `.ci/run` installs it, a developer's machine may do without. */
export const hasBucketServer = (["radosgw", "ceph-mon", "ceph-osd"] as const).every((name) =>
  findProgram(name) !== null
)

/** What to say where it is not installed. */
export const bucketServerNeeded = "needs a real S3 server: apt-get install radosgw ceph-mon ceph-osd"

export interface BucketServer {
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Stops answering, and answers again: a bucket that is away for a while. */
  readonly pause: () => void
  readonly resume: () => void
  readonly stop: () => Promise<void>
}

/** Sends a signed request as it is, with no header of a client's own. Its status. */
export const sendSigned = (
  { headers, url }: SignedPut,
  body: Uint8Array,
  more: { readonly [name: string]: string } = {}
): Promise<number> =>
  new Promise((resolve, reject) => {
    request(url, { method: "PUT", headers: { ...headers, ...more } }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0))
    }).on("error", reject).end(body)
  })

const startMs = 120_000

/** The most objects that an answer of the server lists: far fewer than it would by itself, so that few objects are more than a page. */
export const bucketPage = 40

/** Starts the server. A start that fails is tried again, once, in a new folder and on new ports: one of its programs may die of a busy machine. */
export const startBucketServer = (): Promise<BucketServer> => startOnce().catch(startOnce)

/** Makes a bucket. Gives a client with the keys of the server's owner, to be destroyed by the caller. */
export const makeBucket = async (server: BucketServer, bucket: string): Promise<S3Client> => {
  const { accessKeyId, endpoint, secretAccessKey } = server
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: "WHEN_REQUIRED"
  })
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  return client
}

const startOnce = async (): Promise<BucketServer> => {
  const folder = await mkdtemp(join(tmpdir(), "bucket-"))
  const [first, second, http] = [await freePort(), await freePort(), await freePort()]
  const fsid = randomUUID()
  const conf = join(folder, "ceph.conf")
  const keyring = join(folder, "keyring")
  for (const name of ["mon", "osd", "rgw", "run", "log"]) await mkdir(join(folder, name))
  await writeFile(
    conf,
    `[global]
fsid = ${fsid}
mon host = [v2:127.0.0.1:${first},v1:127.0.0.1:${second}]
mon initial members = a
public addr = 127.0.0.1
keyring = ${keyring}
run dir = ${folder}/run
admin socket = ${folder}/run/$name.asok
log file = ${folder}/log/$name.log
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 2000
paxos propose interval = 0.05
paxos min wait = 0.01
mon data avail warn = 2
mon data avail crit = 1
[mon]
mon data = ${folder}/mon
[osd]
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd class load list = *
osd class default list = *
[client.rgw]
rgw data = ${folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:${http}
rgw run sync thread = false
rgw max listing results = ${bucketPage}
`
  )
  const ceph = (program: string, ...args: readonly string[]) => call(program, ["-c", conf, ...args], { cwd: folder })
  const keys = (...args: readonly string[]) => call("ceph-authtool", [keyring, ...args])
  const all = ["--cap", "mon", "allow *", "--cap", "osd", "allow *"]
  await keys("--create-keyring", "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
  await keys("--gen-key", "-n", "client.admin", ...all, "--cap", "mgr", "allow *")
  await keys("--gen-key", "-n", "client.rgw", ...all)
  await keys("--gen-key", "-n", "osd.0", ...all)
  const map = join(folder, "monmap")
  await call("monmaptool", [
    "--create",
    "--clobber",
    "--fsid",
    fsid,
    "--addv",
    "a",
    `[v2:127.0.0.1:${first},v1:127.0.0.1:${second}]`,
    map
  ])
  await ceph("ceph-mon", "-i", "a", "--mkfs", "--monmap", map, "--keyring", keyring)

  const children: ChildProcess[] = []
  const start = (program: string, ...args: readonly string[]): ChildProcess => {
    const child = spawn(program, ["-c", conf, ...args, "-f"], { cwd: folder, stdio: "ignore" })
    children.push(child)
    return child
  }
  const lives = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null
  /** Asks until the answer is yes: nothing else tells that a server is up. */
  const until = async (what: string, isUp: () => Promise<boolean>): Promise<void> => {
    const end = performance.now() + startMs
    while (!(await isUp().catch(() => false))) {
      if (!children.every(lives)) throw new Error(`${what} is not up: one of the programs ended`)
      if (performance.now() > end) throw new Error(`${what} is not up after ${startMs / 1_000} seconds`)
      await new Promise((done) => setTimeout(done, 100))
    }
  }
  const stop = async (): Promise<void> => {
    const living = children.filter(lives)
    await Promise.all(living.map((child) =>
      new Promise((done) => {
        child.once("exit", done)
        child.kill("SIGKILL")
      })
    ))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    start("ceph-mon", "-i", "a")
    await until(
      "The monitor",
      async () => (await ceph("ceph", "--connect-timeout", "5", "mon", "stat")).stdout !== ""
    )
    const uuid = randomUUID()
    const { stdout } = await ceph("ceph", "osd", "new", uuid)
    await ceph("ceph-osd", "-i", stdout.trim(), "--mkfs", "--osd-uuid", uuid)
    start("ceph-osd", "-i", stdout.trim())
    await until("The store", async () => (await ceph("ceph", "osd", "stat")).stdout.includes("1 up"))
    const gateway = start("radosgw", "-n", "client.rgw")
    const endpoint = `http://127.0.0.1:${http}`
    await until("The gateway", async () => (await fetch(endpoint)).ok)
    const accessKeyId = "TESTKEY"
    const secretAccessKey = randomBytes(18).toString("hex")
    await ceph(
      "radosgw-admin",
      "-n",
      "client.rgw",
      "user",
      "create",
      "--uid=test",
      "--display-name=test",
      `--access-key=${accessKeyId}`,
      `--secret-key=${secretAccessKey}`
    )
    return {
      endpoint,
      accessKeyId,
      secretAccessKey,
      pause: () => void gateway.kill("SIGSTOP"),
      resume: () => void gateway.kill("SIGCONT"),
      stop
    }
  } catch (error) {
    const logs = await Promise.all(
      (await readdir(join(folder, "log"))).map(async (name) =>
        `${name}: ${(await readFile(join(folder, "log", name), "utf8")).slice(-1_000)}`
      )
    )
    await stop()
    throw new Error([String(error), ...logs].join("\n"), { cause: error })
  }
}
