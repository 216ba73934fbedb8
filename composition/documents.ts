/**
 * The documents about the models: `/api/meta`, `/api/openapi.json` and the version header. The OpenAPI document takes half a millisecond
 * per resource, during which nothing else runs. It is the same for all callers with the same rights, so it is kept. A meta document names
 * its caller and takes a tenth of the time.
 */

import * as Effect from "effect/Effect"
import { codingFor } from "../adapters/http/accept.ts"
import { encode } from "../adapters/http/coding.ts"
import { json } from "../core/app/ground/call.ts"
import type { Call, Reply } from "../core/app/ground/call.ts"
import type { SystemDocuments } from "../core/app/make-app.ts"
import { visitor } from "../core/domain/access/caller.ts"
import { makeAccessResolver } from "../core/domain/access/resolve.ts"
import { accountMailsOf } from "../core/domain/account/mails.ts"
import { type Compiled, needsQueue } from "../core/domain/compile/compile.ts"
import { formAccess } from "../core/domain/form/form.ts"
import { metaDocument, metaEtag } from "../core/domain/meta/meta.ts"
import { openapiDocument, openapiName } from "../core/domain/meta/openapi.ts"
import { metaText } from "../core/domain/meta/short.ts"
import { metaVersions, modelsVersion } from "../core/domain/meta/version.ts"
import { invalidParameter } from "../core/domain/problem.ts"
import { isHeld } from "../core/domain/read/etag.ts"
import type { SealService } from "../core/ports/seal.ts"

/** A document as it is sent; the ETag hashes all of it. */
export interface Document {
  readonly text: string
  readonly etag: string
}

const written = (text: string, seal: SealService): Document => ({ text, etag: metaEtag(text, seal.digest) })

/** A document that answers If-None-Match. */
const answer = (call: Call, { etag, text }: Document): Reply =>
  isHeld(call.header("if-none-match"), etag)
    ? { status: 304, headers: { etag }, body: null }
    : json(200, text, { etag })

/** Shorter texts are sent as they are: they fit into a packet or two anyway. */
const leastCoded = 2_048

/** The same, compressed where the client takes that. Each coding has an ETag of its own (RFC 9110, 8.8.3). */
const codedAnswer = (call: Call, { etag, text }: Document): Effect.Effect<Reply> => {
  const coding = text.length < leastCoded ? "identity" : codingFor(call.header("accept-encoding"))
  const tag = coding === "identity" ? etag : etag.replace(/"$/, `-${coding}"`)
  const plain = answer(call, { etag: tag, text })
  const headers = { ...plain.headers, vary: "Accept-Encoding" }
  return plain.body === null || coding === "identity"
    ? Effect.succeed({ ...plain, headers })
    : Effect.map(Effect.promise(() => encode(Buffer.from(text), coding)), (body) => ({
      ...plain,
      headers: { ...headers, "content-encoding": coding },
      body
    }))
}

/** Most characters of documents that are kept. The last one is always kept, however long it is. */
const keptCharacters = 32 * 2 ** 20

/** Remembers documents by their names, those that were asked for last, up to `most` characters together. */
export const keepDocuments = (most: number): (name: string, make: () => Document) => Document => {
  const documents = new Map<string, Document>()
  let characters = 0
  return (name, make) => {
    const earlier = documents.get(name)
    const document = earlier ?? make()
    documents.delete(name)
    documents.set(name, document)
    if (earlier === undefined) characters += document.text.length
    for (const [oldest, { text }] of documents) {
      if (characters <= most || oldest === name) break
      documents.delete(oldest)
      characters -= text.length
    }
    return document
  }
}

/** Hosts that show files of the service: those that the configuration trusts, and those that public files are linked from. */
const trustedHosts = ({ files }: Compiled): readonly string[] | null =>
  files.used
    ? [
      ...new Set([
        ...files.trustedHosts,
        ...[...files.providers.values()].flatMap(({ publicUrl }) =>
          publicUrl === null ? [] : [new URL(publicUrl).hostname]
        )
      ])
    ]
    : null

const refuseParameters = (call: Call) =>
  call.query.length === 0
    ? Effect.void
    : Effect.fail(invalidParameter(call.query[0]![0].slice(0, 100), "This route takes no parameters."))

/** `publicUrl` becomes the server of the OpenAPI document; `authPath` null: sign-in is not served here. */
export const makeDocuments = (
  compiled: Compiled,
  seal: SealService,
  publicUrl: string,
  authPath: string | null,
  /** Whether there are bulk changes and imports. */
  tasks = false
): SystemDocuments => {
  // Jobs of all tenants stand in one queue, which is the operator's.
  const jobs = needsQueue(compiled) && compiled.tenants === null
  const version = modelsVersion({ ...compiled, sources: compiled.options.sources, queue: jobs }, seal.digest)
  const { auth, functions, models, options: { sources }, pages, userMenu, views } = compiled
  const signIn = {
    twoFactor: auth?.twoFactor === true,
    passkeys: auth?.passkeys !== undefined && auth.passkeys !== false,
    mails: accountMailsOf(auth?.mail)
  }
  const resolver = makeAccessResolver(models, compiled.rules, compiled.defaults)
  const visitors = visitor(compiled.formSettings.tenant)
  const forms = [...compiled.forms.values()].map((form) => ({
    form,
    // It existed at the start. If a rule answers differently later, each submission decides.
    access: formAccess(form, resolver.resolve(visitors, form.model.name)!)
  }))
  const openapiDocuments = keepDocuments(keptCharacters)
  return {
    metaVersion: metaVersions(version, seal.digest),
    meta: (call) =>
      Effect.flatMap(
        refuseParameters(call),
        () =>
          codedAnswer(
            call,
            written(
              metaText(metaDocument({
                caller: call.caller,
                models,
                views,
                userMenu,
                pages,
                functions,
                tasks,
                jobs,
                sources,
                trustedHosts: trustedHosts(compiled),
                resolve: call.access
              })),
              seal
            )
          )
      ),
    openapi: (call) =>
      Effect.map(refuseParameters(call), () => {
        const request = {
          models,
          resolve: call.access,
          caller: call.caller,
          functions,
          tasks,
          forms,
          hooks: compiled.hooks,
          jobs,
          webhooks: compiled.webhooks !== null,
          basePath: compiled.options.basePath,
          authPath,
          signIn,
          title: "Resource API",
          version: "1",
          serverUrl: call.tenantUrl ?? publicUrl.replace(/\/$/, ""),
          ...(compiled.tenants === null ? {} : { operated: true })
        }
        const name = seal.digest(`${call.tenantUrl ?? ""} ${openapiName(request)}`)
        return answer(call, openapiDocuments(name, () => written(JSON.stringify(openapiDocument(request)), seal)))
      })
  }
}
