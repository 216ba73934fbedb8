// Faults in the use cases: functions, forms, jobs, tasks, writes, reads, events, files. See scripts/faults.mjs.

export const faults = [
  {
    rule: "a function that nobody may call is not found",
    file: "core/app/function/function.ts",
    old: "if (of === undefined || !mayCall(of, call.caller))",
    new: "if (of === undefined)",
    tests: ["test/http/functions.test.ts"]
  },
  {
    rule: "a function that fails leaves nothing of its statements",
    file: "core/app/function/function.ts",
    old: "Effect.matchEffect(transaction.finish(false), {",
    new: "Effect.matchEffect(transaction.finish(true), {",
    tests: ["test/http/functions.test.ts"]
  },
  {
    rule: "statements of a function say who called it",
    file: "core/app/function/function.ts",
    old: "JSON.stringify({ id: this.#caller.id, roles: this.#caller.roles })",
    new: "JSON.stringify({ id: \"\", roles: this.#caller.roles })",
    tests: ["test/http/functions.test.ts"]
  },
  {
    rule: "an outage that a function met is no fault of its own",
    file: "core/app/function/function.ts",
    old: "if (refusal.slug === \"unavailable\") away ??= refusal",
    new: "if (refusal.slug === \"not-found\") away ??= refusal",
    tests: ["test/attack/states.test.ts"]
  },
  {
    rule: "a shared view is changed by its owner and admins",
    file: "core/app/saved-view/saved-views.ts",
    old: "if (view.owner !== caller.id && !caller.roles.includes(adminRole))",
    new: "if (view.owner === \"\")",
    tests: ["test/http/saved-views.test.ts"]
  },
  {
    rule: "a view of a resource that cannot be listed is not shown",
    file: "core/app/saved-view/saved-views.ts",
    old: "access.tenantMissing || access.decisions.read.of === \"deny\" ? null : access",
    new: "access.tenantMissing ? null : access",
    tests: ["test/http/saved-views.test.ts"]
  },
  {
    rule: "a view changes only from the version that was read",
    file: "core/app/saved-view/saved-views.ts",
    old:
      "if (ifMatch === null) return yield* Effect.fail(preconditionRequired())\n      if (!preconditionHolds(ifMatch, etagOf(view)))",
    new: "if (ifMatch === null) return yield* Effect.fail(preconditionRequired())\n      if (ifMatch === \"\")",
    tests: ["test/http/saved-views.test.ts"]
  },
  {
    rule: "a view is removed only in the version that was read",
    file: "core/app/saved-view/saved-views.ts",
    old: "views.remove(caller, id, ifMatch === null ? null : view.version)",
    new: "views.remove(caller, id, null)",
    tests: ["core/app/saved-view/saved-views.test.ts"]
  },
  {
    rule: "a table that is no materialized view has no refresh",
    file: "core/app/refresh/refresh.ts",
    old: "if (access.model.materialized === undefined) return yield* Effect.fail(notFound())\n",
    new: "",
    tests: ["test/http/refresh.test.ts"]
  },
  {
    rule: "a refresh takes no parameters",
    file: "core/app/refresh/refresh.ts",
    old: "if (parameter !== undefined) {",
    new: "if (parameter !== undefined && parameter[0] === \"\") {",
    tests: ["test/http/refresh.test.ts"]
  },
  {
    rule: "a refresh that fails is not tried for ever",
    file: "core/app/refresh/refresh.ts",
    old: "throw new FatalJobError(errorText(error), { cause: error })",
    new: "throw new Error(errorText(error), { cause: error })",
    tests: ["test/http/refresh.test.ts"]
  },
  {
    rule: "a refresh wakes its worker",
    file: "core/app/refresh/refresh.ts",
    old: "Effect.mapError(queue.enqueue([planOf(access.model)]), queueProblem)\n    wake()\n",
    new: "Effect.mapError(queue.enqueue([planOf(access.model)]), queueProblem)\n",
    tests: ["core/app/refresh/refresh.test.ts"]
  },
  {
    rule: "a challenge that has expired is not good",
    file: "core/app/form/form.ts",
    old: "const challenge = opened === null ? null : readChallenge(opened, now)",
    new: "const challenge = opened === null ? null : readChallenge(opened, 0)",
    tests: ["test/attack/forms.test.ts"]
  },
  {
    rule: "a proof has the zero bits that its challenge asks for",
    file: "core/app/form/form.ts",
    old: " || !hasZeroBits(sha256(provenText(proof)), challenge.difficulty)",
    new: "",
    tests: ["test/attack/forms.test.ts"]
  },
  {
    rule: "a form whose role may create nothing does not exist",
    file: "core/app/form/form.ts",
    old: "    if (access.decisions.create.of === \"deny\") return Result.fail(notFound())\n",
    new: "",
    tests: ["core/app/form/form.test.ts"]
  },
  {
    rule: "a form without its tenant does not exist",
    file: "core/app/form/form.ts",
    old: "access === null || access.tenantMissing) return",
    new: "access === null) return",
    tests: ["core/app/form/form.test.ts"]
  },
  {
    rule: "a try ends with its timeout",
    file: "core/app/job/attempt.ts",
    old: "await Promise.race([body, ended])",
    new: "await body",
    tests: ["test/contracts/queue.test.ts"]
  },
  {
    rule: "a payload that its schema refuses fails for good",
    file: "core/app/job/attempt.ts",
    old: "errorText(`The payload is refused: ${checked.failure}`), true)",
    new: "errorText(`The payload is refused: ${checked.failure}`), false)",
    tests: ["test/contracts/queue.test.ts"]
  },
  {
    rule: "only admins see the queue",
    file: "core/app/job/queue.ts",
    old: "caller.roles.includes(adminRole) ? Effect.suspend(next) : Effect.fail(accessDenied())",
    new: "caller.id !== \"\\0\" ? Effect.suspend(next) : Effect.fail(accessDenied())",
    tests: ["test/http/jobs.test.ts"]
  },
  {
    rule: "a page token of one list of jobs opens no other",
    file: "core/app/job/queue.ts",
    old: "JSON.stringify([list, caller.id, ...of])",
    new: "JSON.stringify([caller.id])",
    tests: ["test/http/jobs.test.ts"]
  },
  {
    rule: "a bulk change leaves out what was excluded",
    file: "core/app/task/bulk.ts",
    old: "const where = keys.length === 0 ? visible : allOf([visible, not(keyed(model, keys))])",
    new: "const where = visible",
    tests: ["test/http/tasks/bulk.test.ts"]
  },
  {
    rule: "the try of a bulk change writes nothing",
    file: "core/app/task/task-batch.ts",
    old: "rehearses ? Effect.fail(new Undone(done)) : Effect.succeed(done))",
    new: "rehearses && done === null ? Effect.fail(new Undone(done)) : Effect.succeed(done))",
    tests: ["test/http/tasks/import.test.ts"]
  },
  {
    rule: "a refused record of a bulk change spoils no other",
    file: "core/app/task/task-batch.ts",
    old: "Cause.isDieReason(reason!) || (Cause.isFailReason(reason!) && isOwn(reason.error))",
    new: "Cause.isDieReason(reason!)",
    tests: ["test/http/tasks/bulk.test.ts"]
  },
  {
    rule: "an import stops before the batch of a refused line",
    file: "core/app/task/run.ts",
    old: "if (stops && done.refused > 0)",
    new: "if (stops && done.refused > 1)",
    tests: ["test/http/tasks/import.test.ts"]
  },
  {
    rule: "a task is its owner's",
    file: "core/app/task/tasks.ts",
    old: "task.owner.id === caller.id && task.owner.tenant === caller.tenant &&",
    new: "task.owner.tenant === caller.tenant &&",
    tests: ["test/http/tasks/matrix.test.ts"]
  },
  {
    rule: "a report of refusals has no formulas",
    file: "core/app/task/tasks.ts",
    old: "csvValue(\"text\", \"comma\", \"escape\")",
    new: "csvValue(\"text\", \"comma\", \"raw\")",
    tests: ["test/http/tasks/import.test.ts"]
  },
  {
    rule: "an idempotency key belongs to its tenant",
    file: "core/app/write/single.ts",
    old: "scope: JSON.stringify([caller.tenant, caller.id])",
    new: "scope: JSON.stringify([caller.id])",
    tests: ["test/http/writes/idempotency.test.ts"]
  },
  {
    rule: "a write with hooks does not stand alone",
    file: "core/app/write/single.ts",
    old: "return core.options.writeHooks.length === 0 && access.model.history === null &&",
    new: "return access.model.history === null &&",
    tests: ["test/http/writes/requests.test.ts"]
  },
  {
    rule: "a write that meets another one is tried again",
    file: "core/app/write/transaction.ts",
    old: ": tries > 1 && isConflict(error)",
    new: ": tries > 9 && isConflict(error)",
    tests: ["test/http/writes/database.test.ts"]
  },
  {
    rule: "restoring a version writes nothing of another record",
    file: "core/app/write/history.ts",
    old: "allOf([history.rows, keyCondition(model), ofRecord(tracked, model)])",
    new: "allOf([history.rows, keyCondition(model)])",
    tests: ["test/http/writes/history.test.ts"]
  },
  {
    rule: "a search takes its parameters in the body alone",
    file: "core/app/read/list.ts",
    old: "    call.query.length > 0\n",
    new: "    call.query.length > 99\n",
    tests: ["test/http/reads/reads.test.ts"]
  },
  {
    rule: "an unchanged record is not sent again",
    file: "core/app/read/list.ts",
    old: "return isHeld(call.header(\"if-none-match\"), etag)",
    new: "return isHeld(null, etag)",
    tests: ["test/http/reads/reads.test.ts"]
  },
  {
    rule: "a count of other roles is not believed",
    file: "core/app/read/list.ts",
    old: "const estimate = position?.estimate?.roles === roles\n",
    new: "const estimate = position?.estimate\n",
    tests: ["test/http/reads/reads.test.ts"]
  },
  {
    rule: "a read shows what its caller wrote through another tab",
    file: "core/app/ground/replicas.ts",
    old: "const position = later(given, known?.position ?? null)\n",
    new: "const position = given ?? known?.position ?? null\n",
    tests: ["test/app/replicas.test.ts"]
  },
  {
    rule: "a page that is loaded anew at another instance shows what its browser wrote",
    file: "core/app/ground/replicas.ts",
    old: "const given = later(sent, cookieOf(call))",
    new: "const given = sent",
    tests: ["test/app/replicas.test.ts"]
  },
  {
    rule: "a replica that began anew is asked again what it shows",
    file: "adapters/postgres/replicas.ts",
    old: "lsn === null || generation === postgres.opened() ? Effect.succeed(answer) : on(records)",
    new: "Effect.succeed(answer)",
    tests: ["test/postgres/replica-reads.test.ts"]
  },
  {
    rule: "the place of an export is free once its reader has gone",
    file: "core/app/read/export.ts",
    old: "          return: async () => {\n            end(false)\n",
    new: "          return: async () => {\n",
    tests: ["test/http/reads/export.test.ts"]
  },
  {
    rule: "events of one record keep their order",
    file: "core/app/event/dispatch.ts",
    old: "const group = JSON.stringify([each.subscription.id, each.happened.change.model.name, each.key])",
    new:
      "const group = JSON.stringify([each.subscription.id, each.happened.change.model.name, each.key, each.happened.event])",
    tests: ["test/webhooks/replay.test.ts"]
  },
  {
    rule: "a receiver sees what the owner of a subscription may see now",
    file: "core/app/event/delivery-attempt.ts",
    old: "sight === null ? skipped :",
    new: "sight === null && test ? skipped :",
    tests: ["core/app/event/delivery-attempt.test.ts"]
  },
  {
    rule: "a file is what its first bytes say",
    file: "core/app/file/upload.ts",
    old: "if (!isAccepted(file.accept, decided.type)) {",
    new: "if (decided.type === \"\") {",
    tests: ["test/http/files/upload.test.ts"]
  },
  {
    rule: "a file that was uploaded is scheduled to go before it is visible",
    file: "core/app/file/upload.ts",
    old: "after(begun.bytes, gate.promise)",
    new: "begun.bytes",
    tests: ["test/files/stalled.test.ts"]
  },
  {
    rule: "a link has the service's signature",
    file: "core/app/file/download.ts",
    old: "!files.signer.verify(signedText(sent.link), sent.signature) ||",
    new: "",
    tests: ["test/files/links.test.ts"]
  },
  {
    rule: "a link opens files of its own tenant",
    file: "core/app/file/download.ts",
    old: " &&\n      file.path.startsWith(`${tenantFolder(tenant)}/`)",
    new: "",
    tests: ["test/attack/files.test.ts"]
  },
  {
    rule: "a subscription has a bounded number of tries at once",
    file: "core/app/event/dispatch.ts",
    old: "if (running >= mostOfOne) return false",
    new: "if (running >= 100 * mostOfOne) return false",
    tests: ["core/app/event/dispatch-loop.test.ts"]
  },
  {
    rule: "old changes are forgotten",
    file: "core/app/event/dispatch-loop.ts",
    old: "          yield* use.changes.forget\n",
    new: "",
    tests: ["core/app/event/dispatch-loop.test.ts"]
  },
  {
    rule: "another process dispatches what one has let go",
    file: "core/app/event/dispatch-loop.ts",
    old: "    yield* use.changes.release(holder)\n",
    new: "",
    tests: ["core/app/event/dispatch-loop.test.ts"]
  }
]
