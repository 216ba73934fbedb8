/**
 * The routes of sign-in in the OpenAPI document: passwords always, second factors and passkeys where they are on. better-auth makes the answers, so
 * the document promises only the members that clients need. It decides nothing about rights.
 */

import type { AccountMails } from "../account/mails.ts"
import { ownNameMax } from "../own-name.ts"
import { headersOf, jsonContent, refusals } from "./openapi-resource.ts"
import { anyObject, closedObject, type Doc, openObject } from "./openapi-schema.ts"

/** What signing in is made of besides passwords. */
export interface SignInFeatures {
  readonly twoFactor: boolean
  readonly passkeys: boolean
  /** Null: no mail is sent about accounts. */
  readonly mails: AccountMails | null
}

const text: Doc = { type: "string" }
const flag: Doc = { type: "boolean" }
const list = (items: Doc): Doc => ({ type: "array", items })
const user = openObject({ id: text, email: text, name: text }, ["id", "email"])
const email: Doc = { type: "string", format: "email", examples: ["ada@example.org"] }
const password: Doc = { type: "string", format: "password" }

const answer = (description: string, schema: Doc, ...headers: readonly string[]): Doc => ({
  description,
  headers: headersOf(...headers),
  content: jsonContent(schema)
})

/** An answer that may begin, prolong or end a session, or belong to a step on the way to one. */
const withCookies = (description: string, schema: Doc): Doc => answer(description, schema, "Set-Cookie")

/** The id begins with no verb of a resource's operations, because generators write `create_user` and `createUser` the same. */
const route = (id: string, summary: string, parts: Doc): Doc => ({
  operationId: id,
  tags: ["sign-in"],
  summary,
  ...parts
})
/** For everybody. */
const open: Doc = { security: [] }
const session: Doc = { security: [{ session: [] }] }
const takes = (schema: Doc): Doc => ({ requestBody: { required: true, content: jsonContent(schema) } })

const signedIn = openObject({ user }, ["user"])
const done = withCookies("Done.", openObject({ status: flag }, ["status"]))

// -------------------------------------------------------------------------------------------------------------- second factors

/** What sign-in by password answers when the user has a second factor. The cookie that comes with it waits for that factor. */
const waiting = openObject(
  { twoFactorRedirect: { const: true }, twoFactorMethods: list(text) },
  ["twoFactorRedirect"],
  { description: "The user has a second factor: go on with its code, within five minutes." }
)

const withPassword = takes(closedObject({ password }, ["password"]))

const withCode = (description: string, example: string): Doc =>
  takes(closedObject({
    code: { type: "string", description, examples: [example] },
    trustDevice: {
      type: "boolean",
      default: false,
      description: "Asks this device for no further code during thirty days of use."
    }
  }, ["code"]))

const totpURI: Doc = { type: "string", format: "uri", description: "The address for the app; shown as a QR code." }
const backupCodes: Doc = { ...list(text), description: "Recovery codes, each good once. They are shown this once." }

const secondFactorPaths = (auth: string): Doc => {
  const verified = withCookies("A session, by its cookie.", signedIn)
  // The cookie of a waiting sign-in is not that of a session.
  const either: Doc = {
    description: "Goes on with a sign-in that waits for its second factor, by its cookie; or proves one in a session.",
    security: [{}, { session: [] }]
  }
  return {
    [`${auth}/two-factor/enable`]: {
      post: route("enableSecondFactor", "Set up a second factor", {
        description: "It is on once a code of the app was verified.",
        ...session,
        ...withPassword,
        responses: {
          "200": withCookies("For the app.", openObject({ totpURI, backupCodes }, ["totpURI", "backupCodes"])),
          ...refusals(400, 401, 409, 429)
        }
      })
    },
    [`${auth}/two-factor/verify-totp`]: {
      post: route("verifySecondFactor", "Verify a code of the app", {
        ...either,
        ...withCode("The six digits that the app shows.", "123456"),
        responses: { "200": verified, ...refusals(400, 401, 429) }
      })
    },
    [`${auth}/two-factor/verify-backup-code`]: {
      post: route("useRecoveryCode", "Use a recovery code", {
        ...either,
        ...withCode("A recovery code; it is used up.", "K7pQw-2mXb9"),
        responses: { "200": verified, ...refusals(400, 401, 429) }
      })
    },
    [`${auth}/two-factor/get-totp-uri`]: {
      post: route("readSecondFactor", "The address for another app", {
        ...session,
        ...withPassword,
        responses: {
          "200": withCookies("For the app.", openObject({ totpURI }, ["totpURI"])),
          ...refusals(400, 401, 429)
        }
      })
    },
    [`${auth}/two-factor/generate-backup-codes`]: {
      post: route("newRecoveryCodes", "New recovery codes: the old ones are void", {
        ...session,
        ...withPassword,
        responses: {
          "200": withCookies("The codes.", openObject({ backupCodes }, ["backupCodes"])),
          ...refusals(400, 401, 429)
        }
      })
    },
    [`${auth}/two-factor/disable`]: {
      post: route("disableSecondFactor", "Turn the second factor off", {
        ...session,
        ...withPassword,
        responses: { "200": done, ...refusals(400, 401, 429) }
      })
    }
  }
}

// -------------------------------------------------------------------------------------------------------------------- passkeys

const base64url: Doc = { type: "string", pattern: "^[A-Za-z0-9_-]*$" }

const passkey = openObject({
  id: text,
  name: { type: ["string", "null"] },
  createdAt: { type: "string", format: "date-time" },
  deviceType: { type: "string", description: "`multiDevice`: kept in step with other devices." }
}, ["id"])

/** What the browser gave (WebAuthn Level 3), as JSON. */
const credential = (kind: string, response: Doc, required: readonly string[]): Doc =>
  openObject(
    {
      id: base64url,
      rawId: base64url,
      type: { const: "public-key" },
      response: openObject(response, required)
    },
    ["id", "rawId", "type", "response"],
    { description: `\`${kind}\` of WebAuthn Level 3; further members are not looked at.` }
  )

const made = credential(
  "RegistrationResponseJSON",
  { clientDataJSON: base64url, attestationObject: base64url, transports: list(text) },
  ["clientDataJSON", "attestationObject"]
)
const used = credential(
  "AuthenticationResponseJSON",
  { clientDataJSON: base64url, authenticatorData: base64url, signature: base64url },
  ["clientDataJSON", "authenticatorData", "signature"]
)

const passkeyPaths = (auth: string): Doc => {
  const id: Doc = { type: "string", description: "The passkey's `id` in the list." }
  const name: Doc = { type: "string", maxLength: ownNameMax, examples: ["Phone"] }
  return {
    [`${auth}/passkey/generate-authenticate-options`]: {
      get: route("readPasskeyOptions", "A challenge to sign in with a passkey", {
        description: "For `navigator.credentials.get`. The cookie that comes with it belongs to the challenge.",
        ...open,
        responses: {
          "200": withCookies(
            "`PublicKeyCredentialRequestOptionsJSON` of WebAuthn Level 3.",
            openObject({ challenge: base64url, rpId: text, userVerification: { const: "required" } }, [
              "challenge",
              "rpId",
              "userVerification"
            ])
          ),
          ...refusals(429)
        }
      })
    },
    [`${auth}/passkey/verify-authentication`]: {
      post: route("signInWithPasskey", "Sign in with a passkey: sets the session cookie", {
        ...open,
        ...takes(openObject({ response: used }, ["response"])),
        responses: { "200": withCookies("Signed in.", signedIn), ...refusals(400, 401, 429) }
      })
    },
    [`${auth}/passkey/generate-register-options`]: {
      get: route("readNewPasskeyOptions", "A challenge for a new passkey", {
        description: "For `navigator.credentials.create`, in a session that began in the last fifteen minutes.",
        ...session,
        responses: {
          "200": withCookies(
            "`PublicKeyCredentialCreationOptionsJSON` of WebAuthn Level 3.",
            openObject(
              {
                challenge: base64url,
                rp: openObject({ id: text, name: text }, ["id", "name"]),
                user: openObject({ id: base64url, name: text, displayName: text }, ["id", "name", "displayName"]),
                pubKeyCredParams: list(openObject({ type: text, alg: { type: "integer" } }, ["type", "alg"]))
              },
              ["challenge", "rp", "user", "pubKeyCredParams"]
            )
          ),
          ...refusals(401, 403, 429)
        }
      })
    },
    [`${auth}/passkey/verify-registration`]: {
      post: route("addPasskey", "Add a passkey", {
        ...session,
        ...takes(openObject({ response: made, name }, ["response"])),
        responses: { "200": withCookies("The passkey.", passkey), ...refusals(400, 401, 403, 409, 429) }
      })
    },
    [`${auth}/passkey/list-user-passkeys`]: {
      get: route("readPasskeys", "The user's passkeys", {
        ...session,
        responses: { "200": withCookies("All of them.", list(passkey)), ...refusals(401) }
      })
    },
    [`${auth}/passkey/update-passkey`]: {
      post: route("renamePasskey", "Rename a passkey", {
        ...session,
        ...takes(closedObject({ id, name }, ["id", "name"])),
        responses: {
          "200": withCookies("The passkey.", openObject({ passkey }, ["passkey"])),
          ...refusals(400, 401, 404)
        }
      })
    },
    [`${auth}/passkey/delete-passkey`]: {
      post: route("removePasskey", "Take a passkey away", {
        ...session,
        ...takes(closedObject({ id }, ["id"])),
        responses: { "200": done, ...refusals(400, 401, 404) }
      })
    }
  }
}

// ----------------------------------------------------------------------------------------------------------------------- mails

const userFields: Doc = {
  email,
  name: text,
  role: { type: "string", description: "One role, or several with commas." }
}

const mailPaths = (auth: string, { invitations, passwordReset }: AccountMails, admin: boolean): Doc => ({
  ...(passwordReset
    ? {
      [`${auth}/request-password-reset`]: {
        post: route("askPasswordLink", "Ask for a link that sets a new password", {
          description:
            "The answer is the same for every address. The link comes by mail, and is good for one hour and one use.",
          ...open,
          ...takes(openObject({ email }, ["email"])),
          responses: {
            "200": answer("Asked for.", openObject({ status: flag, message: text }, ["status"])),
            ...refusals(400, 429, 503)
          }
        })
      }
    }
    : {}),
  ...(passwordReset || invitations
    ? {
      [`${auth}/reset-password`]: {
        post: route("usePasswordLink", "Set a password by a mailed link: ends all sessions and tokens", {
          ...open,
          ...takes(openObject({
            token: { type: "string", description: "What stands behind `token=` or `invitation=` of the link." },
            newPassword: { ...password, minLength: 12, maxLength: 128 }
          }, ["token", "newPassword"])),
          responses: {
            "200": answer("Set.", openObject({ status: flag }, ["status"])),
            ...refusals(400, 429)
          }
        })
      }
    }
    : {}),
  ...(invitations && admin
    ? {
      [`${auth}/admin/invite-user`]: {
        post: route("inviteUser", "Create a user who sets the password by a mailed link", {
          ...session,
          ...takes(openObject(userFields, ["email"])),
          responses: { "200": withCookies("The user.", signedIn), ...refusals(400, 401, 403, 409, 503) }
        })
      },
      [`${auth}/admin/send-password-link`]: {
        post: route("sendPasswordLink", "Mail a user a link that sets the password", {
          ...session,
          ...takes(openObject({ userId: text }, ["userId"])),
          responses: {
            "200": answer("It will be sent.", openObject({ status: flag }, ["status"])),
            ...refusals(400, 401, 403, 404, 409, 429, 503)
          }
        })
      }
    }
    : {})
})

// ------------------------------------------------------------------------------------------------------------- keys and admins

const instant: Doc = { type: "string", format: "date-time" }
const instantOrNull: Doc = { type: ["string", "null"], format: "date-time" }

const keyFields: { readonly [name: string]: Doc } = {
  id: text,
  name: text,
  role: { type: "string", description: "One role, or several with commas." },
  createdAt: instant,
  expiresAt: instant,
  revokedAt: instantOrNull,
  lastUsedAt: { ...instantOrNull, description: "Exact to a minute." }
}
const apiKey = closedObject(keyFields, Object.keys(keyFields))

const keyPaths = (auth: string): Doc => ({
  [`${auth}/api-keys/list`]: {
    get: route("ownKeys", "Your API keys, without their texts", {
      ...session,
      responses: { "200": answer("The keys.", closedObject({ keys: list(apiKey) }, ["keys"])), ...refusals(401) }
    })
  },
  [`${auth}/api-keys/create`]: {
    post: route("makeOwnKey", "Make an API key for yourself", {
      description: "The session must have begun in the last fifteen minutes. The key's text is shown this once.",
      ...session,
      ...takes(openObject({
        name: { type: "string", minLength: 1, maxLength: ownNameMax },
        role: { type: "string", description: "Roles that you have, with commas between them." },
        expires: {
          type: "string",
          description: "A length or an instant; usually 90 days, at most 366.",
          examples: ["90d"]
        }
      }, ["name", "role"])),
      responses: {
        "200": answer("The key.", closedObject({ ...keyFields, text }, [...Object.keys(keyFields), "text"])),
        ...refusals(400, 401, 403, 409, 429)
      }
    })
  },
  [`${auth}/api-keys/revoke`]: {
    post: route("revokeOwnKey", "Revoke one of your API keys", {
      ...session,
      ...takes(openObject({ id: text }, ["id"])),
      responses: { "200": answer("The key.", apiKey), ...refusals(400, 401, 404) }
    })
  }
})

const adminPaths = (auth: string, { passkeys, twoFactor }: SignInFeatures): Doc => {
  const take = (id: string, summary: string): Doc => ({
    post: route(id, summary, {
      description: "Ends their sessions and tokens. It is refused for one's own account.",
      ...session,
      ...takes(openObject({ userId: text }, ["userId"])),
      responses: {
        "200": answer("Done.", openObject({ status: flag }, ["status"])),
        ...refusals(400, 401, 403, 404)
      }
    })
  })
  return {
    [`${auth}/admin/roles`]: {
      get: route("roleChoices", "The roles that a user may have", {
        ...session,
        responses: {
          "200": answer(
            "The roles.",
            closedObject({ roles: list(text), defaultRole: { type: ["string", "null"] } }, ["roles", "defaultRole"])
          ),
          ...refusals(401, 403)
        }
      })
    },
    [`${auth}/admin/invited`]: {
      post: route("invitedUsers", "Which users were invited and have no password of their own yet", {
        ...session,
        ...takes(closedObject({ users: { ...list(text), maxItems: 500 } }, ["users"])),
        responses: {
          "200": answer("Their ids.", closedObject({ users: list(text) }, ["users"])),
          ...refusals(400, 401, 403)
        }
      })
    },
    ...(twoFactor
      ? { [`${auth}/admin/reset-second-factor`]: take("resetSecondFactor", "Take a lost second factor away") }
      : {}),
    ...(passkeys ? { [`${auth}/admin/remove-passkeys`]: take("dropPasskeys", "Take all passkeys of a user away") } : {})
  }
}

// ------------------------------------------------------------------------------------------------------------------ everything

/** The paths below `auth`. `admin`: whether the caller may create users. */
export const signInPaths = (auth: string, features: SignInFeatures, admin: boolean): Doc => ({
  [`${auth}/sign-in/email`]: {
    post: route("signIn", "Sign in: sets the session cookie", {
      ...open,
      ...takes(
        closedObject({ email, password, rememberMe: { type: "boolean", default: true } }, ["email", "password"])
      ),
      responses: {
        "200": features.twoFactor
          ? withCookies("Signed in, or asked for the second factor.", { anyOf: [signedIn, waiting] })
          : withCookies("Signed in.", signedIn),
        ...refusals(400, 401, 429)
      }
    })
  },
  [`${auth}/sign-out`]: {
    post: route("signOut", "End the session", {
      ...session,
      responses: { "200": withCookies("Signed out.", openObject({ success: flag }, [])), ...refusals() }
    })
  },
  [`${auth}/token`]: {
    get: route("readToken", "A bearer token, valid for 15 minutes", {
      ...session,
      responses: { "200": withCookies("The token.", openObject({ token: text }, ["token"])), ...refusals(401) }
    })
  },
  [`${auth}/jwks`]: {
    get: route("readKeys", "The public keys of tokens", {
      ...open,
      responses: {
        "200": answer("A JWK set (RFC 7517).", openObject({ keys: list(anyObject) }, ["keys"])),
        ...refusals()
      }
    })
  },
  [`${auth}/status`]: {
    get: route("readStatus", "Whether the first user is still to be created", {
      ...open,
      responses: { "200": answer("The state.", openObject({ needsAdmin: flag }, ["needsAdmin"])), ...refusals() }
    })
  },
  ...(admin
    ? {
      [`${auth}/admin/create-user`]: {
        post: route("addUser", "Create a user", {
          ...session,
          ...takes(
            openObject({
              email,
              password: { ...password, minLength: 12 },
              name: text,
              role: { type: "string", description: "One role, or several with commas." }
            }, ["email", "password", "name"])
          ),
          responses: { "200": withCookies("The user.", signedIn), ...refusals(400, 401, 403, 409) }
        })
      }
    }
    : {}),
  ...keyPaths(auth),
  ...(admin ? adminPaths(auth, features) : {}),
  ...(features.mails === null ? {} : mailPaths(auth, features.mails, admin)),
  ...(features.twoFactor ? secondFactorPaths(auth) : {}),
  ...(features.passkeys ? passkeyPaths(auth) : {})
})
