/** Statements in a transaction that somebody else has begun, by its handle. Its answers and failures are those of any statement of this adapter. */

import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Transaction } from "../../core/domain/declare/config.ts"
import type { RecordsError } from "../../core/ports/records.ts"
import { refuse } from "./errors.ts"

/** Runs statements within a transaction. Rows are objects of columns, as the caller knows them to be. */
export const within =
  <Row>(handle: Transaction) =>
  (sql: string, params: readonly unknown[]): Effect.Effect<readonly Row[], RecordsError> =>
    Effect.catch(
      Effect.tryPromise({
        try: async () => (await handle.query(sql, params)) as readonly Row[],
        catch: (error) => error as SqlError
      }),
      refuse
    )
