/** Owns which skills there are: instructions for kinds of work, of which an agent reads those that it needs. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TimedCache from "./TimedCache.ts"

/** A skill. */
export interface SkillInfo {
  readonly name: string
  /** What it is for, by which an agent decides whether to read it. */
  readonly description: string
  /** What an agent reads. */
  readonly text: string
  /** The directory that its other files lie in, absolute. */
  readonly folder: string
  /** The file that it is written in. */
  readonly origin: string
  /** Where skills of the same name are written whose place it takes. */
  readonly hides: ReadonlyArray<string>
}

/** The skills that there are, and what is wrong with those that cannot be used; both sorted by name. */
export interface SkillList {
  readonly skills: ReadonlyArray<SkillInfo>
  readonly broken: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

/** Finds the skills that hold for a directory. */
export type SkillSource = (directory: string) => Effect.Effect<SkillList>

/** The skills. */
export class Skill extends Context.Tag("@skein/core/Skill")<Skill, {
  /** The skills that hold for a directory, as they were less than half a minute ago. */
  readonly list: SkillSource
}>() {
  /** Skills from a source, each directory of which is remembered for half a minute: every request of a model looks. */
  static readonly layer = (source: SkillSource): Layer.Layer<Skill> =>
    Layer.effect(
      Skill,
      Effect.map(
        TimedCache.make({ capacity: 256, timeToLive: 30_000, lookup: source }),
        (list) => ({ list })
      )
    )

  /** There are none. */
  static readonly layerNone: Layer.Layer<Skill> = Layer.succeed(Skill, {
    list: () => Effect.succeed({ skills: [], broken: [] })
  })
}
