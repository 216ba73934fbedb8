/** What the processes of test/chaos/events.test.ts share: one table and two subscriptions. */

import { defineConfig, defineResource, f, subscription } from "../../composition/index.ts"
import type { Config } from "../../core/domain/declare/config.ts"

export const eventsSchema =
  "create table counters (id bigint primary key, count integer not null); insert into counters select i, 0 from generate_series(1, 5) i"

export interface EventsSettings {
  readonly url: string
  readonly secret: string
  /** Null: nobody is told in order. */
  readonly orderedUrl: string | null
  readonly orderedSecret: string
}

export const eventsConfig = ({ orderedSecret, orderedUrl, secret, url }: EventsSettings): Config =>
  defineConfig({
    resources: [
      defineResource("counters", {
        table: "counters",
        primaryKey: "id",
        fields: { id: f.integer().bits(64), count: f.integer() },
        events: { created: true, updated: true }
      })
    ],
    subscriptions: [
      subscription("all", { events: ["*"], url, secret }),
      ...(orderedUrl === null
        ? []
        : [subscription("ordered", { events: ["*"], url: orderedUrl, secret: orderedSecret, ordered: true })])
    ]
  })
