/** Implements the routes of a project's agents, commands, skills and models. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import { problem } from "@skein/api/Problem"
import { Agent } from "@skein/core/Agent"
import { Command } from "@skein/core/Command"
import { Config } from "@skein/core/Config"
import { Instructions } from "@skein/core/Instructions"
import { modelFor } from "@skein/core/ModelChoice"
import type { ProjectServices } from "@skein/core/Project"
import { Projects } from "@skein/core/Projects"
import { Provider } from "@skein/core/Provider"
import { Skill } from "@skein/core/Skill"
import { parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { checkDirectory } from "./checkDirectory.ts"
import { asProblem, type ServiceError } from "./toProblem.ts"

/** Queries the project of a directory. */
const inProject = <A, E extends ServiceError>(directory: string, asked: Effect.Effect<A, E, ProjectServices>) =>
  Effect.flatMap(checkDirectory(directory), (place) => asProblem(Projects.use(place, asked)))

const badModel = problem(400, "BadModel", "`model` has to be PROVIDER/MODEL.")

const readModel = (text: string | undefined) => {
  const model = text === undefined ? undefined : parseRef(text)
  return text !== undefined && model === undefined ? Effect.fail(badModel) : Effect.succeed(model)
}

/** The routes of projects. */
export const projectRoutes = HttpApiBuilder.group(Api, "projects", (handlers) =>
  handlers
    .handle("agents", ({ urlParams: { directory, hidden } }) =>
      inProject(
        directory,
        Effect.zipWith(Agent, Config, ({ all }, { settings }) => ({
          items: hidden === "true" ? all : all.filter((agent) => !agent.hidden),
          default: settings.default_agent
        }))
      ))
    .handle("agent", ({ path, urlParams: { directory } }) =>
      inProject(
        directory,
        Effect.flatMap(Agent, (agents) => agents.get(path.name))
      ))
    .handle("commands", ({ urlParams: { directory, servers } }) =>
      Effect.gen(function*() {
        const command = yield* Command
        const { broken, commands } = yield* asProblem(
          command.list(yield* checkDirectory(directory), { servers: servers === "true" })
        )
        return { items: commands, broken }
      }))
    .handle("command", ({ path, urlParams: { directory } }) =>
      Effect.gen(function*() {
        const command = yield* Command
        return yield* asProblem(command.get(yield* checkDirectory(directory), path.name))
      }))
    .handle("skills", ({ urlParams: { directory } }) =>
      inProject(
        directory,
        Effect.flatMap(
          Skill,
          (skill) => Effect.map(skill.list(directory), ({ broken, skills }) => ({ items: skills, broken }))
        )
      ))
    .handle(
      "models",
      ({ urlParams: { directory } }) =>
        inProject(directory, Effect.flatMap(Provider, ({ list }) => Effect.map(list, (items) => ({ items }))))
    )
    .handle("model", ({ urlParams: { agent, directory, model } }) =>
      Effect.flatMap(readModel(model), (wanted) =>
        Effect.map(inProject(directory, modelFor(wanted, agent)), (choice) => ({
          isUsual: choice.isUsual,
          ...(choice.model === undefined ? {} : { model: choice.model })
        }))))
    .handle("instructions", ({ urlParams: { directory } }) =>
      inProject(
        directory,
        Effect.flatMap(
          Instructions,
          (instructions) =>
            Effect.map(instructions.of(directory), (text) =>
              text === undefined ? {} : { text })
        )
      )))
