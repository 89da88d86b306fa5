/** The built-in tools for programs on Node that embed Skein: nothing has to be provided beside them. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import type { Agent } from "@skein/core/Agent"
import type { Question } from "@skein/core/Question"
import type { Skill } from "@skein/core/Skill"
import type { TodoList } from "@skein/core/TodoList"
import type { AnyTool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { tmpdir } from "node:os"
import * as BuiltinTools from "./BuiltinTools.ts"
import { environment } from "./Environment.ts"
import { Sandbox } from "./Sandbox.ts"

/** Where a program differs from the usual. */
export interface NodeToolsOptions {
  /** Where long outputs are kept, absolute; `skein` in the directory for temporary files where absent. */
  readonly dataDirectory?: string
  /** Variables that commands see besides those that every shell needs. */
  readonly pass?: ReadonlyArray<string>
  /** Whether commands run in a sandbox where there is one (`auto`, the usual), and whether they may use the network there. */
  readonly sandbox?: "auto" | "off"
  readonly network?: boolean
}

/** All built-in tools over this machine's files, processes and network; they end with the layer that they are given to. */
export const make = (
  options: NodeToolsOptions = {}
): Effect.Effect<ReadonlyArray<AnyTool>, never, Agent | Question | Skill | TodoList | Scope.Scope> =>
  Effect.gen(function*() {
    const place = {
      dataDirectory: options.dataDirectory ?? `${tmpdir()}/skein`,
      environment: yield* environment
    }
    const workbench = BuiltinTools.layerWorkbench({
      ...place,
      pass: options.pass ?? [],
      sandbox: options.sandbox === "off"
        ? Sandbox.layerNoop
        : Sandbox.layer({ ...place, network: options.network ?? false })
    })
    const context = yield* Layer.build(
      Layer.provideMerge(workbench, Layer.mergeAll(NodeFileSystem.layer, NodePath.layer))
    )
    return yield* Effect.provide(BuiltinTools.tools, context)
  })

/** The same as the usual. */
export const tools = make()
