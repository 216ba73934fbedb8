/**
 * Assembles the client: one transport, one token, one cached meta, and the routes over them. It has no other state, and sends nothing until it is
 * called.
 */

import { makeBatch } from "./batch.ts"
import type { BatchBuilder } from "./batch.ts"
import { presenter } from "./file.ts"
import type { Uploaded, UploadOptions, UploadSource } from "./file.ts"
import { makeForms } from "./form.ts"
import type { FormClient } from "./form.ts"
import { holdMeta } from "./meta.ts"
import type { MetaHolder, MetaLimits } from "./meta.ts"
import { makeResourceClient } from "./records.ts"
import type { ResourceClient } from "./records.ts"
import { makeUpload } from "./send-file.ts"
import { makeSession, withCookies } from "./session.ts"
import type { AuthClient } from "./session.ts"
import { isSafeSource, sourceMetaBytes, sourceTimeout } from "./source.ts"
import type { Source } from "./source.ts"
import { holdTokens } from "./token.ts"
import type { TokenSource } from "./token.ts"
import { makeTransport } from "./transport.ts"
import type { Answer, Call, CallOptions, FetchFunction } from "./transport.ts"
import type { FileFieldOf, ResourceName } from "./typed.ts"
import { makeWatch } from "./watch.ts"
import type { WatchEvent, WatchOptions } from "./watch.ts"

export interface ClientOptions {
  /**
   * The service: `https://shop.example.org` (its resources are at `/api/v1`), or its resources API where that has another path. Left out, the
   * page's own origin. With an absolute base, addresses of files in records are absolute.
   */
  readonly baseUrl?: string
  /**
   * The bearer token: a text, or a function that gives one and is asked again before it runs out and when it is refused. Left out, that of the
   * session that `auth.signIn` begins, or that the browser has.
   */
  readonly token?: string | TokenSource
  /** Where signing in happens, when that is another server. Left out, `/auth` beside the resources. */
  readonly authUrl?: string
  /** Sends requests; the runtime's `fetch` when left out. That of `createAdmin` calls a service in the same process. */
  readonly fetch?: FetchFunction
  /** Most further attempts of a call that may be sent again. Default 2. */
  readonly retries?: number
}

/** A client of one service. `C` is `typeof config`; without it names and values are open. */
export interface Client<C = unknown> extends FormClient, Pick<MetaHolder, "meta"> {
  /** URL of the resources API. */
  readonly baseUrl: string
  readonly resource: <Name extends ResourceName<C>>(name: Name) => ResourceClient<C, Name>
  /** Begins a batch: up to 500 writes in one transaction. */
  readonly batch: () => BatchBuilder<C>
  /** Sends a file for a field; `value` of the answer is what a write of the field takes. */
  readonly upload: <Name extends ResourceName<C>>(
    resource: Name,
    field: FileFieldOf<C, Name>,
    file: UploadSource,
    options?: UploadOptions
  ) => Promise<Uploaded>
  /** Changes of a resource as they happen, until the signal ends. */
  readonly watch: <Name extends ResourceName<C>>(
    resource: Name,
    options?: WatchOptions<C, Name>
  ) => AsyncIterable<WatchEvent>
  /** Calls a function of the API (`POST /api/functions/{name}`). */
  readonly call: <Output = unknown>(name: string, input?: unknown, options?: CallOptions) => Promise<Output>
  /** Any other route, with the token, the retries and the errors of all calls. */
  readonly request: <T = unknown>(call: Call) => Promise<Answer<T>>
  /** Any other route whose answer is a file: the response with its body unread. A refusal rejects; nothing is retried. */
  readonly open: (call: Call) => Promise<Response>
  readonly auth: AuthClient
  /** The bearer token; with the one that was refused, another one. */
  readonly token: (rejected?: string | null) => Promise<string | null>
  /** Calls back when the declarations or the caller's roles are others than before: read `meta` again. Gives a function that ends it. */
  readonly onMetaVersion: (listener: (version: string) => void) => () => void
}

const trimmed = (url: string): string => url.replace(/\/+$/, "")

/** The resources API and its parent. */
const placesOf = (baseUrl: string): { readonly resources: string; readonly system: string } => {
  const absolute = /^https?:\/\//.test(baseUrl)
  if (absolute && !URL.canParse(baseUrl)) throw new TypeError(`${baseUrl} is no URL.`)
  if (!absolute && baseUrl !== "" && !/^\/(?!\/)/.test(baseUrl)) {
    throw new TypeError("baseUrl is no http(s) URL and no path.")
  }
  const base = trimmed(baseUrl)
  const resources = base === "" || /^https?:\/\/[^/]+$/.test(base) ? `${base}/api/v1` : base
  return { resources, system: resources.slice(0, resources.lastIndexOf("/")) }
}

const build = <C>(options: ClientOptions, limits?: MetaLimits): Client<C> => {
  const { retries = 2, token } = options
  const { resources, system } = placesOf(options.baseUrl ?? "")
  const fetch: FetchFunction = options.fetch ?? ((url, init) => globalThis.fetch(url, init))
  const source: TokenSource = typeof token === "function"
    ? token
    : () => typeof token === "string" ? token : fetchToken()
  const tokens = holdTokens(source)
  const authTransport = makeTransport({
    resources,
    system: trimmed(options.authUrl ?? `${system}/auth`),
    fetch: withCookies(fetch),
    tokens,
    retries,
    versions: () => undefined
  })
  const { fetchToken, ...auth } = makeSession(authTransport.send, tokens)
  const transport = makeTransport({
    resources,
    system,
    fetch,
    tokens,
    retries,
    versions: (version) => meta.saw(version)
  })
  const { send } = transport
  const meta = holdMeta(send, limits)
  const present = presenter(system)
  const upload = makeUpload(transport)
  const watch = makeWatch(transport)
  const made = new Map<string, ResourceClient>()
  const client = {
    ...makeForms(send),
    baseUrl: resources,
    resource: (name: string) => {
      let resource = made.get(name)
      if (resource === undefined) {
        made.set(name, resource = makeResourceClient({ ...transport, present, upload, watch }, name))
      }
      return resource
    },
    batch: () => makeBatch(send, present),
    upload,
    watch: (resource: string, options?: WatchOptions) => client.resource(resource).watch(options),
    call: async <Output>(name: string, input: unknown = {}, { signal }: CallOptions = {}) =>
      (await send<Output>({
        method: "POST",
        path: `/functions/${encodeURIComponent(name)}`,
        system: true,
        json: input,
        signal
      })).data,
    request: send,
    open: transport.open,
    meta: meta.meta,
    onMetaVersion: meta.onVersion,
    auth: {
      ...auth,
      post: async (...asked: Parameters<AuthClient["post"]>) => {
        // Another user sees another meta.
        meta.forget()
        return auth.post(...asked)
      }
    },
    token: tokens.token
  }
  return client as Client<C>
}

/**
 * A client of a service: `createClient<typeof config>({ baseUrl, token })`. It runs wherever there is `fetch`; every call takes an `AbortSignal`,
 * refusals are `ProblemError`, no answer is `ConnectionError`.
 *
 * @example
 * const client = createClient<typeof config>({ baseUrl: "https://shop.example.org", token })
 * for await (const order of client.resource("orders").list({ filter: (o) => o.status.eq("paid") })) print(order.total)
 */
export const createClient = <C = unknown>(options: ClientOptions = {}): Client<C> => build(options)

/**
 * The client of a source, which sends the person's own token. Throws where the token must not be sent: over plain http to another machine.
 */
export const sourceClient = (
  own: Pick<Client, "token">,
  source: Pick<Source, "url">,
  options: Pick<ClientOptions, "fetch" | "retries"> = {}
): Client => {
  if (!isSafeSource(source.url)) throw new TypeError("A source is read over https only.")
  return build({ ...options, baseUrl: source.url, token: own.token }, (options) => ({
    maxBytes: sourceMetaBytes,
    signal: AbortSignal.any([AbortSignal.timeout(sourceTimeout), options?.signal ?? []].flat())
  }))
}
