/** Implements the routes of what the project of a directory has. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import { Agent } from "@skein/core/Agent"
import { Command } from "@skein/core/Command"
import type { ProjectServices } from "@skein/core/Project"
import { Projects } from "@skein/core/Projects"
import { Provider } from "@skein/core/Provider"
import { Skill } from "@skein/core/Skill"
import * as Effect from "effect/Effect"
import { checkDirectory } from "./checkDirectory.ts"
import { asProblem } from "./toProblem.ts"

/** Asks the project of a directory for a list. */
const inProject = <A>(directory: string, items: Effect.Effect<ReadonlyArray<A>, never, ProjectServices>) =>
  Effect.flatMap(
    checkDirectory(directory),
    (place) => asProblem(Projects.use(place, Effect.map(items, (found) => ({ items: found }))))
  )

/** The routes of projects. */
export const projectRoutes = HttpApiBuilder.group(Api, "projects", (handlers) =>
  handlers
    .handle("agents", ({ urlParams: { directory } }) =>
      inProject(
        directory,
        Effect.map(Agent, ({ all }) => all.filter(({ hidden }) => !hidden))
      ))
    .handle("commands", ({ urlParams: { directory } }) =>
      Effect.gen(function*() {
        const command = yield* Command
        const { commands } = yield* asProblem(command.list(yield* checkDirectory(directory)))
        return { items: commands }
      }))
    .handle("skills", ({ urlParams: { directory } }) =>
      inProject(
        directory,
        Effect.flatMap(Skill, (skill) => Effect.map(skill.list(directory), ({ skills }) => skills))
      ))
    .handle("models", ({ urlParams: { directory } }) =>
      inProject(directory, Effect.flatMap(Provider, ({ list }) => list))))
