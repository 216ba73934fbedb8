// What errors of a disk mean: a full disk is told from one that does not answer, because callers are told another status.
import { expect, it } from "vitest"
import { failure } from "./storage.ts"

const error = (code: string) => Object.assign(new Error("refused"), { code })

it.each<readonly [string, unknown, string]>([
  ["without room", error("ENOSPC"), "Full"],
  ["on which the service has used its share", error("EDQUOT"), "Full"],
  ["that takes no file as large", error("EFBIG"), "Full"],
  ["that does not let in", error("EACCES"), "Denied"],
  ["that only root may write", error("EPERM"), "Denied"],
  ["that can only be read", error("EROFS"), "Denied"],
  ["that fails", error("EIO"), "Unavailable"],
  ["that takes no more files at once", error("EMFILE"), "Unavailable"],
  ["of a network that does not answer", error("ETIMEDOUT"), "Unavailable"],
  ["that says nothing", "text", "Unavailable"]
])("a disk %s is told by its reason", (_, met, reason) => expect(failure(met).reason).toBe(reason))
