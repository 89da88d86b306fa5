/**
 * The result of each form that people use in files of other tools: silent, noted, left out, and never a refused run.
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { agentsFrom } from "@skein/config/AgentsConfig"
import * as CommandFiles from "@skein/config/CommandFiles"
import { DataDirs } from "@skein/config/DataDirs"
import * as SkillFiles from "@skein/config/SkillFiles"
import { builtins } from "@skein/core/Agent"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { join } from "node:path"
import { agents } from "./shapes/agents.ts"
import { commands } from "./shapes/commands.ts"
import { configs } from "./shapes/configs.ts"
import type { Shape } from "./shapes/shape.ts"
import { loadIn, notIn, workspace } from "./workspace.ts"

const shapes: ReadonlyArray<Shape> = [...agents, ...commands, ...configs]

/** The result of the files, in one line: `silent`, or the number of remarks of each kind. */
const resultOf = Effect.fnUntraced(function*({ files }: Shape) {
  const root = yield* workspace(
    Object.fromEntries(Object.entries(files).map(([path, content]) => [`project/${path}`, content]))
  )
  const loaded = yield* loadIn(root, { providers: ["openai"] })
  const found = Either.getOrThrow(agentsFrom(loaded.settings, builtins, loaded.origins, loaded.broken))
  const around = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provide(DataDirs.layer()),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))
    )
  const { grants } = loaded
  const others = yield* around(CommandFiles.load(join(root, "project"), { ...loaded, whyNot: notIn(["openai"]) }))
  const known = yield* around(SkillFiles.load(join(root, "project"), grants))
  const issues = [...loaded.warnings, ...found.warnings, ...others.warnings, ...known.warnings]
  const count = (kind: string) => issues.filter((issue) => (issue.kind ?? "mistake") === kind).length
  const kinds = ["note", "left_out", "restriction", "trust", "mistake"].flatMap((kind) =>
    count(kind) === 0 ? [] : [`${count(kind)} ${kind}`]
  )
  return {
    result: kinds.length === 0 ? "silent" : kinds.join(", "),
    broken: [...others.broken, ...known.broken],
    defaultAgent: found.defaultAgent,
    agents: Object.fromEntries(
      found.agents.filter(({ origin }) => origin !== "built in").map(({ name, permission }) => [
        name,
        permission.map(({ action, pattern, permission: key }) => `${action} ${key} ${pattern}`)
      ])
    ),
    rules: found.permission.map(({ action, pattern, permission: key }) => `${action} ${key} ${pattern}`),
    names: [
      ...others.commands.map(({ name }) => name),
      ...known.skills.map(({ description, name }) => `${name}: ${description}`)
    ]
  }
})

layer(NodeFileSystem.layer)("forms of other tools' files", (it) => {
  it.effect("are at least 250, with unique names", () =>
    Effect.sync(() => {
      expect(shapes.length).toBeGreaterThanOrEqual(250)
      expect(new Set(shapes.map(({ what }) => what)).size).toBe(shapes.length)
    }))

  it.scoped.each(shapes.map((shape) => [shape.what, shape] as const))("%s", ([, shape]) =>
    Effect.gen(function*() {
      const found = yield* resultOf(shape)
      expect(found.result).toBe(shape.result)
      expect(found.broken).toEqual([])
      if (shape.gives !== undefined) expect(Object.keys(found.agents)).toContain(shape.gives)
      if (shape.lacks !== undefined) expect(Object.keys(found.agents)).not.toContain(shape.lacks)
      if (shape.denies !== undefined) expect(Object.values(found.agents).flat()).toContain(`deny ${shape.denies}`)
      if (shape.rules !== undefined) expect(found.rules).toEqual(shape.rules)
      if (shape.names !== undefined) expect(found.names).toEqual(shape.names)
      if (shape.begins !== undefined) expect(found.defaultAgent).toBe(shape.begins)
    }))
})
