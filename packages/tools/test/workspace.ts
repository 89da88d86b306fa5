/** A directory with the built-in tools in it, for tests: real files, real processes, real ripgrep. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { Agent, builtins } from "@skein/core/Agent"
import { Skill } from "@skein/core/Instructions"
import { Question } from "@skein/core/Question"
import { TodoList } from "@skein/core/TodoList"
import {
  type AnyTool,
  authorised,
  type PermissionAsk,
  resultOf,
  type ToolContext,
  type ToolError,
  type ToolResult
} from "@skein/core/Tool"
import type { MessageID, PartID, SessionID } from "@skein/domain/Id"
import { layerWorkbench, tools } from "@skein/tools/BuiltinTools"
import { EditorFiles } from "@skein/tools/EditorFiles"
import { Network } from "@skein/tools/Network"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as NodeFs from "node:fs"
import * as NodeOs from "node:os"
import * as NodePaths from "node:path"

/** What a call asked for, and what came of it. */
interface Called extends ToolResult {
  readonly asks: ReadonlyArray<PermissionAsk>
}

type Caller = Partial<ToolContext>

/** The session that calls are made for, unless they say another. */
export const sessionID = "ses_test" as SessionID

const make = (top: string) =>
  Effect.gen(function*() {
    const byName = new Map((yield* tools).map((tool) => [tool.name, tool]))
    const repo = NodePaths.join(top, "w", "repo")
    NodeFs.mkdirSync(repo, { recursive: true })
    const at = (path: string) => NodePaths.resolve(repo, path)

    const context = (caller: Caller = {}): ToolContext => ({
      sessionID,
      rootID: sessionID,
      depth: 0,
      projectID: "project",
      directory: repo,
      agent: "build",
      path: ["build"],
      model: { providerID: "test", modelID: "test" } as ToolContext["model"],
      byUser: false,
      consents: new Set(),
      messageID: "msg_test" as MessageID,
      partID: "prt_test" as PartID,
      callID: "../../call",
      readsOnly: false,
      mode: "ask",
      readAction: Effect.succeed(() => "allow" as const),
      confirm: Effect.succeed(Number.POSITIVE_INFINITY),
      report: () => Effect.void,
      ifCutOff: () => Effect.void,
      tells: () => Effect.void,
      ...caller
    })

    const decode = (name: string, input: object): Effect.Effect<readonly [AnyTool, object]> => {
      const tool = byName.get(name) as AnyTool
      return Effect.map(
        Effect.orDie(Schema.decodeUnknown(tool.parameters)(input, { onExcessProperty: "error" })),
        (decoded) => [tool, decoded]
      )
    }

    /** What a call needs permission for. */
    const asks = (name: string, input: object, caller: Caller = {}) =>
      Effect.flatMap(decode(name, input), ([tool, decoded]) =>
        Effect.map(tool.authorise(decoded, context(caller)), (found) => authorised(found).asks))

    /** A call with permission. */
    const call = (name: string, input: object, caller: Caller = {}): Effect.Effect<Called, ToolError> =>
      Effect.gen(function*() {
        const [tool, decoded] = yield* decode(name, input)
        const { asks: asked, plan } = authorised(yield* tool.authorise(decoded, context(caller)))
        return { asks: asked, ...(yield* resultOf(yield* tool.execute(decoded, context(caller), plan))) }
      })

    /** What is found of a call that a process had begun which is no more; one that is to be made again is made. */
    const recover = (
      name: string,
      input: object,
      caller: Caller = {}
    ): Effect.Effect<ToolResult | "again", ToolError> =>
      Effect.flatMap(decode(name, input), ([tool, decoded]) => {
        const found = tool.recover?.(decoded, context(caller)) ?? Effect.dieMessage(`${name} does not recover`)
        return Effect.flatMap(found, (end): Effect.Effect<ToolResult | "again", ToolError> =>
          end === "again"
            ? Effect.as(
              Effect.flatMap(
                tool.authorise(decoded, context(caller)),
                (made) =>
                  tool.execute(decoded, context(caller), authorised(made).plan)
              ),
              end
            )
            : resultOf(end))
      })

    return {
      top,
      repo,
      tools: byName,
      at,
      asks,
      call,
      recover,
      context,
      write: (path: string, content: string | Uint8Array) => {
        NodeFs.mkdirSync(NodePaths.dirname(at(path)), { recursive: true })
        NodeFs.writeFileSync(at(path), content)
      },
      read: (path: string) => NodeFs.readFileSync(at(path), "utf8")
    }
  })

/** A workspace: `repo` is the session's directory, `top` is above it. */
export class Workspace
  extends Context.Tag("test/Workspace")<Workspace, Effect.Effect.Success<ReturnType<typeof make>>>()
{
  /** A new one, gone with the layer. `network` stands in for the real one, `editors` are those of sessions. */
  static readonly layerWith = (options: {
    readonly network?: Layer.Layer<Network>
    readonly editors?: typeof EditorFiles.Service
  } = {}): Layer.Layer<Workspace> =>
    Layer.unwrapScoped(Effect.gen(function*() {
      const top = yield* Effect.acquireRelease(
        Effect.sync(() => NodeFs.realpathSync(NodeFs.mkdtempSync(NodePaths.join(NodeOs.tmpdir(), "skein-tools-")))),
        (directory) => Effect.sync(() => NodeFs.rmSync(directory, { recursive: true, force: true }))
      )
      const platform = Layer.merge(NodeFileSystem.layer, NodePath.layer)
      const workbench = layerWorkbench({
        dataDirectory: NodePaths.join(top, "data"),
        environment: {
          ...process.env,
          HOME: NodePaths.join(top, "home"),
          FAKE_API_KEY: "sk-test-SECRET",
          EXTRA: "extra"
        },
        pass: ["EXTRA", "FAKE_API_KEY"],
        set: { GIVEN_TOKEN: "as it is" }
      })
      return Layer.effect(Workspace, make(top)).pipe(
        Layer.provide(options.network ?? Layer.empty),
        Layer.provide(options.network === undefined ? workbench : Layer.provideMerge(options.network, workbench)),
        Layer.provide(
          Layer.mergeAll(TodoList.layerMemory, Question.layerNobody, Skill.layerNone, Agent.layer(builtins))
        ),
        Layer.provide(platform),
        Layer.provide(Layer.succeed(EditorFiles, options.editors ?? new Map()))
      )
    }))
  static readonly layer = Workspace.layerWith()
}
