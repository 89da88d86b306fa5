/** Reads what bounds runs, each set of rules once. */
import type { StorageError } from "@skein/core/StorageError"
import type { RunTerms } from "@skein/domain/Outcome"
import { Ruleset } from "@skein/domain/Rule"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { makeDecode, type Row } from "./decode.ts"
import type { Select } from "./dialect.ts"
import { fields, type StoredRules } from "./rulesets.ts"

/** The row of a run, and the digests of what bounds it. */
export interface RunRow extends Row {
  readonly terms: string | null
}

const Digests = Schema.Array(Schema.String)
const decodeDigests = makeDecode(Schema.Struct({ ceilings: Digests, rules: Digests, shared: Digests }))
const decodeRules = makeDecode(Ruleset)

/** Bounds of which nothing is known deny everything. */
const everything: Ruleset = [{ permission: "*", pattern: "*", action: "deny" }]
const closed: RunTerms = { ceilings: [everything], rules: [], shared: [] }

/** The maximum number of sets that one statement reads. */
const most = 500

/** Returns what bounds the runs of some rows, by the ids of the runs. Reads each set once. */
export type ReadTerms = (rows: ReadonlyArray<RunRow>) => Effect.Effect<ReadonlyMap<string, RunTerms>, StorageError>

/** Makes the reader of one database. */
export const makeReadTerms = (read: Select): ReadTerms => {
  const sets = new Map<string, Ruleset>()

  const readSets = (digests: ReadonlyArray<string>) =>
    Effect.map(
      read<StoredRules>(
        "rulesets",
        `SELECT digest, data FROM ruleset WHERE digest IN (${digests.map(() => "?").join(", ")})`,
        digests
      ),
      (rows) => {
        for (const { data, digest } of rows) {
          sets.set(digest, Either.getOrElse(decodeRules(data), () => everything))
        }
      }
    )

  return Effect.fnUntraced(function*(rows) {
    const bounded = rows.flatMap(({ id, terms }) => terms === null ? [] : [{ id, digests: decodeDigests(terms) }])
    const wanted = bounded.flatMap(({ digests }) =>
      Either.match(digests, { onLeft: () => [], onRight: (of) => fields.flatMap((field) => of[field]) })
    )
    const missing = [...new Set(wanted)].filter((digest) => !sets.has(digest))
    yield* Effect.forEach(Arr.chunksOf(missing, most), readSets, { discard: true })
    const rulesOf = (digests: ReadonlyArray<string>) => digests.map((digest) => sets.get(digest) ?? everything)
    return new Map(bounded.map(({ digests, id }) => [
      id,
      Either.match(digests, {
        onLeft: () => closed,
        onRight: ({ ceilings, rules, shared }): RunTerms => ({
          ceilings: rulesOf(ceilings),
          rules: rulesOf(rules),
          shared: rulesOf(shared)
        })
      })
    ]))
  })
}
