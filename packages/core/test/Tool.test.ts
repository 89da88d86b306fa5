import { describe, expect, it } from "@effect/vitest"
import { Tools } from "@skein/core/Tool"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

const tool = (name: string) => SkeinTest.tool(name, () => Effect.succeed(name))

describe("the registry of tools", () => {
  it.effect("sorts its tools, and finds one by its exact name", () =>
    Effect.gen(function*() {
      const tools = yield* Tools
      expect(tools.all().map(({ name }) => name)).toEqual(["alpha", "beta", "gamma"])
      expect(tools.get("beta")?.name).toBe("beta")
      for (const name of ["Beta", "bet", "", "__proto__", "constructor"]) expect(tools.get(name)).toBeUndefined()
    }).pipe(Effect.provide(Tools.layer(Effect.succeed([tool("gamma"), tool("alpha"), tool("beta")])))))

  it.effect("keeps an added tool until its scope closes, and then restores the previous one", () => {
    const [own, first, second] = [tool("alpha"), tool("alpha"), tool("beta")]
    return Effect.gen(function*() {
      const tools = yield* Tools
      const scope = yield* Scope.make()
      yield* Scope.extend(Effect.zipRight(tools.register(first), tools.register(second)), scope)
      expect(tools.all()).toEqual([first, second])
      expect(tools.get("alpha")).toBe(first)
      yield* Scope.close(scope, Exit.void)
      expect(tools.all()).toEqual([own])
      expect(tools.get("alpha")).toBe(own)
    }).pipe(Effect.provide(Tools.layer(Effect.succeed([own]))))
  })

  it.effect("keeps the later of two additions when the earlier one is removed", () => {
    const [first, second] = [tool("alpha"), tool("alpha")]
    return Effect.gen(function*() {
      const tools = yield* Tools
      const [older, younger] = [yield* Scope.make(), yield* Scope.make()]
      yield* Scope.extend(tools.register(first), older)
      yield* Scope.extend(tools.register(second), younger)
      yield* Scope.close(older, Exit.void)
      expect(tools.get("alpha")).toBe(second)
      yield* Scope.close(younger, Exit.void)
      expect(tools.get("alpha")).toBeUndefined()
    }).pipe(Effect.provide(Tools.layer(Effect.succeed([]))))
  })
})
