/**
 * The `secrets` commands, for the time in which one secret takes the place of another: what the databases keep sealed with which, and sealing it with the
 * first one. What people hold (cookies, links, page tokens) ends by itself; these commands say when.
 */

import type { SealedCounts } from "../../adapters/auth/reseal.ts"
import { resealAccounts } from "../../adapters/auth/reseal.ts"
import { ownSchema } from "../../adapters/postgres/sql.ts"
import { makeSeal } from "../../adapters/seal/seal.ts"
import { sealContext } from "../../core/app/event/webhooks.ts"
import { allSecrets } from "../../core/domain/secret.ts"
import { keepsAccounts, makeAuth } from "../assembly.ts"
import type { LazyPool } from "../database.ts"
import { authMigrations, findMissing, webhookMigrations } from "../migrations.ts"
import { CliFailure, note, print, printJson, printTable } from "./output.ts"
import { loadProject, type Project, type ProjectFlags, withDatabases, withPool } from "./project.ts"

type Flags = ProjectFlags & { readonly json: boolean }

/** What is kept sealed, by its name. */
interface Sealed {
  readonly kept: { readonly [name: string]: SealedCounts }
  /** Until when API keys are good that an accepted secret has sealed. */
  readonly apiKeys: string | null
}

const refuseMissing = (missing: readonly unknown[]): void => {
  if (missing.length > 0) throw new CliFailure("Tables are missing or out of date. Run: service migration --apply")
}

const sumCounts = (all: readonly SealedCounts[]): SealedCounts => {
  const sum = { first: 0, accepted: 0, none: 0 }
  for (const { accepted, first, none } of all) {
    sum.first += first
    sum.accepted += accepted
    sum.none += none
  }
  return sum
}

/** Secrets of subscriptions. Each is replaced only where it is still as it was read. */
const resealWebhooks = async (
  { compiled, secret }: Project,
  pool: LazyPool,
  write: boolean
): Promise<SealedCounts | null> => {
  if (compiled.webhooks === null) return null
  refuseMissing(await findMissing(pool, webhookMigrations(compiled)))
  const [seal, own] = [makeSeal(secret), makeSeal(allSecrets(secret)[0])]
  const table = `${ownSchema(compiled.webhooks.schema)}.subscriptions`
  const counts = { first: 0, accepted: 0, none: 0 }
  const client = await pool.connect()
  try {
    for (const column of ["secret", "previous_secret"] as const) {
      for (let after: string | undefined = "0"; after !== undefined;) {
        const { rows }: { readonly rows: ReadonlyArray<{ id: string; sealed: string }> } = await client.query(
          `select id::text, ${column} as sealed from ${table} where ${column} is not null and id > $1::bigint order by id limit 500`,
          [after]
        )
        for (const { id, sealed } of rows) {
          const context = sealContext(id)
          const text = seal.open(context, sealed)
          if (own.open(context, sealed) !== null) counts.first++
          else if (text === null) counts.none++
          else if (write) {
            const { rowCount } = await client.query(
              `update ${table} set ${column} = $3 where id = $1::bigint and ${column} = $2`,
              [id, sealed, own.seal(context, text)]
            )
            counts[rowCount === 1 ? "first" : "accepted"]++
          } else counts.accepted++
        }
        after = rows.length < 500 ? undefined : rows.at(-1)?.id
      }
    }
    return counts
  } finally {
    client.release()
  }
}

const readSealed = (project: Project, write: boolean): Promise<Sealed> =>
  withDatabases(project.settings, project.config, async ({ authUrl, url }) => {
    const accounts = !keepsAccounts(project) ? null : await withPool(authUrl, async (pool) => {
      refuseMissing(await findMissing(pool, authMigrations(project.compiled)))
      const { tenants } = project.compiled
      const all = []
      // Those of each tenant have secrets of their own, which are made of that of the deployment.
      for (const tenant of tenants === null ? [null] : tenants.known ?? []) {
        all.push(await resealAccounts(makeAuth(project, project.settings, pool, {}, tenant), write))
      }
      return {
        signingKeys: sumCounts(all.map(({ signingKeys }) => signingKeys)),
        secondFactors: sumCounts(all.map(({ secondFactors }) => secondFactors)),
        apiKeys: all.map(({ apiKeys }) => apiKeys).filter((until) => until !== null).toSorted().at(-1) ?? null
      }
    })
    const webhooks = await withPool(url, (pool) => resealWebhooks(project, pool, write))
    return {
      kept: {
        ...(accounts === null
          ? {}
          : { "signing keys": accounts.signingKeys, "second factors": accounts.secondFactors }),
        ...(webhooks === null ? {} : { "secrets of webhooks": webhooks })
      },
      apiKeys: accounts?.apiKeys ?? null
    }
  })

const tell = (project: Project, { apiKeys, kept }: Sealed, json: boolean): void => {
  const accepted = allSecrets(project.secret).length - 1
  const counts = Object.values(kept)
  const waiting = counts.reduce((sum, each) => sum + each.accepted, 0)
  const lost = counts.reduce((sum, each) => sum + each.none, 0)
  if (json) return printJson({ accepted, kept, apiKeys, waiting, lost })
  printTable(
    ["sealed", "with AUTH_SECRET", "with an accepted one", "with an unknown one"],
    Object.entries(kept).map(([name, each]) => [name, String(each.first), String(each.accepted), String(each.none)]),
    "Nothing is kept sealed."
  )
  if (lost > 0) note("No known secret opens what an unknown one has sealed. Put that secret into AUTH_SECRET_ACCEPTED.")
  if (accepted === 0) return print("Only AUTH_SECRET is accepted.")
  if (waiting > 0) return print("To seal all of it with AUTH_SECRET: service secrets rotate")
  print(
    "Nothing that is kept needs the accepted secrets any more. Remove them 7 days after the last process was started with AUTH_SECRET as it is now:"
      + " until then somebody may come with a session of before. Devices that need no second factor ask for one again where they are not used for as long."
  )
}

/** Says what is sealed with which secret. */
export const list = async (flags: Flags): Promise<void> => {
  const project = await loadProject(flags)
  tell(project, await readSealed(project, false), flags.json)
}

/** Seals with the first secret what the others have sealed. */
export const rotate = async (flags: Flags): Promise<void> => {
  const project = await loadProject(flags)
  const sealed = await readSealed(project, true)
  tell(project, sealed, flags.json)
  if (sealed.apiKeys !== null && !flags.json) {
    print(`API keys stay good without the accepted secrets; the last one ends at ${sealed.apiKeys}.`)
  }
}
