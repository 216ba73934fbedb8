/**
 * The scenario rows of the edge. They run over every way to reach it; the options they expect stand in `edge.test.ts`.
 */

import type { Asked, Routed } from "./edge-app.ts"

/** One request and what must come of it: status, problem slug, headers, a piece of the body, and what reached the App. */
export interface Scenario extends Asked {
  readonly name: string
  readonly status: number
  readonly slug?: string
  readonly header?: Readonly<Record<string, string | null>>
  readonly has?: string
  readonly routed?: Partial<Routed>
}

const bearer = { "www-authenticate": "Bearer" }
const at = (target: string): string => `/api/v1${target}`

const routes: readonly Scenario[] = [
  { name: "list", target: at("/orders"), status: 200, routed: { use: "list", resource: "orders" } },
  {
    name: "create",
    method: "POST",
    target: at("/orders"),
    body: "{}",
    status: 200,
    routed: { use: "create", body: "{}" }
  },
  { name: "get", target: at("/orders/7"), status: 200, routed: { use: "get", resource: "orders", key: "7" } },
  {
    name: "update",
    method: "PATCH",
    target: at("/orders/7"),
    body: `{"a":1}`,
    status: 200,
    routed: { use: "update", key: "7", body: `{"a":1}` }
  },
  { name: "remove", method: "DELETE", target: at("/orders/7"), status: 204, routed: { use: "remove", key: "7" } },
  {
    name: "undelete",
    method: "POST",
    target: at("/orders/7:undelete"),
    status: 200,
    routed: { use: "undelete", key: "7" }
  },
  { name: "search", method: "POST", target: at("/orders:search"), body: "{}", status: 200, routed: { use: "search" } },
  {
    name: "facets",
    target: at("/orders:facets?field=status"),
    status: 200,
    routed: { use: "facets", query: [["field", "status"]] }
  },
  { name: "series", target: at("/orders:series"), status: 200, routed: { use: "series", resource: "orders" } },
  { name: "histogram", target: at("/orders:histogram"), status: 200, routed: { use: "histogram", resource: "orders" } },
  {
    name: "aggregate",
    target: at("/orders:aggregate?limit=3"),
    status: 200,
    routed: { use: "aggregate", resource: "orders", query: [["limit", "3"]] }
  },
  {
    name: "aggregate by a body",
    method: "POST",
    target: at("/orders:aggregate"),
    body: `{"limit":3}`,
    status: 200,
    routed: { use: "aggregate", resource: "orders", body: `{"limit":3}` }
  },
  { name: "seek", target: at("/orders:seek"), status: 200, routed: { use: "seek", resource: "orders" } },
  {
    name: "batch",
    method: "POST",
    target: at(":batchWrite"),
    body: `{"ops":[]}`,
    status: 200,
    routed: { use: "batch", body: `{"ops":[]}` }
  },
  { name: "meta", target: "/api/meta", status: 200, routed: { use: "meta", path: "/api/meta" } },
  { name: "openapi", target: "/api/openapi.json", status: 200, routed: { use: "openapi" } },
  { name: "a resource named meta", target: at("/meta"), status: 200, routed: { use: "list", resource: "meta" } },
  {
    name: "a resource named docs",
    target: at("/docs/1"),
    status: 200,
    routed: { use: "get", resource: "docs", key: "1" }
  },
  {
    name: "an encoded resource name",
    target: at("/%6Frders"),
    status: 200,
    routed: { use: "list", resource: "orders" }
  },
  { name: "docs mounted beside", target: "/api/docs/ui.js", status: 200, has: "GET /api/docs/ui.js ada" },
  {
    name: "the longest prefix and a verb",
    target: "/api/forms:challenge?a=%31",
    status: 200,
    token: null,
    has: `["/api/forms:challenge","a=%31"`
  }
]

const keys: readonly Scenario[] = [
  ["a%2Fb", "a%2Fb", "get"],
  ["a,b%2Cc", "a,b%2Cc", "get"],
  ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "get"],
  ["x%3Aundelete", "x%3Aundelete", "get"],
  ["undelete", "undelete", "get"],
  [":undelete", ":undelete", "get"],
  ["%E2%82%AC", "%E2%82%AC", "get"],
  ["a+b", "a+b", "get"],
  ["constructor", "constructor", "get"]
].map(([sent, key, use]) => ({
  name: `key ${sent}`,
  target: at(`/orders/${sent}`),
  status: 200,
  routed: { use: use!, key: key!, path: at(`/orders/${sent}`) }
}))

const verbs: readonly Scenario[] = [
  {
    name: "undelete of a key with colons",
    method: "POST",
    target: at("/orders/a:b:undelete"),
    status: 200,
    routed: { use: "undelete", key: "a:b" }
  },
  {
    name: "an encoded verb is a key",
    method: "POST",
    target: at("/orders/a%3Aundelete"),
    status: 405,
    slug: "method-not-allowed"
  },
  { name: "malformed key", target: at("/orders/%zz"), status: 400, slug: "invalid-key" },
  { name: "overlong UTF-8 in a key", target: at("/orders/%C0%AF"), status: 400, slug: "invalid-key" },
  { name: "malformed resource", target: at("/%zz"), status: 404, slug: "not-found" },
  { name: "unknown verb", target: at("/orders:toString"), status: 404, slug: "not-found" },
  { name: "empty key", target: at("/orders/"), status: 404, slug: "not-found" },
  { name: "too many segments", target: at("/orders/1/2"), status: 404, slug: "not-found" },
  { name: "unknown collection verb", method: "POST", target: at(":frobnicate"), status: 404, slug: "not-found" },
  { name: "base path itself", target: at(""), status: 404, slug: "not-found" },
  { name: "neighbour of the base path", target: "/api/v1x/orders", status: 404, slug: "not-found" },
  { name: "system path deeper", target: "/api/meta/x", status: 404, slug: "not-found" }
]

const order: readonly Scenario[] = [
  ...[
    "/",
    "/nowhere",
    at("/orders"),
    at("/hidden"),
    at("/orders:nope"),
    at(":batchWrite"),
    "/api/meta",
    "/api/docs",
    at("/orders/%zz")
  ].map((
    target
  ) => ({
    name: `401 before all else at ${target}`,
    target,
    token: null,
    status: 401,
    slug: "unauthenticated",
    header: bearer
  })),
  {
    name: "401 before 405",
    method: "DELETE",
    target: at("/orders"),
    token: null,
    status: 401,
    slug: "unauthenticated",
    header: bearer
  },
  {
    name: "401 before 415",
    method: "POST",
    target: at("/orders"),
    token: "bad",
    body: "x",
    headers: { "content-type": "text/plain" },
    status: 401,
    slug: "unauthenticated"
  },
  { name: "403 for a refused credential", target: at("/orders"), token: "refused", status: 403, slug: "access-denied" },
  {
    name: "503 without keys",
    target: at("/orders"),
    token: "keys",
    status: 503,
    slug: "unavailable",
    header: { "retry-after": "5" }
  },
  { name: "an authenticator that throws", target: at("/orders"), token: "defect", status: 500, slug: "internal-error" },
  ...["GET", "POST", "PATCH", "DELETE", "OPTIONS"].map((method) => ({
    name: `an invisible resource is 404 for ${method}`,
    method,
    target: at("/hidden/%zz"),
    status: 404,
    slug: "not-found",
    has: "There is no such resource or record."
  })),
  { name: "invisible verb", method: "DELETE", target: at("/hidden:search"), status: 404, slug: "not-found" },
  { name: "invisible for this caller", target: at("/orders"), token: "user-nobody", status: 404, slug: "not-found" },
  {
    name: "405 collection",
    method: "PUT",
    target: at("/orders"),
    status: 405,
    slug: "method-not-allowed",
    header: { allow: "GET, HEAD, POST, PATCH, DELETE" }
  },
  {
    name: "405 record",
    method: "PUT",
    target: at("/orders/1"),
    body: "{}",
    status: 405,
    slug: "method-not-allowed",
    header: { allow: "GET, HEAD, PATCH, DELETE" }
  },
  {
    name: "405 undelete",
    target: at("/orders/1:undelete"),
    status: 405,
    slug: "method-not-allowed",
    header: { allow: "POST" }
  },
  {
    name: "405 search",
    target: at("/orders:search"),
    status: 405,
    slug: "method-not-allowed",
    header: { allow: "POST" }
  },
  {
    name: "405 facets",
    method: "POST",
    target: at("/orders:facets"),
    body: "{}",
    status: 405,
    slug: "method-not-allowed",
    header: { allow: "GET, HEAD" }
  },
  {
    name: "405 aggregate",
    method: "PATCH",
    target: at("/orders:aggregate"),
    body: "{}",
    status: 405,
    slug: "method-not-allowed",
    header: { allow: "GET, HEAD, POST" }
  },
  { name: "405 batch", target: at(":batchWrite"), status: 405, slug: "method-not-allowed", header: { allow: "POST" } },
  {
    name: "405 meta",
    method: "POST",
    target: "/api/meta",
    body: "{}",
    status: 405,
    slug: "method-not-allowed",
    header: { allow: "GET, HEAD" }
  },
  { name: "405 before the key", method: "PUT", target: at("/orders/%zz"), status: 405, slug: "method-not-allowed" },
  {
    name: "405 livez",
    method: "POST",
    target: "/livez",
    token: null,
    status: 405,
    slug: "method-not-allowed",
    header: { allow: "GET, HEAD" }
  },
  {
    name: "OPTIONS that is no preflight",
    method: "OPTIONS",
    target: at("/orders"),
    status: 405,
    slug: "method-not-allowed"
  }
]

const queries: readonly Scenario[] = [
  {
    name: "pairs keep order, repeats and odd forms",
    target: at("/orders?a=1&b=x+y%2B&a=2&&c&=e&d=a=b&%C3%BC=%F0%9D%84%9E"),
    status: 200,
    routed: { query: [["a", "1"], ["b", "x y+"], ["a", "2"], ["c", ""], ["", "e"], ["d", "a=b"], ["ü", "𝄞"]] }
  },
  { name: "no query after the mark", target: at("/orders?"), status: 200, routed: { query: [] } },
  {
    name: "a second question mark",
    target: at("/orders?filter=a?b"),
    status: 200,
    routed: { query: [["filter", "a?b"]] }
  },
  {
    name: "bad value",
    target: at("/orders?filter=%E2%82"),
    status: 400,
    slug: "invalid-parameter",
    has: `"parameter":"filter"`
  },
  {
    name: "overlong value",
    target: at("/orders?filter=%C0%80"),
    status: 400,
    slug: "invalid-parameter",
    has: `"parameter":"filter"`
  },
  { name: "encoded surrogate", target: at("/orders?q=%ED%A0%80"), status: 400, slug: "invalid-parameter" },
  { name: "bad name", target: at("/orders?%zz=1"), status: 400, slug: "invalid-parameter", has: `"parameter":"%zz"` },
  { name: "404 before a bad query", target: at("/hidden?x=%zz"), status: 404, slug: "not-found" },
  {
    name: "10,000 characters of four bytes each",
    target: at(`/orders?filter=${"%F0%9D%84%9E".repeat(10_000)}`),
    status: 200,
    routed: { query: [["filter", "𝄞".repeat(10_000)]] }
  },
  {
    name: "a target beyond the limit",
    target: at(`/orders?filter=${"a".repeat(131_072)}`),
    status: 431,
    slug: "header-too-large"
  }
]

const bodies: readonly Scenario[] = [
  ...[
    "application/json; charset=utf-8",
    "Application/JSON;Charset=\"UTF-8\"",
    "application/merge-patch+json",
    "application/json;q=1"
  ].map((
    type
  ) => ({
    name: `type ${type}`,
    method: "POST",
    target: at("/orders"),
    body: "{}",
    headers: { "content-type": type },
    status: 200
  })),
  ...[
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=latin1",
    "application/jsonp",
    "text/json",
    "xapplication/json"
  ].map((
    type
  ) => ({
    name: `type ${type}`,
    method: "PATCH",
    target: at("/orders/1"),
    body: "{}",
    headers: { "content-type": type },
    status: 415,
    slug: "unsupported-media-type"
  })),
  {
    name: "a compressed body",
    method: "POST",
    target: at("/orders"),
    body: "{}",
    headers: { "content-encoding": "gzip" },
    status: 415,
    slug: "unsupported-media-type",
    header: { "accept-encoding": "identity" }
  },
  {
    name: "identity coding",
    method: "POST",
    target: at("/orders"),
    body: "{}",
    headers: { "content-encoding": "identity" },
    status: 200
  },
  {
    name: "no body at all is the use case's matter",
    method: "POST",
    target: at("/orders"),
    status: 200,
    routed: { use: "create", body: "" }
  },
  {
    name: "exactly the limit",
    method: "POST",
    target: at("/orders"),
    body: "x".repeat(1000),
    status: 200,
    routed: { body: "x".repeat(1000) }
  },
  {
    name: "one byte more",
    method: "POST",
    target: at("/orders"),
    body: "x".repeat(1001),
    status: 413,
    slug: "payload-too-large"
  },
  {
    name: "415 before 413",
    method: "POST",
    target: at("/orders"),
    body: "x".repeat(1001),
    headers: { "content-type": "text/plain" },
    status: 415,
    slug: "unsupported-media-type"
  },
  {
    name: "undelete ignores a body",
    method: "POST",
    target: at("/orders/1:undelete"),
    body: "x".repeat(5000),
    headers: { "content-type": "text/plain" },
    status: 200,
    routed: { use: "undelete" }
  },
  {
    name: "DELETE ignores a body",
    method: "DELETE",
    target: at("/orders/1"),
    body: "{}",
    status: 204,
    routed: { use: "remove" }
  },
  {
    name: "bytes that are not UTF-8 arrive untouched",
    method: "POST",
    target: at("/orders"),
    body: new Uint8Array([0xff, 0x7b]),
    status: 200,
    routed: { body: "\ufffd{" }
  }
]

const answers: readonly Scenario[] = [
  {
    name: "a problem has its members and headers",
    target: at("/orders/stale?secret=1"),
    status: 412,
    slug: "precondition-failed",
    has: `"instance":"/api/v1/orders/stale","changed":["note"]`,
    header: { etag: `"2"` }
  },
  {
    name: "an ETag may be kept privately",
    target: at("/orders/same"),
    status: 200,
    header: { "etag": `"1"`, "cache-control": "private, no-cache" }
  },
  {
    name: "304",
    target: at("/orders/same"),
    headers: { "if-none-match": `"1"` },
    status: 304,
    header: { "etag": `"1"`, "cache-control": "private, no-cache" }
  },
  { name: "no ETag is not stored", target: at("/orders/1"), status: 200, header: { "cache-control": "no-store" } },
  {
    name: "a write with an ETag is not stored",
    method: "PATCH",
    target: at("/orders/same"),
    body: "{}",
    status: 200,
    header: { "cache-control": "no-store" }
  },
  { name: "bytes", target: at("/orders/bytes"), status: 200, header: { "content-length": "8" }, has: `{"é":1}` },
  {
    name: "text beyond ASCII",
    target: at("/orders/unicode"),
    status: 200,
    header: { "content-length": "27" },
    has: "Ünïcødé 𝄞"
  },
  {
    name: "a caller's own meta version",
    target: at("/orders"),
    status: 200,
    header: { "x-meta-version": "models+admin" }
  },
  {
    name: "the models' meta version without a caller",
    target: at("/orders"),
    token: null,
    status: 401,
    header: { "x-meta-version": "models" }
  },
  {
    name: "a request id is taken over",
    target: at("/orders"),
    headers: { "x-request-id": "My-id_1.2" },
    status: 200,
    header: { "x-request-id": "My-id_1.2" }
  },
  {
    name: "a request id of the most characters",
    target: at("/orders"),
    headers: { "x-request-id": "a".repeat(128) },
    status: 200,
    header: { "x-request-id": "a".repeat(128) }
  },
  {
    name: "docs bring their own policy",
    target: "/api/docs",
    status: 200,
    header: { "content-security-policy": "default-src 'self'" }
  },
  { name: "livez", target: "/livez", token: null, status: 200, has: `{"status":"ok"}` },
  { name: "readyz", target: "/readyz", token: null, status: 200, has: `{"status":"ok"}` }
]

const cors: readonly Scenario[] = [
  {
    name: "preflight of a listed origin",
    method: "OPTIONS",
    target: at("/hidden"),
    token: null,
    headers: {
      "origin": "https://admin.example.com",
      "access-control-request-method": "PATCH",
      "access-control-request-headers": "if-match"
    },
    status: 204,
    header: {
      "access-control-allow-origin": "https://admin.example.com",
      "access-control-allow-methods": "GET, HEAD, POST, PATCH, DELETE",
      "access-control-max-age": "77",
      "access-control-allow-headers":
        "Authorization, Content-Type, If-Match, If-None-Match, Prefer, Idempotency-Key, Last-Event-ID, X-Request-Id, X-Service-Position, traceparent, tracestate, Tus-Resumable, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override",
      "vary": "Authorization, Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    }
  },
  {
    name: "preflight of another origin",
    method: "OPTIONS",
    target: at("/orders"),
    token: null,
    headers: { "origin": "https://admin.example.com.evil.test", "access-control-request-method": "GET" },
    status: 401,
    header: { "access-control-allow-origin": null }
  },
  {
    name: "an answer to a listed origin",
    target: at("/orders"),
    headers: { origin: "https://admin.example.com" },
    status: 200,
    header: {
      "access-control-allow-origin": "https://admin.example.com",
      "access-control-allow-credentials": null,
      "access-control-expose-headers":
        "ETag, Location, X-Meta-Version, X-Request-Id, X-Service-Position, X-Service-Warning, Preference-Applied, Idempotency-Replayed, Retry-After, Server-Timing, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Expires"
    }
  },
  {
    name: "an error to a listed origin",
    target: at("/orders"),
    token: null,
    headers: { origin: "https://admin.example.com" },
    status: 401,
    header: { "access-control-allow-origin": "https://admin.example.com" }
  },
  {
    name: "another origin",
    target: at("/orders"),
    headers: { origin: "null" },
    status: 200,
    header: { "access-control-allow-origin": null, "vary": "Authorization, Origin" }
  },
  ...[
    "https://eviladmin.example.com",
    "https://example.com",
    "https://admin.example.com:8443",
    "http://admin.example.com",
    "https://ADMIN.example.com",
    "https://admin.example.com/",
    "https://admin.example.com, https://evil.test"
  ].map((origin): Scenario => ({
    name: `an origin that only looks like the listed one: ${origin}`,
    target: at("/orders"),
    headers: { origin },
    status: 200,
    header: { "access-control-allow-origin": null, "access-control-allow-credentials": null }
  })),
  {
    name: "OPTIONS that is no preflight",
    method: "OPTIONS",
    target: at("/orders"),
    token: null,
    headers: { origin: "https://admin.example.com" },
    status: 401,
    header: { "access-control-allow-methods": null }
  }
]

const signIn: readonly Scenario[] = [
  { name: "status", target: "/api/auth/status", token: null, status: 200, has: `{"needsAdmin":true}` },
  {
    name: "status 405",
    method: "POST",
    target: "/api/auth/status",
    token: null,
    status: 405,
    slug: "method-not-allowed"
  },
  {
    name: "the handler gets method, path and body",
    method: "POST",
    target: "/api/auth/sign-in/email",
    token: null,
    body: `{"email":"a"}`,
    status: 200,
    has: `{"method":"POST","path":"/api/auth/sign-in/email","body":"{\\"email\\":\\"a\\"}"}`
  },
  {
    name: "HEAD reaches the handler as GET",
    target: "/api/auth/token",
    token: null,
    status: 200,
    has: `{"method":"GET"`
  },
  { name: "its status stays", target: "/api/auth/teapot", token: null, status: 418 },
  {
    name: "cookies stay apart",
    target: "/api/auth/token",
    token: null,
    status: 200,
    header: { "set-cookie": "a=1; Path=/, b=2; Path=/" }
  },
  {
    name: "only the trusted hop is told",
    target: "/api/auth/token",
    token: null,
    headers: { "x-forwarded-for": "6.6.6.6, 10.0.0.9" },
    status: 200,
    header: { "x-seen-for": "10.0.0.9" }
  },
  {
    name: "too large for the handler",
    method: "POST",
    target: "/api/auth/sign-in/email",
    token: null,
    body: "x".repeat(501),
    status: 413,
    slug: "payload-too-large",
    has: "larger than 500 bytes"
  },
  {
    name: "a path that is none of the handler's, without a credential",
    target: "/api/auth/nowhere",
    token: null,
    status: 401,
    slug: "unauthenticated"
  },
  { name: "a path that is none of the handler's", target: "/api/auth/nowhere", status: 404, slug: "not-found" },
  { name: "what it throws is hidden", target: "/api/auth/explode", token: null, status: 500, slug: "internal-error" },
  { name: "the prefix alone is not its", target: "/api/auth", token: null, status: 401, slug: "unauthenticated" }
]

/** All rows, by what they are about. */
export const groups: { readonly [group: string]: readonly Scenario[] } = {
  routes,
  keys,
  verbs,
  order,
  queries,
  bodies,
  answers,
  cors,
  "sign-in": signIn
}
