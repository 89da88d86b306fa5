/** Implements the routes of a project's agents, commands, skills and models. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import { problem } from "@skein/api/Problem"
import { Agent } from "@skein/core/Agent"
import { Command } from "@skein/core/Command"
import { Config } from "@skein/core/Config"
import { Instructions, Skill } from "@skein/core/Instructions"
import { modelFor } from "@skein/core/ModelChoice"
import { pageOf } from "@skein/core/Page"
import { Projects, type ProjectServices } from "@skein/core/Projects"
import { Provider } from "@skein/core/Provider"
import { formatRef, parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { placeOf } from "./checkDirectory.ts"
import { noting } from "./reached.ts"
import { asProblem, type ServiceError } from "./toProblem.ts"

const byName = ({ name }: { readonly name: string }): string => name

/** Queries the project that a request is about. */
const inProject = <A, E extends ServiceError>(
  about: Parameters<typeof placeOf>[0],
  asked: (place: string) => Effect.Effect<A, E, ProjectServices>
) => Effect.flatMap(placeOf(about), (place) => asProblem(Projects.use(place, asked(place))))

const badModel = problem(400, "BadModel", "`model` has to be PROVIDER/MODEL.")

const readModel = (text: string | undefined) => {
  const model = text === undefined ? undefined : parseRef(text)
  return text !== undefined && model === undefined ? Effect.fail(badModel) : Effect.succeed(model)
}

/** The routes of projects. */
export const projectRoutes = HttpApiBuilder.group(Api, "projects", (handlers) =>
  handlers
    .handle("agents", ({ urlParams }) =>
      inProject(urlParams, () =>
        Effect.gen(function*() {
          const { all } = yield* Agent
          const { settings } = yield* Config
          const agents = urlParams.hidden === "true" ? all : all.filter(({ hidden }) => !hidden)
          return { ...(yield* pageOf(agents, urlParams, byName)), default: settings.default_agent }
        })))
    .handle("agent", ({ path, urlParams }) =>
      inProject(urlParams, () => Effect.flatMap(Agent, (agents) => agents.get(path.name))))
    .handle("commands", ({ urlParams }) =>
      Effect.gen(function*() {
        const command = yield* Command
        const { broken, commands } = yield* asProblem(
          command.list(yield* placeOf(urlParams), { servers: urlParams.servers === "true" })
        )
        return { ...(yield* asProblem(pageOf(commands, urlParams, byName))), broken }
      }))
    .handle("command", ({ path, urlParams }) =>
      Effect.gen(function*() {
        const command = yield* Command
        return yield* asProblem(command.get(yield* placeOf(urlParams), path.name))
      }))
    .handle("skills", ({ urlParams }) =>
      inProject(urlParams, (place) =>
        Effect.flatMap(
          Skill,
          (skill) =>
            Effect.flatMap(skill.list(place), ({ broken, skills }) =>
              Effect.map(pageOf(skills, urlParams, byName), (page) => ({ ...page, broken })))
        )))
    .handle("models", ({ urlParams }) =>
      inProject(urlParams, () =>
        Effect.flatMap(Provider, ({ list }) =>
          Effect.flatMap(list, (models) =>
            pageOf(models, urlParams, formatRef)))))
    .handle("model", ({ urlParams: { agent, model, ...about } }) =>
      Effect.flatMap(readModel(model), (wanted) =>
        Effect.map(
          inProject(about, () =>
            modelFor(wanted, agent)),
          (choice) => ({
            isUsual: choice.isUsual,
            ...(choice.model === undefined ? {} : { model: choice.model })
          })
        )))
    .handle("instructions", ({ urlParams }) =>
      inProject(urlParams, (place) =>
        Effect.flatMap(
          Instructions,
          (instructions) =>
            Effect.map(instructions.of(place), (text) =>
              text === undefined ? {} : { text })
        )))
    .pipe(noting))
