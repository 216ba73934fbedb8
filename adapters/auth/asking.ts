/** The stage in which better-auth is asked: which engine, with which body, and how often. It judges no answer. */

import { problem } from "../../core/domain/problem.ts"
import { adapt } from "./adapt.ts"
import { refuseAway } from "./answers.ts"
import { type AuthAddress, type AuthCall, requestFor } from "./asked.ts"
import type { Body } from "./auth-body.ts"
import { callBack, readAddresses } from "./callback.ts"
import type { Engine } from "./engine.ts"
import type { AuthInternals } from "./internals.ts"
import type { Limits } from "./limits.ts"
import type { MailRequest } from "./mail-routes.ts"
import { askerIn, type OwnRequest } from "./own-routes.ts"
import { parsed, refusalOf, sessionEnded } from "./refusals.ts"
import { inviting, providerSignIn } from "./routes.ts"
import { inTurn } from "./turn.ts"
import type { Seen } from "./witness.ts"

/** The parts that this stage needs. */
export interface AskParts extends AuthAddress {
  readonly internals: AuthInternals
  readonly limits: Limits
}

/** An address that no account has. */
const nobody = `${crypto.randomUUID()}@accounts.invalid`

/** Gives the engine for a request: the engine of all providers, or the engine that knows the named provider. */
export const engineFor = async (
  { engine, providerEngine, providers }: AuthInternals,
  { body, route }: AuthCall
): Promise<Engine> => {
  if (route.provider === undefined) return engine()
  const id = route.provider === "named" ? body["provider"] : route.provider.id
  if (typeof id !== "string" || !providers.some((each) => each.id === id)) {
    throw problem("not-found", "There is no such identity provider.", { code: "PROVIDER_NOT_FOUND" })
  }
  const own = await providerEngine(id)
  if (own !== null) return own
  throw problem("unavailable", "The identity provider cannot be reached.", {}, { "retry-after": "10" })
}

const bodyFor = (
  { internals: { roles }, origin }: AskParts,
  { body, path }: AuthCall,
  seen: Seen | null,
  { trusts }: Engine
): Body => {
  // A banned account is handled exactly like an unknown one, so not even the time tells that the password was right.
  const adapted = adapt(path, seen?.barred === true ? { ...body, email: nobody } : body, roles.defaultRole)
  return path === providerSignIn ? { ...adapted, ...readAddresses(adapted, origin, trusts) } : adapted
}

/** Asks once more where a read met a database that takes no changes: without the changes that it can do without. */
const handle = async ({ store }: AuthInternals, engine: Engine, request: Request): Promise<Response> => {
  const answered = await engine.handle(request)
  return request.method === "GET" && store.spare() ? engine.handle(request) : answered
}

/** Asks better-auth. `search`: the query as it gets it. */
export const ask = (
  parts: AskParts,
  asked: AuthCall,
  engine: Engine,
  seen: Seen | null,
  search: string
): Promise<Response> => {
  const { internals, limits, origin } = parts
  const { onError, store, table } = internals
  const { cookies, path, route } = asked
  const body = route.method === "POST" ? bodyFor(parts, asked, seen, engine) : null
  const target = `${path === inviting ? "/admin/create-user" : path}${search}`
  const once = () => handle(internals, engine, requestFor(asked, parts, target, route.method, body))
  if (typeof route.provider === "object") {
    return callBack(once, asked, route.provider.id, engine.trusts, { store, table, limits, origin, onError })
  }
  return route.limited === "challenge" ? inTurn(once, cookies, store, table) : once()
}

/** What a route of our own may ask about the caller. Only better-auth judges the signature of a cookie. */
export const ownRequest = ({ internals, ...place }: AskParts, asked: AuthCall): MailRequest & OwnRequest => {
  const askFor = async (path: string) => {
    const response = await handle(internals, await internals.engine(), requestFor(asked, place, path))
    const text = await response.text()
    refuseAway(internals.store)
    return { response, text }
  }
  return {
    body: asked.body,
    client: asked.client.group,
    account: async (id) => {
      const { response, text } = await askFor(`/admin/get-user?${new URLSearchParams({ id }).toString()}`)
      if (response.ok) return parsed(text)
      throw refusalOf(asked.path, response.status, text)
    },
    session: async () => {
      const asker = askerIn(parsed((await askFor("/get-session?disableRefresh=true")).text))
      if (asker !== null) return asker
      throw sessionEnded()
    }
  }
}
