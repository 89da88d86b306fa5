/** The real tools that look at files, over the real file system, for the loop of these tests. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { type AnyTool, authorised, resultOf, type ToolContext } from "@skein/core/Tool"
import { MessageID, PartID, SessionID } from "@skein/domain/Id"
import { makeGlob } from "@skein/tools/GlobTool"
import { makeGrep } from "@skein/tools/GrepTool"
import { makeList } from "@skein/tools/ListTool"
import { Paths } from "@skein/tools/Paths"
import { makeRead } from "@skein/tools/ReadTool"
import { Ripgrep } from "@skein/tools/Ripgrep"
import { SeenFiles } from "@skein/tools/SeenFiles"
import { SpillFiles } from "@skein/tools/SpillFiles"
import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { tmpdir } from "node:os"
import type { Tools } from "./loop.ts"

const layer = Layer.mergeAll(Paths.layer(), SeenFiles.layer, Ripgrep.layer({ environment: { PATH: "/usr/bin:/bin" } }))
  .pipe(
    Layer.provideMerge(SpillFiles.layer(tmpdir())),
    Layer.provideMerge(NodeContext.layer)
  )

/** The tools glob, grep, list and read in a directory. Arguments that do not fit a tool's schema are refused. */
export const realTools = (directory: string): Effect.Effect<Tools> =>
  Effect.provide(
    Effect.gen(function*() {
      const tools: ReadonlyArray<AnyTool> = yield* Effect.all([makeGlob, makeGrep, makeList, makeRead])
      const context: ToolContext = {
        sessionID: SessionID.make("ses_0"),
        rootID: SessionID.make("ses_0"),
        depth: 0,
        projectID: "project",
        directory,
        agent: "build",
        path: ["build"],
        model: { providerID: "offline", modelID: "survey" },
        messageID: MessageID.make("msg_0"),
        partID: PartID.make("prt_0"),
        callID: "call",
        byUser: false,
        readsOnly: false,
        mode: "ask",
        readAction: Effect.succeed(() => "allow" as const),
        consents: new Set(),
        confirm: Effect.succeed(Number.POSITIVE_INFINITY),
        report: () => Effect.void,
        ifCutOff: () => Effect.void,
        tells: () => Effect.void
      }
      return {
        directory,
        specs: tools.map((tool) => ({
          name: tool.name,
          description: tool.name,
          inputSchema: { ...JSONSchema.make(tool.parameters, { target: "jsonSchema7" }) }
        })),
        call: (name, input) => {
          const tool = tools.find((each) => each.name === name)
          if (tool === undefined) return Effect.dieMessage(`There is no tool ${name}.`)
          return Schema.decodeUnknown(tool.parameters, { onExcessProperty: "error" })(input).pipe(
            Effect.flatMap((decoded) =>
              Effect.flatMap(
                tool.authorise(decoded, context),
                (found) => Effect.flatMap(tool.execute(decoded, context, authorised(found).plan), resultOf)
              )
            ),
            Effect.match({ onFailure: (error) => ({ error: error.message }), onSuccess: ({ output }) => output })
          )
        }
      }
    }),
    layer
  )
