/** Scenarios of what is refused on every reading route alike: credentials, invisible resources, methods, parameters. For any backend. */

import { describe, expect, it } from "vitest"
import { at, expectParameter, expectProblem } from "../../support/answer.ts"
import type { TestService } from "../../support/composed.ts"
import { callers, homeless } from "../../support/shop.ts"

/** Every reading route of a resource: method, path after the name, body. */
const routes: ReadonlyArray<readonly [method: string, rest: string, body: object | undefined]> = ([
  ["GET", ""],
  ["HEAD", ""],
  ["POST", ":search", {}],
  ["GET", "/1"],
  ["HEAD", "/1"],
  ["GET", ":facets?field=status"],
  ["GET", ":series?field=placed_at"],
  ["GET", ":histogram?field=qty"],
  ["GET", ":seek?position=0"]
] as ReadonlyArray<readonly [string, string, object?]>).map(([method, rest, body]) => [method, rest, body])

/** Further ways to knock at a resource. */
const more: typeof routes = ([
  ["POST", "", {}],
  ["PATCH", "/1", {}],
  ["DELETE", "/1"],
  ["POST", "/1:undelete"],
  ["PUT", "/1", {}],
  ["DELETE", ""],
  ["GET", ":search"],
  ["POST", ":facets", {}],
  ["GET", ":nope"],
  ["GET", "/1/2"],
  ["OPTIONS", ""],
  ["GET", "?page_size=x"],
  ["GET", "/%ZZ"],
  ["GET", "?filter=%FF"]
] as ReadonlyArray<readonly [string, string, object?]>).map(([method, rest, body]) => [method, rest, body])

export const refusalScenarios = (service: () => TestService): void => {
  const { admin, auditor, nobody, regional, sales, writer } = callers
  const call = (
    ...[caller, method, path, body]: readonly [Parameters<TestService["call"]>[0], string, string, unknown?]
  ) => service().call(caller, method, path, body === undefined ? {} : { body })

  describe("refusals", () => {
    it.each([...routes, ...more])("%s %s needs a credential first", async (method, rest, body) => {
      for (const path of [`/api/v1/orders${rest}`, `/api/v1/vaultzq${rest}`, `/api/v1/nothing${rest}`]) {
        const answer = await call(null, method, path, body)
        expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"])
        if (method !== "HEAD") expectProblem(answer, "unauthenticated", path.split("?")[0]!)
      }
    })

    it("ask for a credential on every other path as well", async () => {
      for (
        const path of [
          "/api/meta",
          "/api/openapi.json",
          "/api/v1",
          "/api/v1:batchWrite",
          "/api/nope",
          "/nope",
          "/api/v1/"
        ]
      ) {
        expectProblem(await call(null, "GET", path), "unauthenticated", path)
      }
    })

    it.each([...routes, ...more])(
      "%s %s on an invisible resource is the 404 of no resource",
      async (method, rest, body) => {
        for (
          const [caller, resource] of [[auditor, "vaultzq"], [sales, "accounts"], [nobody, "orders"], [
            regional,
            "orders"
          ], [writer, "lines"]] as const
        ) {
          const [hidden, absent] = await Promise.all(
            [resource, "zkzk"].map((name) => call(caller, method, `/api/v1/${name}${rest}`, body))
          )
          expect(hidden!.status).toBe(404)
          expect(hidden!.text.replaceAll(resource, "zkzk")).toBe(absent!.text)
          if (method !== "HEAD") {
            expectProblem(
              hidden!,
              "not-found",
              `/api/v1/${resource}${rest.split("?")[0]}`,
              {},
              "There is no such resource or record."
            )
          }
          const headers = (answer: typeof hidden) =>
            [...answer!.headers].filter(([name]) => name !== "x-request-id" && name !== "content-length")
          expect(headers(hidden)).toEqual(headers(absent))
        }
      }
    )

    it.each(routes.filter(([method]) => method !== "HEAD"))(
      "%s %s is denied to who may only create",
      async (method, rest, body) => {
        expectProblem(
          await call(writer, method, `/api/v1/feedback${rest}`, body),
          "access-denied",
          `/api/v1/feedback${rest.split("?")[0]}`
        )
      }
    )

    it.each(routes.filter(([method]) => method !== "HEAD"))(
      "%s %s on a tenant's resource needs a tenant",
      async (method, rest, body) => {
        expectProblem(
          await call(homeless, method, `/api/v1/orders${rest}`, body),
          "tenant-required",
          `/api/v1/orders${rest.split("?")[0]}`
        )
      }
    )

    it.each([
      ["PUT", "/orders", "GET, HEAD, POST, PATCH, DELETE"],
      ["POST", "/orders/1", "GET, HEAD, PATCH, DELETE"],
      ["GET", "/orders:search", "POST"],
      ["POST", "/orders:facets", "GET, HEAD"],
      ["POST", "/orders:series", "GET, HEAD"],
      ["PATCH", "/orders:histogram", "GET, HEAD"],
      ["DELETE", "/orders:seek", "GET, HEAD"],
      ["GET", "/orders/1:undelete", "POST"],
      ["GET", ":batchWrite", "POST"],
      ["OPTIONS", "/orders", "GET, HEAD, POST, PATCH, DELETE"]
    ])("%s %s is a 405 with Allow: %s", async (method, rest, allow) => {
      const answer = await call(
        admin,
        method,
        `/api/v1${rest}`,
        method === "GET" || method === "DELETE" || method === "OPTIONS" ? undefined : {}
      )
      expectProblem(answer, "method-not-allowed", `/api/v1${rest}`)
      expect(answer.headers.get("allow")).toBe(allow)
    })

    it.each([
      "/api/v1/orders:nope",
      "/api/v1/orders:",
      "/api/v1",
      "/api/v1/",
      "/api/v1:nope",
      "/api/v1//orders",
      "/api/v1/orders/1/2",
      "/api/v2/orders",
      "/api/nope",
      "/other"
    ])(
      "%s is nothing",
      async (path) => expectProblem(await call(admin, "GET", path), "not-found", path)
    )

    it.each([
      ["/orders", "nope"],
      ["/orders", "Filter"],
      ["/orders", "position"],
      ["/orders/1", "filter"],
      ["/orders/1", "count"],
      ["/orders:facets?field=status", "page_size"],
      ["/orders:series?field=placed_at", "fields"],
      ["/orders:histogram?field=qty", "order_by"],
      ["/orders:seek?position=1", "page_token"]
    ])("%s knows no parameter %s", async (rest, name) => {
      const path = `/api/v1${rest}`
      const answer = await call(admin, "GET", `${path}${path.includes("?") ? "&" : "?"}${name}=1`)
      expectParameter(answer, path.split("?")[0]!, name, `There is no parameter "${name}" here.`)
      // What there is, and the name that was sent is not among it.
      expect(answer.json.errors?.[0]?.hint).toMatch(/^Use [a-z_]+(, [a-z_]+)*\.$/)
      expect(answer.json.errors?.[0]?.hint).not.toContain(` ${name}`)
    })

    it.each([
      ["/orders?filter=a&filter=a", "filter"],
      ["/orders?page_size=1&fields=id&page_size=2", "page_size"],
      ["/orders/1?fields=id&fields=id", "fields"],
      ["/orders:facets?field=status&field=status", "field"],
      ["/orders:series?field=placed_at&range=7d&range=7d", "range"],
      ["/orders:histogram?field=qty&buckets=1&buckets=2", "buckets"],
      ["/orders:seek?position=1&position=2", "position"],
      ["/orders?%66ilter=a&filter=a", "filter"]
    ])("%s repeats a parameter", async (rest, name) => {
      expectParameter(
        await call(admin, "GET", `/api/v1${rest}`),
        `/api/v1${rest.split("?")[0]}`,
        name,
        "The parameter is given more than once."
      )
    })

    it("name every bad parameter together", async () => {
      const answer = await service().get(
        admin,
        at("orders", { page_size: "x", count: "y", show_deleted: "z", nope: "1" })
      )
      expect(
        (answer.json["errors"] as unknown as ReadonlyArray<{ readonly parameter: string }>).map(({ parameter }) =>
          parameter
        ).sort()
      )
        .toEqual(["count", "nope", "page_size", "show_deleted"])
    })

    it.each([
      "filter=%FF",
      "filter=%C3",
      "%FF=1",
      "filter=%E0%80%80",
      "filter=%ED%A0%80",
      "page_token=%",
      "filter=100%"
    ])("?%s is no UTF-8", async (query) => {
      const answer = await call(admin, "GET", `/api/v1/orders?${query}`)
      expectParameter(answer, "/api/v1/orders", query.split("=")[0]!, "Not valid percent-encoded UTF-8.")
    })

    it("read a plus as a space, and empty pairs as nothing", async () => {
      const answer = await call(admin, "GET", "/api/v1/orders?&filter=id+=+7&&fields=id&")
      expect(answer.json["items"]).toMatchObject([{ id: "7" }])
    })

    it("log paths without queries and never a filter's text", () => {
      expect(service().log.length).toBeGreaterThan(0)
      for (const line of service().log) expect(line).not.toMatch(/\?|zq_code|filter=/)
    })
  })
}
