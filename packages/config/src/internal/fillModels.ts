/**
 * Substitutes variables in model names of another tool's file, which is needed to decide whether the models can be
 * used.
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import type { Located, LocatedEntry, LocatedObject } from "./located.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

/** The objects that contain models, or agents with models. */
const holders = new Set(["agent", "mode"])

const hasBlank = (value: Located): boolean => value.kind === "string" && /\{(?:env|file):/.test(value.value)

/** Substitutes `{env:X}` and `{file:p}` in model names. A name that cannot be substituted stays unchanged. */
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
          substitute(value, source, ["model"]),
          (filled) => filled.faults.length + filled.refused.length > 0 ? each : { ...each, value: filled.tree }
        )
      }
      return value.kind === "object" && (depth === 1 || (depth === 0 && holders.has(key)))
        ? Effect.map(fillModels(value, source, depth + 1), (filled) => ({ ...each, value: filled }))
        : Effect.succeed(each)
    }),
    (entries) => ({ ...tree, entries })
  )
