/** Owns what a project and its user tell agents: instructions, which every agent reads, and skills, which one reads when it needs them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeTimedCache } from "./Fibers.ts"

/** The instructions. */
export class Instructions extends Context.Tag("@skein/core/Instructions")<Instructions, {
  /** The instructions in the system prompt of agents that work in a directory; undefined if there are none. */
  readonly of: (directory: string) => Effect.Effect<string | undefined>
  /**
   * Whether neither the directory nor one above it, up to its git root, has files that configure or instruct agents. False
   * if that is not known.
   */
  readonly isBare: (directory: string) => Effect.Effect<boolean>
}>() {
  /** No instructions. */
  static readonly layerNone = Layer.succeed(Instructions, {
    of: () => Effect.succeed(undefined),
    isBare: () => Effect.succeed(false)
  })

  /** The same instructions for every directory. */
  static readonly layerText = (text: string): Layer.Layer<Instructions> =>
    Layer.succeed(Instructions, { of: () => Effect.succeed(text), isBare: () => Effect.succeed(false) })
}

/** A skill. */
export interface SkillInfo {
  readonly name: string
  /** Its purpose, by which an agent decides whether to read it. */
  readonly description: string
  /** What an agent reads. */
  readonly text: string
  /** The directory of its other files, absolute. */
  readonly folder: string
  /** The file that defines it. */
  readonly origin: string
  /** Where the skills of the same name are defined that it overrides. */
  readonly hides: ReadonlyArray<string>
}

/** The skills, and what is wrong with those that cannot be used; both sorted by name. */
export interface SkillList {
  readonly skills: ReadonlyArray<SkillInfo>
  readonly broken: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

/** Finds the skills of a directory. */
export type SkillSource = (directory: string) => Effect.Effect<SkillList>

/** The skills. */
export class Skill extends Context.Tag("@skein/core/Skill")<Skill, {
  /** The skills of a directory, at most half a minute old. */
  readonly list: SkillSource
}>() {
  /** Skills from a source, cached for half a minute per directory, because every model request reads them. */
  static readonly layer = (source: SkillSource): Layer.Layer<Skill> =>
    Layer.effect(
      Skill,
      Effect.map(
        makeTimedCache({ capacity: 256, timeToLive: 30_000, lookup: source }),
        (list) => ({ list })
      )
    )

  /** There are none. */
  static readonly layerNone: Layer.Layer<Skill> = Layer.succeed(Skill, {
    list: () => Effect.succeed({ skills: [], broken: [] })
  })
}
