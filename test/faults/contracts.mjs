// Faults in adapters and fakes: the contracts of the ports find them on every harness. See scripts/faults.mjs.

export const faults = [
  {
    rule: "records: below a row of a tree that does not pass nothing is found",
    file: "adapters/postgres/compile-related.ts",
    old: "from ${tree} r join ${table} t on ${near} = r.f${visible}`",
    new: "from ${tree} r join ${table} t on ${near} = r.f`",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: PostgreSQL ignores must (insert and update)",
    file: "adapters/postgres/transaction.ts",
    old: "must: this.#session.alone ? must ?? null : null }",
    new: "must: null }",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: PostgreSQL ignores must on insert only",
    file: "adapters/postgres/transaction.ts",
    old:
      "    { bindings, checks, columns, fields, model, must, rows }: Insertion,\n    together: boolean\n  ): Effect.Effect<readonly Row[], RecordsError> {\n    const answer = this.#answer(columns, checks, must)",
    new:
      "    { bindings, checks, columns, fields, model, rows }: Insertion,\n    together: boolean\n  ): Effect.Effect<readonly Row[], RecordsError> {\n    const answer = this.#answer(columns, checks, undefined)",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: PostgreSQL ignores must on update only",
    file: "adapters/postgres/transaction.ts",
    old:
      "    { bindings, checks, columns, key, model, must, note, set }: Change,\n    step: VersionStep | null\n  ): Effect.Effect<Row, RecordsError> {\n    const answer = this.#answer(columns, checks, must)",
    new:
      "    { bindings, checks, columns, key, model, note, set }: Change,\n    step: VersionStep | null\n  ): Effect.Effect<Row, RecordsError> {\n    const answer = this.#answer(columns, checks, undefined)",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: must judged without a pooler only (as before this change)",
    file: "adapters/postgres/transaction.ts",
    old: "must: this.#session.alone ? must ?? null : null }",
    new: "must: this.#session.autocommit ? must ?? null : null }",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: PostgreSQL drops alone",
    file: "adapters/postgres/records.ts",
    old: "      woken === undefined ? inTransaction(body, alone) : Effect",
    new: "      woken === undefined ? inTransaction(body, alone === true ? false : alone) : Effect",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: lock in alone remembers no stamp",
    file: "adapters/postgres/transaction.ts",
    old: "            this.#stamp = row.pop()!\n",
    new: "            row.pop()\n",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: the update of a stamped row does not compare",
    file: "adapters/postgres/compile-write.ts",
    old: "and t.xmin = ${writer.given(index)}::xid",
    new: "and ${writer.given(index)}::xid is not null",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: lock in alone takes a lock of its own transaction on the fake (fake ignores alone in lock)",
    file: "test/fakes/records.ts",
    old:
      "          if (alone) {\n            seen = first\n            return answer(first, columns, checks, bindings, related)\n          }\n",
    new: "",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: the fake ignores must",
    file: "test/fakes/records.ts",
    old: "if (alone && must !== undefined && !rows.every",
    new: "if (alone && must !== undefined && rows.length < 0 && !rows.every",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: the fake drops alone",
    file: "test/fakes/records.ts",
    old: "body(transactionOn(owner, alone))",
    new: "body(transactionOn(owner, alone && false))",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: the fake does not compare",
    file: "test/fakes/records.ts",
    old: "const changed = (row: Row | null): boolean => seen !== null && row !== seen",
    new: "const changed = (row: Row | null): boolean => seen !== null && row !== seen && row === undefined",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: the suite drops alone",
    file: "test/contracts/records-tables.ts",
    old: "=> records.transaction(body, true)",
    new: "=> records.transaction(body)",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: checkDeferred is a no-op on PostgreSQL",
    file: "adapters/postgres/transaction.ts",
    old: "return Effect.asVoid(this.#statement(\"set constraints all immediate\"))",
    new: "return Effect.void",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: checkDeferred is a no-op on the fake",
    file: "test/fakes/records.ts",
    old:
      "        const refused = violation(constraints, null, read)\n        if (refused !== null) return Effect.fail(refused)\n        owner.checksNow",
    new: "        owner.checksNow",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: a handle outlives its transaction",
    file: "adapters/postgres/records.ts",
    old: "void (fate.open = false)",
    new: "void fate.open",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: a handle on another connection",
    file: "adapters/postgres/transaction.ts",
    old: "    return makeHandle(this.#session, this.#fate, this.extensions.schemas.jobs)",
    new:
      "    return { query: (sql, params = []) => Effect.runPromise(Effect.as(this.extensions.lookUp(`/* ${sql} ${params.length} */ select 1::text`), [])) }",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: the tenant is no part of a key",
    file: "adapters/postgres/compile-write.ts",
    old: "  identityOf(model).map((field, i) => {\n",
    new: "  model.key.map((field, i) => {\n",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: the tenant is no part of many keys",
    file: "adapters/postgres/compile-write.ts",
    old: "    ...model.tenant === null",
    new: "    ...model.tenant === null || model.key.length > 0",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: rows that are joined by their keys alone are looked for in every partition",
    file: "adapters/postgres/compile-filter.ts",
    old: "field === model.tenant ? tenantValue(field, where) : null",
    new: "field === model.tenant && writer.sources.length < 0 ? tenantValue(field, where) : null",
    tests: ["test/http/partitions.test.ts"]
  },
  {
    rule: "records: lockAll in no order",
    file: "adapters/postgres/compile-write.ts",
    old: " order by ${order} for update`",
    new: " for update`",
    tests: ["test/http/writes/opposite.test.ts"]
  },
  {
    rule: "records: no columns of a violated constraint",
    file: "adapters/postgres/transaction.ts",
    old: "    if (column !== null) return withColumns([column])\n    if (constraint === null)",
    new: "    if (column !== null || constraint !== null)",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: hold shared is alone",
    file: "adapters/postgres/transaction.ts",
    old: "how === \"shared\" ? \"pg_advisory_xact_lock_shared\"",
    new: "how !== \"shared\" ? \"pg_advisory_xact_lock_shared\"",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: indexed forgets that an index is partial",
    file: "adapters/postgres/records.ts",
    old: "(partial ? \"\" : \" and i.indpred is null\")",
    new: "(partial ? \"\" : \"\")",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "seal ignores the context",
    file: "adapters/seal/seal.ts",
    old: "  decipher.setAAD(Buffer.from(context))\n",
    new: "",
    tests: ["test/contracts/seal.test.ts"]
  },
  {
    rule: "seal opens an altered token (no tag)",
    file: "adapters/seal/seal.ts",
    old: "undefined, \"utf8\") + decipher.final(\"utf8\")",
    new: "undefined, \"utf8\")",
    tests: ["test/contracts/seal.test.ts"]
  },
  {
    rule: "seal opens another spelling of a token",
    file: "adapters/seal/seal.ts",
    old: " || bytes.toString(\"base64url\") !== token) return null",
    new: ") return null",
    tests: ["test/contracts/seal.test.ts"]
  },
  {
    rule: "seal: digest without key",
    file: "adapters/seal/seal.ts",
    old: "crypto.hash(\"sha512\", prefix + text, \"base64url\")",
    new: "crypto.hash(\"sha512\", text, \"base64url\")",
    tests: ["test/contracts/seal.test.ts"]
  },
  {
    rule: "seal: one initialization vector for all",
    file: "adapters/seal/seal.ts",
    old: "used += ivBytes",
    new: "used + ivBytes",
    tests: ["test/contracts/seal.test.ts"]
  },
  {
    rule: "signer.verify accepts a prefix",
    file: "adapters/seal/signer.ts",
    old: "if (sent.length === right.length && timingSafeEqual(sent, right)) fits = true",
    new: "if (sent.length > 0 && right.subarray(0, sent.length).equals(sent)) fits = true",
    tests: ["test/contracts/signer.test.ts"]
  },
  {
    rule: "seal opens nothing that an accepted secret has sealed",
    file: "adapters/seal/seal.ts",
    old: "for (const keys of accepted) text ??=",
    new: "for (const keys of accepted.slice(1)) text ??=",
    tests: ["test/contracts/seal.test.ts"]
  },
  {
    rule: "an ETag of another accepted secret is none",
    file: "core/app/write/judge.ts",
    old: "return tags.some((tag) => preconditionHolds(precondition, tag))",
    new: "return preconditionHolds(precondition, tags[0] ?? \"\")",
    tests: ["test/http/rotation.test.ts"]
  },
  {
    rule: "an idempotency key is another one under another accepted secret",
    file: "core/app/write/single.ts",
    old: "!claim.requests.includes(claimed.request)",
    new: "claim.request !== claimed.request",
    tests: ["test/http/rotation.test.ts"]
  },
  {
    rule: "a device that needs no second factor is forgotten with the secret",
    file: "adapters/auth/rotation.ts",
    old: "name === trustedDevice ?",
    new: "name === \"\" ?",
    tests: ["test/auth/rotation.test.ts"]
  },
  {
    rule: "API keys end with the secret that sealed them",
    file: "adapters/auth/reseal.ts",
    old: "if (write) await keepSeals",
    new: "if (!write) await keepSeals",
    tests: ["test/auth/rotation.test.ts"]
  },
  {
    rule: "a program goes on with tables that lost what it needs",
    file: "composition/migrations.ts",
    old: "row === undefined || Number(row[\"version\"]) <= version ?",
    new: "row === undefined || Number(row[\"version\"]) > version ?",
    tests: ["composition/migrations.test.ts"]
  },
  {
    rule: "signer: one key for all purposes",
    file: "adapters/seal/signer.ts",
    old: "`sign:${purpose}`",
    new: "\"sign\" + purpose.slice(0, 0)",
    tests: ["test/contracts/signer.test.ts"]
  },
  {
    rule: "detector says text for PNG",
    file: "adapters/detector/detector.ts",
    old: "(await fileTypeFromBuffer(head))?.mime ?? signed(head)",
    new: "((await fileTypeFromBuffer(head))?.mime ?? signed(head))?.replace(\"image/png\", \"text/plain\") ?? null",
    tests: ["test/contracts/detector.test.ts"]
  },
  {
    rule: "detector looks at the whole buffer behind a head",
    file: "adapters/detector/detector.ts",
    old: "fileTypeFromBuffer(head)",
    new: "fileTypeFromBuffer(new Uint8Array(head.buffer))",
    tests: ["test/contracts/detector.test.ts"]
  },
  {
    rule: "detector does without the signatures of its own",
    file: "adapters/detector/detector.ts",
    old: "(await fileTypeFromBuffer(head))?.mime ?? signed(head)",
    new: "(await fileTypeFromBuffer(head))?.mime ?? (head.length > 1e9 ? signed(head) : null)",
    tests: ["test/contracts/detector.test.ts"]
  },
  {
    rule: "tokens: an expired token is accepted when it is known",
    file: "adapters/auth/jwt.ts",
    old: "if (entry.until > Date.now()) {",
    new: "if (entry.until > 0) {",
    tests: ["test/contracts/tokens.test.ts"]
  },
  {
    rule: "tokens: an expired token is accepted when it is new",
    file: "adapters/auth/jwt.ts",
    old: "    clockTolerance: clockToleranceSeconds,",
    new: "    clockTolerance: 1_000_000,",
    tests: ["test/contracts/tokens.test.ts"]
  },
  {
    rule: "tokens: revocations are asked for new tokens only",
    file: "adapters/auth/jwt.ts",
    old: "        keys.touch()\n        return identityNow(entry)",
    new: "        keys.touch()\n        return entry.identity",
    tests: ["test/contracts/tokens.test.ts"]
  },
  {
    rule: "tokens: a known token is answered by a promise",
    file: "adapters/auth/jwt.ts",
    old: "        keys.touch()\n        return identityNow(entry)",
    new: "        keys.touch()\n        return Promise.resolve(identityNow(entry))",
    tests: ["test/contracts/tokens.test.ts"]
  },
  {
    rule: "tokens: who may not work here is told that the token is wrong",
    file: "adapters/auth/authenticator.ts",
    old: "if (cause instanceof Refused) return Effect.fail(new TokensError({ reason: \"Refused\"",
    new: "if (cause instanceof Refused) return Effect.fail(new TokensError({ reason: \"Unauthenticated\"",
    tests: ["test/contracts/tokens.test.ts"]
  },
  {
    rule: "tokens: somebody may have the visitors' role",
    file: "adapters/auth/authenticator.ts",
    old: "const roles = given.includes(anonymousRole) ? given.filter((role) => role !== anonymousRole) : given",
    new: "const roles = given.includes(anonymousRole) ? given : given",
    tests: ["test/contracts/tokens.test.ts"]
  },
  {
    rule: "mail: a header injection becomes a header",
    file: "core/domain/mail/message.ts",
    old: " || /\\p{Cc}/u.test(subject)",
    new: "",
    tests: ["test/contracts/mail.test.ts"]
  },
  {
    rule: "mail: a line in an address passes",
    file: "core/domain/mail/message.ts",
    old: "  typeof value === \"string\" && value.length <= 320 && addressPattern.test(value.trim())",
    new: "  typeof value === \"string\" && value.length <= 320 && value.includes(\"@\")",
    tests: ["test/contracts/mail.test.ts"]
  },
  {
    rule: "mail: SMTP resolves although one recipient was refused",
    file: "adapters/mail/smtp.ts",
    old: "    if (rejected.length > 0) {",
    new: "    if (rejected.length > 100) {",
    tests: ["test/contracts/mail.test.ts"]
  },
  {
    rule: "mail: SMTP sends what is not checked",
    file: "adapters/mail/smtp.ts",
    old: "  if (Result.isFailure(checked)) throw new MailError(\"invalid\", checked.failure)\n",
    new: "  if (Result.isFailure(checked)) throw new MailError(\"refused\", checked.failure)\n",
    tests: ["test/contracts/mail.test.ts"]
  },
  {
    rule: "mail: SMTP shows hidden recipients",
    file: "adapters/mail/smtp.ts",
    old: "        cc: [...cc],\n",
    new: "        cc: [...cc, ...bcc],\n",
    tests: ["test/contracts/mail.test.ts"]
  },
  {
    rule: "mail: SMTP tries a refused mail twice",
    file: "adapters/mail/smtp.ts",
    old:
      "  return { send: async (message) => deliver(await (transport ??= transportOf(server.success, limitMs)), from, message) }",
    new:
      "  const once = async (message: MailMessage) => deliver(await (transport ??= transportOf(server.success, limitMs)), from, message)\n  return { send: (message) => once(message).catch(() => once(message)) }",
    tests: ["test/contracts/mail.test.ts"]
  },
  {
    rule: "mail: SMTP takes a later refusal for a final one",
    file: "adapters/mail/smtp.ts",
    old: "return responseCode >= 500 ? \"refused\" : \"later\"",
    new: "return responseCode >= 400 ? \"refused\" : \"later\"",
    tests: ["test/contracts/mail.test.ts"]
  },
  {
    rule: "mail: the outbox keeps what is invalid",
    file: "adapters/mail/outbox.ts",
    old:
      "      if (Result.isFailure(checked)) throw new MailError(\"invalid\", checked.failure)\n      all = [{ ...checked.success,",
    new:
      "      all = [{ ...(checked as { success: never }).success as object as import(\"../../core/domain/mail/message.ts\").CheckedMessage,",
    tests: ["test/contracts/mail.test.ts"]
  },
  {
    rule: "records: averages of large integers have digits after the point",
    file: "adapters/postgres/compile-aggregate.ts",
    old: "trim_scale((${sum} + ${leastDigits}) /",
    new: "trim_scale((${sum}) /",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: a 95th percentile is a value of the column",
    file: "adapters/postgres/compile-aggregate.ts",
    old: "percentile_disc(0.95)",
    new: "percentile_cont(0.95)",
    tests: ["test/contracts/records.test.ts"]
  },
  {
    rule: "records: groups that fail their condition are left out",
    file: "adapters/postgres/compile-aggregate.ts",
    old: "const condition = having.op === \"true\" ? \"\"",
    new: "const condition = having.op !== \"compare\" ? \"\"",
    tests: ["test/postgres/groups.test.ts"]
  }
]
