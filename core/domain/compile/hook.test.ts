// Hooks of a configuration: what is refused, and that no refusal quotes a secret.
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { defineHook, githubSignature, standardWebhooks, stripeSignature } from "../hook/declaration.ts"
import { hookPrefix } from "../job/definition.ts"
import { compileModels, needsQueue } from "./compile.ts"

const hidden = "whsec_aGlkZGVuLWhpZGRlbi1oaWRkZW4taGlkZGVu"
const run = () => {}

const compile = (hooks: unknown, more: object = {}) => compileModels({ resources: [], hooks, ...more } as never)

const refusalsOf = (hooks: unknown, more: object = {}): readonly string[] => {
  const compiled = compile(hooks, more)
  return Result.isSuccess(compiled) ? [] : compiled.failure.map(({ fix, message }) => `${message} ${fix}`)
}

describe("hooks", () => {
  it("become jobs of their names, with the settings of jobs", () => {
    const compiled = Result.getOrThrow(compile({
      pay: defineHook({ verify: stripeSignature({ secret: hidden, toleranceSeconds: 60 }), run, maxAttempts: 3 }),
      "git-Hub_2": defineHook({
        verify: githubSignature({ secrets: ["a secret of theirs", "another of theirs"] }),
        run,
        concurrency: 4,
        timeout: "1 minute"
      }),
      other: defineHook({ verify: () => true, run, description: "Of another." })
    }))
    const { job, verifier } = compiled.hooks.get("pay")!
    expect([job.name, job.maxAttempts, verifier]).toMatchObject([
      `${hookPrefix}pay`,
      3,
      { of: "signature", scheme: "stripe", toleranceSeconds: 60, keys: [Uint8Array.from(Buffer.from(hidden))] }
    ])
    expect(compiled.hooks.get("git-Hub_2")).toMatchObject({
      job: { concurrency: 4, timeoutMs: 60_000 },
      verifier: { scheme: "github", keys: [{}, {}] }
    })
    expect(compiled.hooks.get("other")).toMatchObject({ description: "Of another.", verifier: { of: "function" } })
    expect([...compiled.jobs.keys()]).toEqual(["hooks/pay", "hooks/git-Hub_2", "hooks/other"])
    expect(needsQueue(compiled)).toBe(true)
  })

  it("are refused by name where a secret is missing or wrong, without quoting one", () => {
    const wrong: ReadonlyArray<readonly [verify: unknown, part: string]> = [
      [standardWebhooks({ secret: undefined }), "standardWebhooks has a secret that cannot be used: it is undefined"],
      [standardWebhooks({}), "standardWebhooks has a secret that cannot be used: it is undefined"],
      [standardWebhooks({ secret: "" }), "it is empty"],
      [standardWebhooks({ secret: `${hidden}!` }), "is not base64"],
      [standardWebhooks(undefined as never), "standardWebhooks has no secret"],
      [standardWebhooks({ secret: hidden, secrets: [hidden] }), "has secret and secrets"],
      [standardWebhooks({ secrets: [] }), "secrets that are no list of 1 to 10 texts"],
      [standardWebhooks({ secrets: [hidden, undefined] }), "secrets[1] that cannot be used: it is undefined"],
      [standardWebhooks({ secrets: Array.from({ length: 11 }, () => hidden) }), "no list of 1 to 10"],
      [
        standardWebhooks({ secret: hidden, toleranceSeconds: 3 } as never),
        "no property hooks.pay.verify.toleranceSeconds"
      ],
      [stripeSignature({ secret: "sk_live_hidden_hidden_hidden" }), "it does not begin with whsec_"],
      [stripeSignature({ secret: hidden, toleranceSeconds: 0 }), "toleranceSeconds of 0"],
      [stripeSignature({ secret: hidden, toleranceSeconds: 86_400 }), "toleranceSeconds of 86400"],
      [githubSignature({ secret: "hidden" }), "it has 6 characters; it must have 16 to 4096"],
      [hidden, "hooks.pay.verify is no way to verify a request"],
      [{ secret: hidden }, "hooks.pay.verify is no way to verify a request"],
      [undefined, "hooks.pay.verify is missing"]
    ]
    for (const [verify, part] of wrong) {
      const refusals = refusalsOf({ pay: defineHook({ verify, run } as never) }).join("\n")
      expect(refusals).toContain(part)
      expect(refusals).toContain("hooks.pay")
      expect(refusals).not.toMatch(/aGlkZGVu|sk_live|hidden_/)
    }
  })

  it("are refused where they are no hooks", () => {
    const good = { verify: standardWebhooks({ secret: hidden }), run }
    const wrong: ReadonlyArray<readonly [hooks: unknown, part: string]> = [
      [[], "hooks is not an object"],
      [hidden, "hooks is not an object"],
      [{ pay: hidden }, "hooks.pay is not a hook of defineHook"],
      [{ pay: { verify: hidden, run } }, "hooks.pay is not a hook of defineHook"],
      [{ "1st": defineHook(good) }, "\"1st\" is no name of a hook"],
      [{ "a/b": defineHook(good) }, "\"a/b\" is no name of a hook"],
      [{ pay: defineHook({ ...good, run: 7 } as never) }, "hooks.pay.run is 7, not a function"],
      [{ pay: defineHook({ ...good, input: 7 } as never) }, "hooks.pay.input is 7, not a Standard Schema"],
      [{ pay: defineHook({ ...good, ordered: true } as never) }, "no property hooks.pay.ordered"],
      [{ pay: defineHook({ ...good, maxAttempts: 0 }) }, "hooks.pay: maxAttempts is 0"],
      [{ pay: defineHook({ ...good, description: "" }) }, "hooks.pay.description"]
    ]
    for (const [hooks, part] of wrong) {
      const refusals = refusalsOf(hooks).join("\n")
      expect(refusals).toContain(part)
      expect(refusals).not.toContain("aGlkZGVu")
    }
  })

  it("keep their prefix from jobs, and their path from the resources", () => {
    const job = { _tag: "Job", name: "hooks/pay", declaration: { name: "hooks/pay", run } }
    expect(refusalsOf({}, { jobs: [job] }).join()).toContain("names with hooks/ are those of hooks")
    expect(refusalsOf({}, { options: { basePath: "/api/hooks" } }).join()).toContain("the service's own \"hooks\"")
  })
})
