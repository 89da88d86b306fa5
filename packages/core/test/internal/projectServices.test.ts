import { expect, it } from "@effect/vitest"
import type { ProjectServices } from "@skein/core/Projects"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeProjects } from "../../src/Projects.ts"

class Place extends Context.Tag("test/Place")<Place, string>() {}

it.scoped("a project is made with the services of its process, whatever its first user has", () =>
  Effect.gen(function*() {
    const seen: Array<string> = []
    const note = Effect.map(Place, (place) => void seen.push(place))
    // What it has for sessions does not matter here.
    const layer = Layer.effectDiscard(note) as unknown as Layer.Layer<ProjectServices, never, Place>
    const projects = yield* Effect.provideService(
      makeProjects(() => Effect.as(note, { layer, next: Effect.never }), "1 minute"),
      Place,
      "process"
    )
    yield* Effect.provideService(Effect.scoped(projects.open("/a")), Place, "user")
    expect(seen).toEqual(["process", "process"])
  }))
