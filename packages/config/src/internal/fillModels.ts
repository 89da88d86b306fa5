/** Fills in the names of models in another tool's file: only then it can be said whether they can be used. */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import type { Located, LocatedEntry, LocatedObject } from "./located.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

/** The objects in which there are models, or agents with models. */
const holders = new Set(["agent", "mode"])

const hasBlank = (value: Located): boolean => value.kind === "string" && /\{(?:env|file):/.test(value.value)

/** Puts in what stands for `{env:X}` and `{file:p}` in names of models. One that cannot be filled in stays as it is. */
export const fillModels = (
  tree: LocatedObject,
  source: ConfigSource,
  depth = 0
): Effect.Effect<LocatedObject, never, FileSystem.FileSystem> =>
  Effect.map(
    Effect.forEach(tree.entries, (each): Effect.Effect<LocatedEntry, never, FileSystem.FileSystem> => {
      const { key, value } = each
      if ((key === "model" || key === "small_model") && hasBlank(value)) {
        return Effect.map(
          substitute(value, source),
          (filled) => filled.faults.length + filled.refused.length > 0 ? each : { ...each, value: filled.tree }
        )
      }
      return value.kind === "object" && (depth === 1 || (depth === 0 && holders.has(key)))
        ? Effect.map(fillModels(value, source, depth + 1), (filled) => ({ ...each, value: filled }))
        : Effect.succeed(each)
    }),
    (entries) => ({ ...tree, entries })
  )
