/**
 * Stores each set of rules once, however many runs it bounds: the row of a run refers to its sets by their digests. A set
 * never changes, and stays when its runs are deleted.
 */
import type { RunTerms, TaskRun } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import { createHash } from "node:crypto"

/** A set of rules as it is stored. */
export interface StoredRules {
  readonly digest: string
  readonly data: string
}

const known = new WeakMap<Ruleset, StoredRules>()

/** The stored form of a set; made once for each, because the same few bound all runs. */
const storedOf = (rules: Ruleset): StoredRules => {
  const found = known.get(rules)
  if (found !== undefined) return found
  const data = JSON.stringify(rules)
  const made = { digest: createHash("sha256").update(data).digest("base64url"), data }
  known.set(rules, made)
  return made
}

/** The kinds of sets. */
export const fields: ReadonlyArray<keyof RunTerms> = ["ceilings", "rules", "shared"]

/** The sets that bound a run. */
export const setsOf = ({ terms }: TaskRun): ReadonlyArray<StoredRules> =>
  terms === undefined ? [] : fields.flatMap((field) => terms[field].map(storedOf))

/** The digests of the sets, in JSON; undefined if nothing bounds the run. */
export const termsColumn = ({ terms }: TaskRun): string | undefined =>
  terms && JSON.stringify(Object.fromEntries(fields.map((field) => [
    field,
    terms[field].map(storedOf)
      .map(({ digest }) => digest)
  ])))

/** A run without the sets that are stored elsewhere. */
export const withoutSets = (run: TaskRun): TaskRun => {
  const { terms: _, ...rest } = run
  return rest
}
