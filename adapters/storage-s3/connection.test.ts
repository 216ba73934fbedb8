// What errors of a bucket mean: they have the names of S3, and the status of the answer.
import { describe, expect, it } from "vitest"
import { BodyError, failure, isMissing } from "./connection.ts"

const error = (name: string, status = 400) =>
  Object.assign(new Error("refused"), { name, $metadata: { httpStatusCode: status } })

describe("an error of a bucket", () => {
  it.each<readonly [string, unknown, string]>([
    ["that takes no more", error("QuotaExceeded", 403), "Full"],
    ["that takes no file as large", error("EntityTooLarge"), "Full"],
    ["without room by its status", error("ServerError", 507), "Full"],
    ["that is not there", error("NoSuchBucket", 404), "Denied"],
    ["that does not know the key", error("InvalidAccessKeyId", 403), "Denied"],
    ["that does not let in", error("AccessDenied", 403), "Denied"],
    ["that is away", error("ServiceUnavailable", 503), "Unavailable"],
    ["that cannot be reached", Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), "Unavailable"],
    ["whose body broke off, however deep that is", new Error("sent", { cause: new BodyError("body") }), "Body"],
    ["that is no error", "text", "Unavailable"]
  ])("%s is told by its reason", (_, met, reason) => expect(failure(met).reason).toBe(reason))

  it("says that a file is not there, and not that the bucket is not", () => {
    expect(["NoSuchKey", "NotFound", "NoSuchBucket", "AccessDenied"].map((name) => isMissing(error(name, 404))))
      .toEqual([
        true,
        true,
        false,
        false
      ])
  })
})
