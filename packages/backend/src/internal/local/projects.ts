/** The projects of this process. */
import { Agent } from "@skein/core/Agent"
import { Command } from "@skein/core/Command"
import { Config } from "@skein/core/Config"
import { Instructions } from "@skein/core/Instructions"
import { modelFor } from "@skein/core/ModelChoice"
import type { ProjectServices } from "@skein/core/Project"
import { Projects } from "@skein/core/Projects"
import { Provider } from "@skein/core/Provider"
import { Skill } from "@skein/core/Skill"
import * as Effect from "effect/Effect"
import type { ProjectFacts } from "../../ProjectFacts.ts"
import type { Local } from "./Local.ts"

/** Makes it. */
export const makeProjects = ({ given }: Local, command: typeof Command.Service): ProjectFacts => {
  const inProject = <A, E>(directory: string, effect: Effect.Effect<A, E, ProjectServices>) =>
    given(Projects.use(directory, effect))
  const facts: ProjectFacts = {
    of: () => facts,
    agents: (directory) =>
      inProject(
        directory,
        Effect.zipWith(Agent, Config, ({ all }, { settings }) => ({
          agents: all,
          defaultAgent: settings.default_agent
        }))
      ),
    agent: (directory, name) =>
      Effect.mapError(
        inProject(directory, Effect.flatMap(Agent, (agents) => agents.get(name))),
        (error) =>
          error._tag === "AgentNotFound" && error.fault !== undefined
            ? { _tag: error._tag, message: error.message, reason: "broken" } as const
            : error
      ),
    commands: (directory, options) =>
      Effect.map(command.list(directory, options), ({ broken, commands }) => ({ items: commands, broken })),
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
  return facts
}
