/** What the projects of this process have. */
import { Agent } from "@skein/core/Agent"
import { Command } from "@skein/core/Command"
import { Config } from "@skein/core/Config"
import { Instructions } from "@skein/core/Instructions"
import { isSize, ofVendor, usualModel } from "@skein/core/ModelSize"
import type { ProjectServices } from "@skein/core/Project"
import { Projects } from "@skein/core/Projects"
import { Provider } from "@skein/core/Provider"
import { Skill } from "@skein/core/Skill"
import type { ModelRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import type { ProjectFacts } from "../../ProjectFacts.ts"
import type { Local } from "./Local.ts"

/** The model that answers; fails where none of those that would be tried can be had. */
const modelFor = Effect.fnUntraced(function*(model: ModelRef | undefined, name: string) {
  const provider = yield* Provider
  const { settings } = yield* Config
  const named = model === undefined ? (yield* Effect.flatMap(Agent, (agents) => agents.get(name))).model : [model]
  const isUnnamed = named.every(isSize)
  // A size is one of the vendor of the usual model.
  const usual = isUnnamed || named.some(isSize) ? yield* usualModel : undefined
  const refs = usual === undefined ? named : yield* Effect.forEach(named, (ref) => ofVendor(ref, usual))
  const [first, ...rest] = refs.length > 0 || usual === undefined ? refs : [usual]
  if (first === undefined) return { model: undefined, isUsual: false }
  yield* rest.reduce(
    (found, ref) => Effect.catchAll(found, () => provider.resolve(ref)),
    provider.resolve(first)
  )
  return { model: first, isUsual: isUnnamed && settings.model === undefined }
})

/** Makes it. */
export const makeProjects = ({ given }: Local, command: typeof Command.Service): ProjectFacts => {
  const inProject = <A, E>(directory: string, effect: Effect.Effect<A, E, ProjectServices>) =>
    given(Projects.use(directory, effect))
  return {
    agents: (directory) =>
      inProject(
        directory,
        Effect.zipWith(Agent, Config, ({ all }, { settings }) => ({
          agents: all,
          defaultAgent: settings.default_agent
        }))
      ),
    agent: (directory, name) => inProject(directory, Effect.flatMap(Agent, (agents) => agents.get(name))),
    commands: (directory) =>
      Effect.map(command.list(directory), ({ broken, commands }) => ({ items: commands, broken })),
    command: (directory, name) => command.get(directory, name),
    skills: (directory) =>
      inProject(
        directory,
        Effect.flatMap(Skill, (skill) =>
          Effect.map(skill.list(directory), ({ broken, skills }) => ({ items: skills, broken })))
      ),
    models: (directory) => inProject(directory, Effect.flatMap(Provider, ({ list }) => list)),
    modelFor: (directory, { agent, model }) => inProject(directory, modelFor(model, agent)),
    instructions: (directory) =>
      inProject(directory, Effect.flatMap(Instructions, (instructions) => instructions.of(directory)))
  }
}
