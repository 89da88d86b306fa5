import { expect, it } from "@effect/vitest"
import { Agent } from "@skein/core/Agent"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import { fromConfig } from "@skein/domain/Rule"
import { call, layer } from "@skein/testing/ScriptedProvider"
import * as Workspace from "@skein/testing/Workspace"
import * as NodeTools from "@skein/tools/NodeTools"
import * as Effect from "effect/Effect"

const provider = layer({ build: [call("write", { filePath: "src/new.ts", content: "export {}\n" }), "Done."] })
const agents = Agent.layerWith([], fromConfig({ edit: "allow" }))

it.scoped("writes what it was asked for, and nothing else", () =>
  Effect.gen(function*() {
    const { changes, directory, read } = yield* Workspace.make({ "package.json": "{}" }, { git: true })
    const session = yield* Session.create({ directory, title: "A test" })
    yield* Session.prompt(session.id, "Make src/new.ts")
    expect(yield* changes).toEqual([{ path: "src/new.ts", change: "added" }])
    expect(yield* read("src/new.ts")).toBe("export {}\n")
  }).pipe(Effect.provide(Skein.layer({ provider, agents, tools: NodeTools.tools }))))
