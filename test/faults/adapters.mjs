// Faults in adapters: the HTTP edge, what leaves the service, storages, images, sign-in, the queue. See scripts/faults.mjs.

export const faults = [
  {
    rule: "large bodies take turns",
    file: "adapters/http/handle.ts",
    old: "body.byteLength < largeBody ? next(body) : Effect.flatMap(ownTurn, () => next(body))",
    new: "next(body)",
    tests: ["test/http/edge-options.test.ts"]
  },
  {
    rule: "a page of another origin reads nothing that was not allowed",
    file: "adapters/http/cors.ts",
    old: "headersFor: (origin) => answers.get(origin) ?? null",
    new: "headersFor: (origin) => answers.get(origin) ?? answers.values().next().value ?? null",
    tests: ["test/http/edge.test.ts"]
  },
  {
    rule: "no origin is a pattern",
    file: "adapters/http/cors.ts",
    old: "url === null || url.origin !== origin || origin.includes(\"*\") ||",
    new: "url === null || url.origin !== origin ||",
    tests: ["test/http/edge-options.test.ts"]
  },
  {
    rule: "the id of a request is a plain text",
    file: "adapters/http/request.ts",
    old: "/^[A-Za-z0-9._-]{1,128}$/.test(sent)",
    new: "sent.length <= 128",
    tests: ["test/http/edge.test.ts"]
  },
  {
    rule: "a compressed body is refused",
    file: "adapters/http/request.ts",
    old: "return coding !== null && coding.trim().toLowerCase() !== plain",
    new: "return coding !== null && coding.trim() === plain && name === \"\"",
    tests: ["test/http/edge.test.ts"]
  },
  {
    rule: "the log keeps no secret of a path of sign-in",
    file: "adapters/http/access-log.ts",
    old: "/^[a-z-]{0,24}$/.test(part) ? part : \"*\"",
    new: "part",
    tests: ["adapters/http/access-log.test.ts"]
  },
  {
    rule: "a request leaves for no private address",
    file: "adapters/outbound/outbound.ts",
    old: "if (!anyAddress && !addresses.every(({ address }) => isPublic(address)))",
    new: "if (!anyAddress && !addresses.some(({ address }) => isPublic(address)))",
    tests: ["test/attack/outbound.test.ts"]
  },
  {
    rule: "an address of another family that hides a private one is none",
    file: "adapters/outbound/address.ts",
    old: "    [\"2002::\", 16],\n",
    new: "",
    tests: ["test/attack/outbound.test.ts"]
  },
  {
    rule: "link-local addresses are private",
    file: "adapters/outbound/address.ts",
    old: "    [\"169.254.0.0\", 16],\n",
    new: "",
    tests: ["test/attack/outbound.test.ts"]
  },
  {
    rule: "a URL with a password is refused",
    file: "adapters/outbound/address.ts",
    old: "if (url.username !== \"\" || url.password !== \"\") return",
    new: "if (url.username !== \"\" && url.password === \"\\0\") return",
    tests: ["test/attack/outbound.test.ts"]
  },
  {
    rule: "an address is looked up once, and used as it was checked",
    file: "adapters/outbound/outbound.ts",
    old:
      "    lookup: (_, options, answer) => {\n      if (options.all === true) answer(null, [...addresses])\n      else answer(null, addresses[0]!.address, addresses[0]!.family)\n    },\n",
    new: "    ...(addresses.length < 0 ? { lookup: undefined } : {}),\n",
    tests: ["test/attack/outbound.test.ts"]
  },
  {
    rule: "an answer of a receiver is read to a bound",
    file: "adapters/outbound/outbound.ts",
    old: "      if (size > mostRead) {\n        finish()\n        sent.destroy()\n      }\n",
    new: "",
    tests: ["test/attack/outbound.test.ts"]
  },
  {
    rule: "no request to a URL of somebody else takes a connection that was made for the operator's",
    file: "adapters/outbound/outbound.ts",
    old: "request.anyAddress ? free : guarded",
    new: "free",
    tests: ["test/attack/outbound.test.ts"]
  },
  {
    rule: "a full disk is told from one that does not answer",
    file: "adapters/storage-local/storage.ts",
    old: "reason: full ? \"Full\" : denied",
    new: "reason: denied",
    tests: ["adapters/storage-local/storage.test.ts"]
  },
  {
    rule: "a link of the file system leads out of no folder",
    file: "adapters/storage-local/storage.ts",
    old:
      "    if (real !== join(realRoot, folder.slice(root.length))) throw new Escape(\"a link leads out of the folder\")\n",
    new: "",
    tests: ["test/files/disk.test.ts"]
  },
  {
    rule: "a file in the place of which a link stands is not read",
    file: "adapters/storage-local/storage.ts",
    old: "const flags = constants.O_RDONLY | constants.O_NOFOLLOW",
    new: "const flags = constants.O_RDONLY",
    tests: ["test/files/disk.test.ts"]
  },
  {
    rule: "a body that breaks off leaves no file",
    file: "adapters/storage-local/storage.ts",
    old: "      await unlink(part).catch(() => {})\n",
    new: "",
    tests: ["test/contracts/storage.test.ts"]
  },
  {
    rule: "files of a private folder are for the service alone",
    file: "adapters/storage-local/storage.ts",
    old: ": [0o600, 0o700]",
    new: ": [0o644, 0o755]",
    tests: ["test/files/disk.test.ts"]
  },
  {
    rule: "a list of files goes on behind a path",
    file: "adapters/storage-local/storage.ts",
    old: "} else if (after === null || path > after) {",
    new: "} else if (after === null || path >= after) {",
    tests: ["test/contracts/storage.test.ts"]
  },
  {
    rule: "a file that is not there is none, whatever else is wrong",
    file: "adapters/storage-s3/connection.ts",
    old: "error.name !== \"NoSuchBucket\" && (error.name === \"NoSuchKey\" || error.name === \"NotFound\")",
    new: "error.name === \"NoSuchKey\"",
    tests: ["adapters/storage-s3/connection.test.ts"]
  },
  {
    rule: "a bucket that takes no more is full",
    file: "adapters/storage-s3/connection.ts",
    old: "reason: full ? \"Full\" : denied",
    new: "reason: denied",
    tests: ["adapters/storage-s3/connection.test.ts"]
  },
  {
    rule: "a body that is shorter than announced comes to no bucket",
    file: "adapters/storage-s3/storage.ts",
    old: "    if (size !== null && passed < size) throw new Error(\"the body is shorter than was announced\")\n",
    new: "",
    tests: ["adapters/storage-s3/storage.test.ts"]
  },
  {
    rule: "bodies of unknown length wait in line",
    file: "adapters/storage-s3/line.ts",
    old: "if (waiting.size === 0 && taken + weight <= most) taken += weight",
    new: "if (waiting.size === 0) taken += weight",
    tests: ["adapters/storage-s3/line.test.ts"]
  },
  {
    rule: "images share their memory",
    file: "adapters/images/line.ts",
    old: "working === 0 || (working < atOnce && taken + memory <= most)",
    new: "working === 0 || working < atOnce",
    tests: ["adapters/images/line.test.ts"]
  },
  {
    rule: "an image of too many pixels is stored as it is",
    file: "adapters/images/render.ts",
    old: "{ limitInputPixels: maxPixels, failOn: \"error\" }",
    new: "{ limitInputPixels: false, failOn: \"error\" }",
    tests: ["adapters/images/render.test.ts"]
  },
  {
    rule: "an image that would take too much memory is stored as it is",
    file: "adapters/images/render.ts",
    old: "  if (heldBytes(metadata) > memory) return null\n",
    new: "",
    tests: ["adapters/images/render.test.ts"]
  },
  {
    rule: "a photo is turned as its camera says",
    file: "adapters/images/render.ts",
    old: "? await open().autoOrient().resize(",
    new: "? await open().resize(",
    tests: ["adapters/images/render.test.ts"]
  },
  {
    rule: "an image that hangs ends with its time",
    file: "adapters/images/pool.ts",
    old: "        late = true\n        kill()\n",
    new: "        late = true\n",
    tests: ["test/contracts/images.test.ts"]
  },
  {
    rule: "a hook compares each signature with each secret",
    file: "adapters/seal/webhook.ts",
    old: "if (signature.length === own.length && timingSafeEqual(signature, own)) fits = true",
    new: "fits = signature.length === own.length && timingSafeEqual(signature, own)",
    tests: ["test/webhooks/hook-signature.test.ts"]
  },
  {
    rule: "attempts at one account count together",
    file: "adapters/auth/attempts.ts",
    old: "limits.attempt(path, group, account ?? user ?? null)",
    new: "limits.attempt(path, group, user ?? null)",
    tests: ["test/auth/sign-in.test.ts"]
  },
  {
    rule: "a key that is not for signatures verifies no token",
    file: "adapters/auth/keys.ts",
    old: "  && (jwk.use === undefined || jwk.use === \"sig\")\n",
    new: "",
    tests: ["adapters/auth/jwt.test.ts"]
  },
  {
    rule: "a user of a trusted app without a role here does not come in",
    file: "adapters/auth/trusted.ts",
    old: "if (local.length === 0) throw new Refused(\"the user of a trusted app has no role here\")",
    new: "",
    tests: ["test/attack/tokens.test.ts"]
  },
  {
    rule: "no own user passes for one of a trusted app",
    file: "adapters/auth/trusted.ts",
    old: "if (!endings.some((ending) => identity.user.id.endsWith(ending))) return identity",
    new: "if (endings.length > 0) return identity",
    tests: ["adapters/auth/jwt.test.ts"]
  },
  {
    rule: "jobs that a dead process had not begun lose no try",
    file: "adapters/queue/engine.ts",
    old: "attempts = attempts - case when dead.unstarted then 1 else 0 end",
    new: "attempts = attempts - case when dead.unstarted then 0 else 0 end",
    tests: ["test/queue/faults.test.ts"]
  },
  // tenants of one process
  {
    rule: "a credential works at its own tenant's host alone",
    file: "adapters/auth/authenticator.ts",
    old: "return request.tenant === undefined || request.tenant === caller.tenant",
    new: "return request.tenant !== \"\"",
    tests: ["test/http/tenants-same-person.test.ts"]
  },
  {
    rule: "a request that names another host in its target is refused",
    file: "adapters/http/node.ts",
    old: "|| (edge.byHost && namesOtherHost(req))",
    new: "",
    tests: ["test/http/tenants.test.ts"]
  },
  {
    rule: "a forwarded host says nothing without a proxy",
    file: "adapters/http/request.ts",
    old: "proxies === 0 ? null : headers.get(\"x-forwarded-host\")",
    new: "headers.get(\"x-forwarded-host\")",
    tests: ["test/http/tenants.test.ts"]
  },
  {
    rule: "a host that nobody has is a 404",
    file: "adapters/http/handle.ts",
    old: "if (place === null) return Effect.fail(notFound())",
    new: "if (place === null) return answerAt(progress)",
    tests: ["test/http/tenants-same-person.test.ts"]
  },
  {
    rule: "jobs of all tenants are the operator's",
    file: "adapters/http/jobs.ts",
    old: "...(operated ? [] : [{",
    new: "...(operated && prefix === \"\" ? [] : [{",
    tests: ["test/http/tenants.test.ts"]
  },
  {
    rule: "a tenant's secrets are its own",
    file: "composition/tenants.ts",
    old: "update(`tenant ${tenant}`)",
    new: "update(\"tenant\")",
    tests: ["composition/tenants.test.ts"]
  },
  {
    rule: "a lookup of a host ends",
    file: "composition/tenants.ts",
    old: "await Promise.race([Promise.resolve(tenants.lookup?.(host)), late])",
    new: "await tenants.lookup?.(host)",
    tests: ["composition/tenants.test.ts"]
  }
]
