/** The built-in tools for programs on Node that embed Skein. They need no other services. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import type { Agent } from "@skein/core/Agent"
import type { Skill } from "@skein/core/Instructions"
import * as LayerGraph from "@skein/core/LayerGraph"
import type { Question } from "@skein/core/Question"
import type { TodoList } from "@skein/core/TodoList"
import type { AnyTool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { tmpdir } from "node:os"
import * as BuiltinTools from "./BuiltinTools.ts"
import { environment } from "./Environment.ts"
import { Sandbox } from "./Sandbox.ts"
import { Watchdog } from "./Watchdog.ts"

/** Options that differ from the defaults. */
export interface NodeToolsOptions {
  /** Where long outputs are kept, absolute. By default `skein` in the directory for temporary files. */
  readonly dataDirectory?: string
  /** More variables that commands get, besides those that every shell needs. */
  readonly pass?: ReadonlyArray<string>
  /**
   * Whether commands run in a sandbox if one is available (`auto`, the default), and whether they may use the network
   * there.
   */
  readonly sandbox?: "auto" | "off"
  readonly network?: boolean
}

/**
 * All built-in tools over this machine's files, processes and network. They live as long as the layer that uses them.
 */
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
    const context = yield* LayerGraph.build(
      Layer.provideMerge(workbench, Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, Watchdog.layerOfStrays))
    )
    return yield* Effect.provide(BuiltinTools.tools, context)
  })

/** The same with the defaults. */
export const tools = make()
