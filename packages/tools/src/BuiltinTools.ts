/** Decides which tools an agent has out of the box, and composes what they stand on. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import type { Agent } from "@skein/core/Agent"
import type { Question } from "@skein/core/Question"
import type { Skill } from "@skein/core/Skill"
import type { Spill } from "@skein/core/Spill"
import type { TodoList } from "@skein/core/TodoList"
import type { AnyTool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeBash } from "./BashTool.ts"
import { makeEdit } from "./EditTool.ts"
import { makeGlob } from "./GlobTool.ts"
import { makeGrep } from "./GrepTool.ts"
import { makeList } from "./ListTool.ts"
import { Network } from "./Network.ts"
import * as NodeOwner from "./NodeOwner.ts"
import { makePatch } from "./PatchTool.ts"
import { Paths } from "./Paths.ts"
import { Processes } from "./Processes.ts"
import { makeQuestion } from "./QuestionTool.ts"
import { makeRead } from "./ReadTool.ts"
import { Ripgrep } from "./Ripgrep.ts"
import { Sandbox } from "./Sandbox.ts"
import { SeenFiles } from "./SeenFiles.ts"
import { Shell } from "./Shell.ts"
import { makeSkill } from "./SkillTool.ts"
import { SpillFiles } from "./SpillFiles.ts"
import { makeTodoRead } from "./TodoReadTool.ts"
import { makeTodoWrite } from "./TodoWriteTool.ts"
import { makeWebFetch } from "./WebFetchTool.ts"
import { makeWrite } from "./WriteTool.ts"

/** What the tools stand on. */
export type Workbench = Network | Paths | Processes | Ripgrep | SeenFiles | Shell | SpillFiles

/** All built-in tools but those that core has itself. */
export const tools: Effect.Effect<
  ReadonlyArray<AnyTool>,
  never,
  Workbench | Agent | Question | Skill | TodoList | FileSystem.FileSystem
> = Effect.all([
  makeBash,
  makeEdit,
  makeGlob,
  makeGrep,
  makeList,
  makePatch,
  makeQuestion,
  makeRead,
  makeSkill,
  makeTodoRead,
  makeTodoWrite,
  makeWebFetch,
  makeWrite
])

/** What the tools stand on, on this machine; and the files that keep what is too long for a model. */
export const layerWorkbench = <E = never>(options: {
  /** Where long outputs are kept, and which commands run, absolute. */
  readonly dataDirectory: string
  /** The environment of this process. Commands see only what a shell needs of it. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Variables that commands see besides. */
  readonly pass?: ReadonlyArray<string>
  /** Variables that commands see besides, with what they hold. */
  readonly set?: Readonly<Record<string, string>>
  /** How commands are confined; not at all where absent. */
  readonly sandbox?: Layer.Layer<Sandbox, E>
}): Layer.Layer<Workbench | Spill, E, FileSystem.FileSystem | Path.Path> => {
  const { dataDirectory, environment } = options
  return Layer.mergeAll(
    Network.layer({ environment }),
    Paths.layer({ home: environment["HOME"] }),
    Ripgrep.layer({ environment }),
    SeenFiles.layer,
    Shell.layer({ environment, pass: options.pass ?? [], set: options.set ?? {} }).pipe(
      Layer.provide(options.sandbox ?? Sandbox.layerNoop)
    ),
    SpillFiles.layerSpill
  ).pipe(
    Layer.provideMerge(SpillFiles.layer(dataDirectory)),
    Layer.provideMerge(Processes.layer({ dataDirectory, environment }).pipe(Layer.provide(NodeOwner.layer)))
  )
}
