/** The app's own pages beside those of resources, and which of them a user may open. The service decides what a page may do. */

import { CircleAlert, KeyRound, Mail, ScrollText, Users, Webhook } from "lucide-react"
import type { LucideIcon } from "lucide-react"
import { config } from "../config.ts"
import { type App, useApp } from "../ground/app.ts"
import { type Messages, useMessages } from "../messages/locale.tsx"

export interface Place {
  readonly name: "jobs" | "webhooks" | "audit" | "mails" | "users" | "account"
  /** Its address in the app. `outside`: the address is not a page of the app. */
  readonly to: string
  readonly outside: boolean
  readonly label: string
  readonly icon: LucideIcon
  /** The group in the sidebar. Null: the page is not in it. */
  readonly group: "operations" | "people" | null
}

/** The resource of the page of webhooks. */
export const subscriptionsName = "webhook_subscriptions"

/** The pages that the user may open. */
const placesOf = ({ catalogue, isAdmin }: App, w: Messages["place"]): readonly Place[] => {
  const own = config.signIn === "password"
  const inside = { outside: false } as const
  return [
    ...(catalogue.meta.jobs === true
      ? [{ ...inside, name: "jobs", to: "/-/jobs", label: w.jobs, icon: CircleAlert, group: "operations" }] as const
      : []),
    ...(catalogue.resources.get(subscriptionsName)?.may.read === true
      ? [{
        ...inside,
        name: "webhooks",
        to: "/-/webhooks",
        label: w.webhooks,
        icon: Webhook,
        group: "operations"
      }] as const
      : []),
    ...(isAdmin
      ? [{ ...inside, name: "audit", to: "/-/audit", label: w.audit, icon: ScrollText, group: "operations" }] as const
      : []),
    ...(isAdmin && config.mails !== undefined
      ? [{ name: "mails", to: config.mails, outside: true, label: w.mails, icon: Mail, group: "operations" }] as const
      : []),
    ...(isAdmin && own
      ? [{ ...inside, name: "users", to: "/-/users", label: w.users, icon: Users, group: "people" }] as const
      : []),
    ...(own
      ? [{ ...inside, name: "account", to: "/-/account", label: w.account, icon: KeyRound, group: null }] as const
      : [])
  ]
}

export const usePlaces = (): readonly Place[] => placesOf(useApp(), useMessages().place)
